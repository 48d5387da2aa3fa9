package manifest

import (
	"path"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// File is what one file of a repository holds. It depends on the file's path and bytes alone.
type File struct {
	Path      string
	Documents []Document
	Problems  []Problem
}

// Document is one document of a file. When it is sound, one of Config, RunState and Flavour is set.
type Document struct {
	Origin
	// Kind and Name of a broken document are empty when they cannot be told for certain.
	Kind, Name string
	// Broken documents have problems and say nothing but what they are.
	Broken   bool
	Config   *Config
	RunState *RunState
	Flavour  *Flavour

	places places
}

// places are where the parts of a document stand that are compared with other documents.
type places struct {
	name, reference, text position
}

// position is a line and a column.
type position struct{ line, column int }

// IsDocumentFile says whether a file is read, by its name: .yaml, .yml and .json are.
func IsDocumentFile(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// Read reads a file's documents strictly and reports all that is wrong with them at once. name is the file's path in the
// repository, with slashes.
func Read(name string, data []byte) File {
	f := File{Path: name}
	if path.Ext(name) == ".json" && !looksLikeJSON(data) {
		if fault, line, column := jsonFault(data); fault != "" {
			f.broken(raw{line: line, column: column, fault: fault})
			return f
		}
	}
	foreign := 0
	for doc := range documents(data) {
		if doc.root == nil {
			f.broken(doc)
			continue
		}
		r := reader{file: &f, at: Origin{File: name, Index: len(f.Documents), Line: doc.line}, root: doc.root}
		if r.read() {
			foreign++
		}
	}
	if foreign > 0 && foreign == len(f.Documents) {
		first := f.Documents[0]
		f.Problems = []Problem{{File: name, Line: first.Line, Column: 1, Message: "this file holds no document of " +
			APIVersion + "; if it is not for gitvirt, name it in .gitvirtignore"}}
	}
	sortProblems(f.Problems)
	return f
}

// broken adds a document that cannot be parsed.
func (f *File) broken(doc raw) {
	f.Documents = append(f.Documents, Document{
		Origin: Origin{File: f.Path, Index: len(f.Documents), Line: doc.line}, Broken: true})
	f.Problems = append(f.Problems, Problem{File: f.Path, Line: doc.line, Column: doc.column, Message: doc.fault})
}

// reader reads one document.
type reader struct {
	file *File
	at   Origin
	root *yaml.Node
}

// read adds the document and its problems to the file, and says whether it has nothing to do with gitvirt.
func (r *reader) read() (foreign bool) {
	h := readHeader(r.root)
	doc := Document{Origin: r.at, Kind: h.kind, Name: h.name}
	w := walker{findings: h.findings}
	if s := theSchemas().kinds[h.kind]; s != nil {
		tree, ok := w.value(r.root, s)
		if mapping, isMapping := tree.(map[string]any); ok && isMapping && !w.stopped {
			r.decode(&doc, mapping, s, &w)
		}
	}
	if len(w.findings) > 0 {
		doc = Document{Origin: r.at, Kind: h.kind, Name: h.name, Broken: true}
	}
	for _, f := range w.findings {
		r.file.Problems = append(r.file.Problems, Problem{File: r.at.File, Line: f.line, Column: f.column,
			Kind: h.kind, Name: h.name, Field: f.Field, Message: f.Message})
	}
	r.file.Documents = append(r.file.Documents, doc)
	return h.foreign
}

// decode makes the typed document of a tree and checks its values.
func (r *reader) decode(doc *Document, tree map[string]any, s *schema, w *walker) {
	d := decoder{}
	v := reflect.New(s.typ)
	d.set(v.Elem(), tree, s)
	problems := d.problems
	switch document := v.Interface().(type) {
	case *Config:
		document.At = r.at
		doc.Config = document
		problems = append(problems, document.check()...)
		problems = append(problems, r.textPath(doc, "spec.template.spec", document.Spec.Template.Spec)...)
		r.place(&doc.places.reference, "spec.flavour", document.Spec.Flavour != "")
	case *RunState:
		document.At = r.at
		doc.RunState = document
		problems = append(problems, document.check()...)
		field := "spec.config"
		if document.Spec.Config == "" {
			field = "metadata.name"
		}
		r.place(&doc.places.reference, field, true)
	case *Flavour:
		document.At = r.at
		doc.Flavour = document
		problems = append(problems, document.check()...)
		problems = append(problems, r.textPath(doc, "spec", document.Spec)...)
	}
	r.place(&doc.places.name, "metadata.name", true)
	w.add(r.root, problems)
}

// textPath makes the path of a domainXML file relative to the repository.
func (r *reader) textPath(doc *Document, field string, spec Tree) []FieldProblem {
	name, _ := spec["domainXMLFrom"].(string)
	if name == "" {
		return nil
	}
	field = joinField(field, "domainXMLFrom")
	r.place(&doc.places.text, field, true)
	joined, fault := repositoryPath(r.at.File, name)
	if fault != "" {
		return []FieldProblem{{field, fault}}
	}
	spec["domainXMLFrom"] = joined
	return nil
}

// place notes where a field stands.
func (r *reader) place(to *position, field string, wanted bool) {
	if wanted {
		to.line, to.column = locate(r.root, field)
	}
}

// add adds problems that were found in the values. Those of fields whose reading has failed are left out: they would say
// that what could not be read is missing.
func (w *walker) add(root *yaml.Node, problems []FieldProblem) {
	read := w.findings
	for _, p := range problems {
		known := false
		for _, f := range read {
			known = known || f.Field != "" && (f.Field == p.Field || below(f.Field, p.Field) || below(p.Field, f.Field))
		}
		if known || len(w.findings) > maxProblems {
			continue
		}
		line, column := locate(root, p.Field)
		w.findings = append(w.findings, finding{p, line, column})
	}
}

// text is the path of the domainXML file that a document names, or "".
func (d *Document) text() string {
	var spec Tree
	switch {
	case d.Config != nil:
		spec = d.Config.Spec.Template.Spec
	case d.Flavour != nil:
		spec = d.Flavour.Spec
	}
	name, _ := spec["domainXMLFrom"].(string)
	return name
}
