package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Collect makes the set of a revision from its files. text returns the bytes of a file of the same revision, which
// a document may name. What two documents say of each other is checked here: names that are there twice, and references to
// what is not there.
func Collect(files []File, text func(path string) ([]byte, bool)) *Set {
	all := make([]*File, len(files))
	for i := range files {
		all[i] = &files[i]
	}
	return Next(nil, nil, all, text)
}

// Next makes the set of a revision from that of another one, nil for none: files of it that are gone now, and files that
// came. A file that has changed is both. It costs what has changed, and is the same as what Collect makes of all files.
func Next(before *Set, gone, come []*File, text func(path string) ([]byte, bool)) *Set {
	x := newIndex()
	if before != nil {
		x = before.index.next(gone, come)
	} else {
		x.change(gone, come)
	}
	s := &Set{index: x, files: map[string][]byte{}, read: x.defined}
	c := collector{set: s, twice: map[Problem]bool{}, similar: map[id]string{}}
	c.collect(text)
	sortProblems(s.Problems)
	sortProblems(s.Warnings)
	s.hold(s.read, maps.All(x.bodied))
	s.texts = s.files
	return s.Mend(nil)
}

// collector finds out what of an index is sound.
type collector struct {
	set     *Set
	unsound map[id]bool
	twice   map[Problem]bool
	similar map[id]string // suggestions for what is missing
}

func (c *collector) collect(text func(path string) ([]byte, bool)) {
	s, x := c.set, c.set.index
	for _, f := range x.flawed {
		s.Problems = append(s.Problems, f.Problems...)
		s.Warnings = append(s.Warnings, f.Warnings...)
	}
	s.broken = slices.Clone(x.strays)
	for _, docs := range x.twins {
		c.duplicates(docs)
	}
	for k, d := range x.broken {
		if x.twins[k] == nil {
			c.leaveOut(d)
		}
	}
	for k, d := range x.naming {
		if x.twins[k] == nil && !d.Broken {
			c.readTexts(d, text)
		}
	}
	c.references()
}

// leaveOut takes a document out of the sound ones.
func (c *collector) leaveOut(d *Document) {
	if c.unsound == nil {
		c.unsound, c.set.read = map[id]bool{}, c.set.read.whole()
	}
	c.unsound[d.id()] = true
	c.set.read.remove(d.id())
	c.set.broken = append(c.set.broken, d)
}

// fail adds a problem of a sound document, which is thereby broken.
func (c *collector) fail(d *Document, at position, field, message string) {
	c.set.Problems = append(c.set.Problems, Problem{File: d.File, Line: int(at.line), Column: int(at.column),
		Kind: d.Written, Name: d.Name, Field: field, Message: message})
}

// duplicates reports documents of one name. None of them is taken: which is meant cannot be told.
func (c *collector) duplicates(docs []*Document) {
	for i, d := range docs {
		c.leaveOut(d)
		var others []string
		for j, o := range docs {
			if j != i {
				others = append(others, fmt.Sprintf("%s:%d", o.File, o.Line))
			}
		}
		at := d.nameAt
		if d.Broken {
			at = position{int32(d.Line), 1}
		}
		c.duplicate(d, at, strings.Join(others, ", "))
	}
}

// duplicate reports a name that is there twice, once for each manifest: it may stand for several documents.
func (c *collector) duplicate(d *Document, at position, others string) {
	key := Problem{File: d.File, Line: int(at.line), Column: int(at.column), Message: others}
	if c.twice[key] {
		return
	}
	c.twice[key] = true
	c.fail(d, at, "metadata.name", "duplicate name; the "+d.Kind+" is also at "+others)
}

// readTexts keeps the texts of the files that a document names.
func (c *collector) readTexts(d *Document, text func(string) ([]byte, bool)) {
	sound := true
	for _, n := range d.naming {
		if _, ok := c.set.files[n.path]; ok {
			continue
		}
		data, ok := text(n.path)
		if !ok {
			c.fail(d, n.at, n.field, "there is no file "+quoted(n.path)+" in the repository")
			sound = false
			continue
		}
		c.set.files[n.path] = data
	}
	if !sound {
		c.leaveOut(d)
	}
}

// references reports references to what no document defines. They are not taken out of the set here: what is missing may
// be in a document that cannot be read, and may be mended.
func (c *collector) references() {
	x := c.set.index
	unknown := "" // the first file with a document that cannot be told
	for _, d := range x.strays {
		if unknown == "" || d.File < unknown {
			unknown = d.File
		}
	}
	hint := ""
	if unknown != "" {
		hint = "; it may be in " + unknown + ", which has a document that cannot be read"
	}
	for k, d := range x.dangling {
		if c.unsound[k] {
			continue
		}
		for _, r := range d.refers {
			if x.defined.get(r.to) == nil {
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
	for name := range c.set.index.defined[missing.Kind] {
		names = append(names, name)
	}
	slices.Sort(names)
	s := suggest(missing.Name, names)
	if s != "" {
		s = "; did you mean " + quoted(s) + "?"
	}
	c.similar[missing] = s
	return s
}
