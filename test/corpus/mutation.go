package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// kind is how a declaration is mutated.
type kind string

const (
	change  kind = "changed"   // a value is another
	remove  kind = "removed"   // a value or an element is no longer declared
	add     kind = "added"     // there is one device more
	reorder kind = "reordered" // the devices stand in another order
)

// mutation is a declaration that differs in one thing.
type mutation struct {
	kind kind
	path string
	want *domxml.Element
	// from and to are the values of a change, for people.
	from, to string
}

// spot is a place in a declaration: an element by its indices from the root, and an attribute of it or its text.
type spot struct {
	path    string
	indices []int
	kind    kind
	attr    string // "" for the text, or for the element itself
}

// kept are what a machine keeps when it is no longer declared, or what it cannot be without.
var kept = []string{"name", "uuid", "memory", "vcpu", "metadata", "os", "os/type", "devices", "devices/disk/target"}

// spots are all that one mutation can be about.
func spots(want *domxml.Element) []spot {
	var all []spot
	var visit func(path string, e *domxml.Element, indices []int)
	visit = func(path string, e *domxml.Element, indices []int) {
		removable := path != "" && !isKept(path)
		if removable {
			all = append(all, spot{path, indices, remove, ""})
		}
		if e.Text != "" {
			all = append(all, spot{path, indices, change, ""})
		}
		for _, a := range e.Attrs {
			if strings.HasPrefix(a.Name, "xmlns") || strings.HasSuffix(path, "/address") && a.Name == "type" {
				continue // an address of another type has other attributes
			}
			all = append(all, spot{path, indices, change, a.Name})
			if removable && a.Name != "unit" {
				all = append(all, spot{path, indices, remove, a.Name})
			}
		}
		if strings.Count(path, "/") == 1 && strings.HasPrefix(path, "devices/") && e.Child("target") != nil {
			all = append(all, spot{path, indices, add, ""})
		}
		if path == "devices" && len(e.Children) > 1 {
			all = append(all, spot{path, indices, reorder, ""})
		}
		for i, c := range e.Children {
			visit(below(path, c.Name), c, append(slices.Clone(indices), i))
		}
	}
	visit("", want, nil)
	return all
}

func isKept(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return slices.Contains(kept, path) || strings.HasPrefix(path, "metadata/") ||
		strings.HasPrefix(path, "devices/") && (last == "address" || last == "mac" || last == "alias")
}

// apply is the mutation at a spot; false when there is nothing to mutate.
func (s spot) apply(want, have *domxml.Element, words vocabulary, chance *rand.Rand) (mutation, bool) {
	m := mutation{kind: s.kind, path: s.path, want: want.Clone()}
	e, parent := m.want, (*domxml.Element)(nil)
	for _, i := range s.indices {
		e, parent = e.Children[i], e
	}
	switch {
	case s.kind == reorder:
		chance.Shuffle(len(e.Children), func(i, j int) { e.Children[i], e.Children[j] = e.Children[j], e.Children[i] })
	case s.kind == add:
		added := another(e, chance)
		parent.Children = slices.Insert(parent.Children, chance.IntN(len(parent.Children)+1), added)
		m.to = strings.TrimSpace(added.String())
	case s.kind == remove && s.attr == "":
		parent.Remove(e)
	case s.kind == remove:
		m.path += "@" + s.attr
		m.from = e.Attr(s.attr)
		e.RemoveAttr(s.attr)
	case s.attr == "":
		m.from, m.to = e.Text, words.other(s.path, e.Text, chance)
		e.Text = m.to
	default:
		m.path += "@" + s.attr
		m.from = e.Attr(s.attr)
		m.to = words.other(m.path, m.from, chance)
		for range 100 {
			if !taken(m.want, have, e, s.path, s.attr, m.to) {
				break
			}
			m.to = words.other(m.path, m.to, chance)
		}
		if taken(m.want, have, e, s.path, s.attr, m.to) {
			return m, false // there is no other
		}
		e.SetAttr(s.attr, m.to)
	}
	return m, m.kind != change || m.from != m.to
}

// identifying are attributes by which an element is told from others of its kind.
var identifying = []string{
	"name", "id", "index", "vcpu", "iothread", "cellid", "dev", "address", "port", "slot", "function", "unit", "file", "dir", "uuid", "mode", "model",
}

// taken says whether another element of the kind has that value, declared or made by libvirtd: to have it as well is no change
// that means something.
func taken(want, have, e *domxml.Element, path, attr, value string) bool {
	if !slices.Contains(identifying, attr) || slices.Contains(units, value) {
		return false
	}
	found := false
	look := func(at string, other *domxml.Element) {
		found = found || at == path && other != e && other.Attr(attr) == value
	}
	walk(want, "", look)
	walk(have, "", look)
	return found
}

// another is a device like one, with a name, a target, a MAC and a source of its own, and no address.
func another(e *domxml.Element, chance *rand.Rand) *domxml.Element {
	a := e.Clone()
	for i := range a.Attrs {
		if n := &a.Attrs[i]; n.Name == "index" && integer.MatchString(n.Value) {
			n.Value = "7" + n.Value
		}
	}
	for _, c := range a.Children {
		if c.Text != "" {
			c.Text += "zz"
		}
	}
	for _, name := range []string{"alias", "address", "boot"} {
		if c := a.Child(name); c != nil {
			a.Remove(c)
		}
	}
	for _, name := range []string{"mac", "target", "source"} {
		c := a.Child(name)
		if c == nil {
			continue
		}
		for i := range c.Attrs {
			switch attr := &c.Attrs[i]; {
			case name == "mac":
				attr.Value = "52:54:00:fe:dc:" + string("0123456789abcdef"[chance.IntN(16)]) + "7"
			case slices.Contains([]string{"dev", "file", "dir", "name", "path", "volume"}, attr.Name):
				attr.Value += "zz"
			case attr.Name == "port" && integer.MatchString(attr.Value):
				attr.Value = "3" + attr.Value
			}
		}
	}
	a.Append(domxml.New("alias", "name", "ua-added"))
	return a
}
