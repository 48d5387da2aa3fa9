package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// Collect makes the set of a revision from its files. text returns the bytes of a file of the same revision, for
// domainXMLFrom. What two documents say of each other is checked here: names that are there twice, and references to
// what is not there.
func Collect(files []File, text func(path string) ([]byte, bool)) *Set {
	s := &Set{read: map[id]*Document{}, files: map[string][]byte{}}
	c := collector{set: s, defined: map[id][]*Document{}, similar: map[id]string{}}
	for i := range files {
		s.Problems = append(s.Problems, files[i].Problems...)
		s.Warnings = append(s.Warnings, files[i].Warnings...)
		for j := range files[i].Documents {
			c.add(&files[i].Documents[j])
		}
	}
	for k, docs := range c.defined {
		if len(docs) > 1 {
			c.duplicates(docs)
		} else if d := docs[0]; d.Broken {
			s.broken = append(s.broken, d)
		} else if c.readText(d, text) {
			s.read[k] = d
		}
	}
	c.references()
	sortProblems(s.Problems)
	sortProblems(s.Warnings)
	s.hold(s.read)
	s.texts = s.files
	return s.Mend(nil)
}

// collector gathers the documents of a revision.
type collector struct {
	set     *Set
	defined map[id][]*Document
	unknown string        // the first file with a document that cannot be told
	similar map[id]string // suggestions for what is missing
}

func (c *collector) add(d *Document) {
	if d.identified() {
		c.defined[d.id()] = append(c.defined[d.id()], d)
		return
	}
	c.set.broken = append(c.set.broken, d)
	if c.unknown == "" || d.File < c.unknown {
		c.unknown = d.File
	}
}

// fail adds a problem of a sound document, which is thereby broken.
func (c *collector) fail(d *Document, at position, field, message string) {
	c.set.Problems = append(c.set.Problems, Problem{File: d.File, Line: at.line, Column: at.column,
		Kind: d.Written, Name: d.Name, Field: field, Message: message})
}

// duplicates reports documents of one name. None of them is taken: which is meant cannot be told.
func (c *collector) duplicates(docs []*Document) {
	c.set.broken = append(c.set.broken, docs...)
	for i, d := range docs {
		var others []string
		for j, o := range docs {
			if j != i {
				others = append(others, fmt.Sprintf("%s:%d", o.File, o.Line))
			}
		}
		at := d.places.name
		if d.Broken {
			at = position{d.Line, 1}
		}
		c.duplicate(d, at, strings.Join(others, ", "))
	}
}

// duplicate reports a name that is there twice, once for each manifest: it may stand for several documents.
func (c *collector) duplicate(d *Document, at position, others string) {
	message := "duplicate name; the " + d.Kind + " is also at " + others
	for _, p := range c.set.Problems {
		if p.File == d.File && p.Line == at.line && p.Column == at.column && strings.HasSuffix(p.Message, " is also at "+others) {
			return
		}
	}
	c.fail(d, at, "metadata.name", message)
}

// readText keeps the text of a document's domainXML file.
func (c *collector) readText(d *Document, text func(string) ([]byte, bool)) bool {
	name := d.text()
	if name == "" {
		return true
	}
	if _, ok := c.set.files[name]; ok {
		return true
	}
	data, ok := text(name)
	if !ok {
		c.fail(d, d.places.text, joinField(headerOf(d.object).Written.Spec, "domainXMLFrom"), "there is no file "+quoted(name)+" in the repository")
		c.set.broken = append(c.set.broken, d)
		return false
	}
	c.set.files[name] = data
	return true
}

// references reports references to what no document defines. They are not taken out of the set here: what is missing may
// be in a document that cannot be read, and may be mended.
func (c *collector) references() {
	hint := ""
	if c.unknown != "" {
		hint = "; it may be in " + c.unknown + ", which has a document that cannot be read"
	}
	for _, d := range c.set.read {
		for _, r := range d.refers {
			if len(c.defined[r.to]) == 0 {
				c.fail(d, r.at, r.field, fmt.Sprintf("there is no %s %s%s%s", r.what, quoted(r.to.Name), c.suggest(r.to), hint))
			}
		}
	}
}

// suggest suggests a document of the same kind for one that is missing. A thousand documents can miss the same one.
func (c *collector) suggest(missing id) string {
	if s, ok := c.similar[missing]; ok {
		return s
	}
	var names []string
	for k := range c.defined {
		if k.Kind == missing.Kind {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	s := suggest(missing.Name, names)
	if s != "" {
		s = "; did you mean " + quoted(s) + "?"
	}
	c.similar[missing] = s
	return s
}
