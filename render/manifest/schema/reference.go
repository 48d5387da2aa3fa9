package schema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Page is what a person wrote for a kind's page.
type Page struct {
	// Purpose says what the kind is for.
	Purpose string
	// Example is a document of the kind.
	Example string
}

// TemplatePage is the name of the page that explains a template's spec, to which the kinds' pages lead.
const TemplatePage = "Template"

const header = "<!-- " + comment + " -->\n"

// Reference returns the reference page of a kind, in Markdown.
func Reference(kind string, docs Docs, page Page) ([]byte, error) {
	f := manifest.FormOf(kind)
	if f == nil {
		return nil, fmt.Errorf("cannot make the page of %s: no such kind is read", kind)
	}
	w := writer{documenter: newDocumenter(docs)}
	w.line(header)
	w.line("# %s\n", kind)
	w.line("%s\n", page.Purpose)
	w.line("```yaml\n%s\n```\n", strings.TrimSpace(page.Example))
	w.line("Fields that are not listed are errors. A JSON Schema of the same is [%s](../schema/%[1]s).\n", FileName(kind))
	w.section("", f)
	return []byte(w.String()), nil
}

// ReferenceOfTemplate returns the page that explains a template's spec.
func ReferenceOfTemplate(docs Docs) ([]byte, error) {
	var f *manifest.Form
	for _, kind := range manifest.Kinds() {
		f = templateIn(manifest.FormOf(kind))
		if f != nil {
			break
		}
	}
	if f == nil {
		return nil, fmt.Errorf("cannot make the page of a template's spec: no kind has one")
	}
	w := writer{documenter: newDocumenter(docs)}
	w.line(header)
	w.line("# The spec of a template\n")
	w.line("%s Fields that are not listed are errors that name them.\n", w.ofType(f.Type))
	w.line("A field is required where it says so. What else a machine needs, such as the size of a new volume, may come from any " +
		"of the documents that its spec is put together from; `gitvirt check` says what is missing.\n")
	w.line("A quantity is a number of bytes, written as in Kubernetes: `2Gi` (of 1024), `2G` (of 1000), `2147483648`.\n")
	w.section("", f)
	return []byte(w.String()), nil
}

func templateIn(f *manifest.Form) *manifest.Form {
	if f == nil || f.Template {
		return f
	}
	for _, field := range f.Fields {
		if t := templateIn(field.Form); t != nil {
			return t
		}
	}
	return templateIn(f.Elem)
}

// FileName is that of the JSON Schema of a kind.
func FileName(kind string) string { return strings.ToLower(kind) + ".json" }

// writer writes a page.
type writer struct {
	documenter
	strings.Builder
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// fewFields are as many as are listed within the table of what they belong to.
const fewFields = 5

// section writes the table of an object's fields, and then the sections of those that are large themselves.
func (w *writer) section(path string, f *manifest.Form) {
	if path != "" {
		w.line("\n## %s\n", path)
		if text := w.ofType(f.Type); text != "" {
			w.line("%s\n", text)
		}
	}
	w.line("| field | type | default | meaning |\n|---|---|---|---|")
	type later struct {
		path string
		form *manifest.Form
	}
	var sections []later
	var rows func(prefix string, f *manifest.Form)
	rows = func(prefix string, f *manifest.Form) {
		preset := f.Type == reflect.TypeFor[manifest.PresetSpec]()
		for _, field := range f.Fields {
			if preset && (field.Owner != f.Type || field.Ignored != "") {
				continue // of a template's spec, which has a page
			}
			name := prefix + field.Name
			below, at := objectIn(field.Form, name)
			large := below != nil && !below.Template && count(below) > fewFields
			w.row(name, field, below, join(path, at), large)
			switch {
			case below == nil || below.Template:
			case large:
				sections = append(sections, later{join(path, at), below})
			default:
				rows(at+".", below)
			}
		}
	}
	rows("", f)
	w.sets(f)
	for _, l := range sections {
		w.section(l.path, l.form)
	}
}

// sets says what an object's fields have to do with one another.
func (w *writer) sets(f *manifest.Form) {
	if f.Type == reflect.TypeFor[manifest.PresetSpec]() {
		w.line("\nBeside these stand the fields of [the spec of a template](%s.md).", TemplatePage)
		return
	}
	for _, set := range f.Exclusive {
		least := "At most"
		if slices.ContainsFunc(f.Needed, func(needed []string) bool { return slices.Equal(needed, set) }) {
			least = "Exactly"
		}
		w.line("\n%s one of `%s` is said.", least, strings.Join(set, "`, `"))
	}
}

// row writes one field.
func (w *writer) row(name string, field manifest.FormField, below *manifest.Form, path string, large bool) {
	meaning := strings.ReplaceAll(w.ofField(field), "\n\n", "<br>")
	values := field.Form
	if values.Elem != nil {
		values = values.Elem
	}
	if len(values.Values) > 0 {
		meaning = sentence(meaning) + "Values: `" + strings.Join(values.Values, "`, `") + "`."
	}
	if least, most := field.Form.Minimum, field.Form.Maximum; least != nil && *least > 0 {
		meaning = sentence(meaning) + fmt.Sprintf("At least %d", *least)
		if most != nil && *most < math.MaxInt16 {
			meaning += fmt.Sprintf(", at most %d", *most)
		}
		meaning += "."
	}
	if below != nil && below.Template {
		meaning = sentence(meaning) + "See [the spec of a template](" + TemplatePage + ".md)."
	}
	if large {
		meaning = sentence(meaning) + "See [" + path + "](#" + anchor(path) + ")."
	}
	if field.Required {
		meaning = strings.TrimSpace("**Required.** " + meaning)
	}
	standard := ""
	if field.Default != nil {
		standard = fmt.Sprintf("`%v`", field.Default)
	}
	w.line("| `%s` | %s | %s | %s |", name, typeName(field.Form), standard, cell(meaning))
}

// objectIn finds the object in a field, through lists and maps, and its path.
func objectIn(f *manifest.Form, path string) (*manifest.Form, string) {
	for f.Elem != nil {
		path += "[]"
		f = f.Elem
	}
	if f.Is != manifest.NatureObject {
		return nil, path
	}
	return f, path
}

// count counts the fields below an object.
func count(f *manifest.Form) int {
	n := len(f.Fields)
	for _, field := range f.Fields {
		if below, _ := objectIn(field.Form, ""); below != nil && !below.Template {
			n += count(below)
		}
	}
	return n
}

func typeName(f *manifest.Form) string {
	switch f.Is {
	case manifest.NatureList:
		return "list of " + typeName(f.Elem)
	case manifest.NatureMap:
		return "map of " + typeName(f.Elem)
	}
	if f.Is == manifest.NatureScalar {
		return strings.ToLower(f.Type.Name())
	}
	return string(f.Is)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

// sentence ends a text, for another to follow.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":") {
		return text + " "
	}
	return text + ". "
}

// cell makes a text fit for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<br>", "<br>", "<", "&lt;").Replace(text)
}

// anchor is that of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '[' || r == ']' {
			return -1
		}
		return r
	}, strings.ToLower(heading))
}
