package schema

import (
	"go/token"
	"reflect"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Docs are the comments of our own types, as the source has them.
type Docs struct {
	// Types are by import path and name: example.com/p.T.
	Types map[string]string
	// Fields are by their type's, and the Go name of the field: example.com/p.T.F.
	Fields map[string]string
}

// documenter finds the text for a type or a field. KubeVirt's types bring theirs along, as the method SwaggerDoc.
type documenter struct {
	docs Docs
	// kubevirt are KubeVirt's structs, to find the one that a type of ours was defined as: it has lost the method.
	kubevirt []reflect.Type
}

func newDocumenter(docs Docs) documenter {
	d := documenter{docs: docs}
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if seen[t] || t.Kind() != reflect.Struct {
			return
		}
		seen[t] = true
		if t.NumField() > 0 && t.PkgPath() == reflect.TypeFor[kubevirt.CPU]().PkgPath() {
			d.kubevirt = append(d.kubevirt, t)
		}
		for i := range t.NumField() {
			visit(t.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[kubevirt.VirtualMachineInstanceSpec]())
	return d
}

// ofField is the text for a field. Where its own has none, what a field of that name says which it stands in place of,
// and then what its type says.
func (d documenter) ofField(f manifest.FormField) string {
	if f.Ignored != "" {
		return "Ignored, with a warning: it " + f.Ignored + "."
	}
	if text := notes()[note{f.Owner, f.Name}]; text != "" {
		return text
	}
	if text := d.docs.Fields[key(f.Owner)+"."+f.GoName]; text != "" {
		// What follows the first paragraph is for those who write Go.
		text, _, _ = strings.Cut(clean(text), "\n\n")
		if rest, ok := strings.CutPrefix(text, f.GoName+" "); ok {
			text = f.Name + " " + rest
		}
		return text
	}
	if text := d.swagger(f.Owner)[f.Name]; text != "" {
		return clean(text)
	}
	for i := range f.Owner.NumField() {
		if embedded := f.Owner.Field(i); embedded.Anonymous {
			if text := d.swagger(embedded.Type)[f.Name]; text != "" {
				return clean(text)
			}
		}
	}
	of := f.Form
	for of.Elem != nil {
		of = of.Elem
	}
	return d.ofType(of.Type)
}

// ofType is the text for a type.
func (d documenter) ofType(t reflect.Type) string {
	if text := d.docs.Types[key(t)]; text != "" {
		return clean(text)
	}
	return clean(d.swagger(t)[""])
}

// swagger is what KubeVirt says of the fields of a type, by their names in documents, and under "" of the type.
func (d documenter) swagger(t reflect.Type) map[string]string {
	for _, other := range d.kubevirt {
		// An exported type of ours has words of its own, even where it happens to have the same fields.
		if !token.IsExported(t.Name()) && t.ConvertibleTo(other) {
			t = other
			break
		}
	}
	if s, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok && t.Kind() == reflect.Struct {
		return s.SwaggerDoc()
	}
	return nil
}

func key(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// clean makes paragraphs of a comment's lines, without the marks for Kubernetes' generators.
func clean(text string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		var kept []string
		for line := range strings.SplitSeq(p, "\n") {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "+") {
				kept = append(kept, strings.Fields(line)...)
			}
		}
		if len(kept) > 0 {
			paragraphs = append(paragraphs, strings.Join(kept, " "))
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
