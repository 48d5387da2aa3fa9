package manifest

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is what one file of a repository holds. It depends on the file's path and bytes alone.
type File struct {
	Path      string
	Documents []Document
	Problems  []Problem
	// Warnings are what is read and has no effect. They keep nothing from happening.
	Warnings []Problem
}

// maxDocuments is how many documents of a file are read: each that is at fault takes more memory than a few bytes.
const maxDocuments = 10_000

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
			f.broken(raw{line: line, column: column, fault: fault}, Origin{File: name, Line: line})
			return f
		}
	}
	var foreign []Problem // of documents that are not meant for gitvirt
	read := 0
	for doc := range documents(data) {
		at := Origin{File: name, Index: read, Line: doc.line}
		if read++; read > maxDocuments {
			f.broken(raw{line: doc.line, column: 1, fault: fmt.Sprintf("the file has more than %d documents; divide it", maxDocuments)}, at)
			break
		}
		if doc.root == nil {
			f.broken(doc, at)
			continue
		}
		r := reader{file: &f, at: at, root: doc.root}
		if p := r.read(); p != nil {
			foreign = append(foreign, *p)
		}
	}
	if len(foreign) > 0 && len(foreign) == read {
		f.Warnings = nil
		f.Documents = []Document{{Origin: Origin{File: name, Line: foreign[0].Line}, Broken: true}}
		f.Problems = []Problem{{File: name, Line: foreign[0].Line, Column: 1, Message: "this file holds no document of " +
			APIVersion + "; if it is not for gitvirt, name it in .gitvirtignore"}}
	}
	sortProblems(f.Problems)
	sortProblems(f.Warnings)
	return f
}

// broken adds a document that cannot be parsed.
func (f *File) broken(doc raw, at Origin) {
	f.Documents = append(f.Documents, Document{Origin: at, Broken: true})
	f.Problems = append(f.Problems, Problem{File: f.Path, Line: doc.line, Column: doc.column, Message: doc.fault})
}

// reader reads one document.
type reader struct {
	file *File
	at   Origin
	root *yaml.Node
}

// read adds the document and its problems to the file. It returns the problem of one that has nothing to do with
// gitvirt; that of an object of a cluster is only a warning when the file has others.
func (r *reader) read() (foreign *Problem) {
	h := readHeader(r.root)
	w := walker{findings: h.findings}
	var docs []Document
	if h.kind != nil {
		tree, ok := w.value(r.root, h.kind.schema)
		if mapping, isMapping := tree.(map[string]any); ok && isMapping && !w.stopped {
			docs = r.decode(h, mapping, &w)
		}
	}
	kindName := h.written
	if h.kind != nil {
		kindName = h.kind.name
	}
	sound := true
	for _, f := range w.findings {
		p := Problem{File: r.at.File, Line: f.line, Column: f.column, Kind: kindName, Name: h.name, Field: f.Field, Message: f.Message}
		switch {
		case f.warning:
			r.file.Warnings = append(r.file.Warnings, p)
		case h.cluster != "":
			foreign, sound = &p, false
			p.Kind = h.cluster
			p.Message = "this document is none of gitvirt's and has no effect: only a Kubernetes cluster knows what it is"
			r.file.Warnings = append(r.file.Warnings, p)
		default:
			sound = false
			r.file.Problems = append(r.file.Problems, p)
			if h.foreign {
				foreign = &p
			}
		}
	}
	switch {
	case h.cluster != "":
	case sound:
		r.file.Documents = append(r.file.Documents, docs...)
	case h.kind == nil:
		r.file.Documents = append(r.file.Documents, Document{Origin: r.at, Broken: true})
	default:
		for _, k := range h.kind.makes {
			r.file.Documents = append(r.file.Documents, Document{Origin: r.at, Kind: k, Name: h.name, Written: h.kind.name, Broken: true})
		}
	}
	return foreign
}

// decode makes the typed document of a tree and checks its values.
func (r *reader) decode(h header, tree map[string]any, w *walker) []Document {
	d := decoder{}
	v := reflect.New(h.kind.schema.typ)
	d.set(v.Elem(), tree, h.kind.schema)
	o := v.Interface().(object)
	c := checker{problems: d.problems}
	o.check(&c)
	var docs []Document
	for i, what := range o.documents() {
		doc := Document{Origin: r.at, Kind: h.kind.makes[i], Name: h.name, Written: h.kind.name, object: what}
		if head := headerOf(what); head != nil {
			head.At = r.at
			head.share(doc.Kind)
			if head.Written.Kind == "" {
				head.Written = Written{Kind: h.kind.name, Spec: ownSpec(what)}
			}
			c.problems = append(c.problems, r.textPaths(&doc, head.Written.Spec)...)
			c.problems = append(c.problems, r.secretPaths(&doc, head.Written.Spec)...)
		}
		switch t := what.(type) {
		case *Config:
			t.Spec.Template.Spec.pack()
		case *Instancetype:
			t.At = r.at
		case *Preference:
			t.At = r.at
		}
		r.references(&doc)
		r.place(&doc.nameAt, "metadata.name")
		docs = append(docs, doc)
	}
	w.add(r.root, c.problems)
	for _, p := range c.warnings {
		line, column := locate(r.root, p.Field)
		w.findings = append(w.findings, finding{FieldProblem: p, line: line, column: column, warning: true})
	}
	return docs
}

// share replaces the header's most usual words by what all documents have in common: the words of a file are its own.
func (h *Header) share(kind string) {
	if h.APIVersion == APIVersion {
		h.APIVersion = APIVersion
	}
	if h.Kind == kind {
		h.Kind = kind
	}
}

// place notes where a field stands.
func (r *reader) place(to *position, field string) {
	line, column := locate(r.root, field)
	to.line, to.column = int32(line), int32(column)
}

// references notes what the document cannot do without.
func (r *reader) references(doc *Document) {
	refer := func(kind, name, field, what string) {
		ref := referral{to: id{kind, name}, field: field, what: what}
		r.place(&ref.at, field)
		doc.refers = append(doc.refers, ref)
	}
	configName := func(said string) string {
		if said == "" {
			return "metadata.name"
		}
		return "spec.config"
	}
	switch o := doc.object.(type) {
	case *Config:
		if o.Spec.Flavour != "" {
			refer(KindFlavour, o.Spec.Flavour, "spec.flavour", "flavour")
		}
		for i, p := range o.Spec.Presets {
			refer(KindPreset, p, fmt.Sprintf("spec.presets[%d]", i), "preset")
		}
		at := strings.TrimSuffix(o.Written.Spec, ".template.spec")
		if i := o.Spec.Cluster.Instancetype; i != nil {
			refer(i.Kind, i.Name, at+".instancetype.name", i.Kind)
		}
		if p := o.Spec.Cluster.Preference; p != nil {
			refer(p.Kind, p.Name, at+".preference.name", p.Kind)
		}
	case *RunState:
		refer(KindConfig, o.ConfigName(), configName(o.Spec.Config), "config")
	case *Group:
		refer(KindConfig, o.ConfigName(), configName(o.Spec.Config), "config")
	}
}

// add adds problems that were found in the values. Those of fields whose reading has failed are left out: they would say
// that what could not be read is missing.
func (w *walker) add(root *yaml.Node, problems []FieldProblem) {
	read := w.findings
	for _, p := range problems {
		known := false
		for _, f := range read {
			if f.warning {
				continue
			}
			known = known || f.Field != "" && (f.Field == p.Field || below(f.Field, p.Field) || below(p.Field, f.Field))
		}
		if known || len(w.findings) > maxProblems {
			continue
		}
		line, column := locate(root, p.Field)
		w.findings = append(w.findings, finding{FieldProblem: p, line: line, column: column})
	}
}
