package domxml

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pinned are things that a machine keeps when nobody declares them any more.
var pinned = map[string]bool{
	"name": true, "uuid": true, "os/type": true, "@type": true, "os/type@machine": true, "os/type@arch": true,
	"vcpu": true, "memory": true, "os": true, "metadata": true, "devices/disk/target@dev": true,
}

func isPinned(path string) bool {
	if pinned[path] {
		return true
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	return isDevice(parentOf(path)) && (name == "address" || name == "mac" || name == "alias")
}

// strip removes what was declared and is no longer: a device whole, elsewhere only what had been said, and an element
// once nothing is left in it.
func (c *converger) strip(s, old site, shown string, parent, have *Element) {
	if isPinned(s.path) {
		return
	}
	if isDevice(s.path) || len(old.e.Children) == 0 {
		c.note(shown, summary(have), "")
		parent.Remove(have)
		return
	}
	before, from := len(c.changes), summary(have)
	s.e = &Element{Name: old.e.Name}
	c.element(s, old, site{}, shown, have)
	if len(c.changes) > before && s.path != "devices" {
		c.changes = c.changes[:before] // one thing was taken back, whatever it was made of
		c.note(shown, from, "")
	}
	if len(have.Children) == 0 && len(have.Attrs) == 0 && have.Text == "" {
		parent.Remove(have)
	}
}

// list converges a list that has no identities.
func (c *converger) list(path, shown string, have *Element, haves, wants, wases []*Element) {
	if len(wants) == 0 && (len(wases) == 0 || len(haves) == 0) || sameList(path, haves, wants) && !lessSaid(path, haves, wants, wases) {
		return
	}
	c.note(shown, summaries(haves), summaries(wants))
	for _, h := range haves {
		have.Remove(h)
	}
	for _, w := range wants {
		have.insert(w.Clone())
	}
}

// lessSaid says whether the list said more before, which is still there.
func lessSaid(path string, haves, wants, wases []*Element) bool {
	return len(wases) == len(wants) && !sameList(path, wants, wases) && sameList(path, haves, wases)
}

func sameList(path string, haves, wants []*Element) bool {
	if each := identityOf(path).each; each != "" {
		h, w := expand(path, haves, each), expand(path, wants, each)
		return h != nil && w != nil && maps.Equal(h, w)
	}
	return slices.EqualFunc(haves, wants, func(h, w *Element) bool { return distance(path, h, w) == 0 })
}

// expand is what a list says of each number; nil when a list of numbers cannot be read.
func expand(path string, list []*Element, each string) map[int]string {
	all := map[int]string{}
	for _, e := range list {
		bits, ok := parseBitmap(e.Attr(each))
		if !ok {
			return nil
		}
		var words []string
		for _, a := range e.Attrs {
			if a.Name != each && !(site{path: path, e: e}).isDropped(a.Name) {
				words = append(words, fmt.Sprintf("%s=%q", a.Name, canonical(e.Name, a.Name, a.Value)))
			}
		}
		slices.Sort(words)
		for n := range bits {
			all[n] = strings.Join(words, " ")
		}
	}
	return all
}

// kind makes room for what cannot stand together: a source of another type, an address on another bus.
func (c *converger) kind(have, want *Element) {
	if t := want.Attr("type"); t != "" && t != have.Attr("type") {
		if s, w := have.Child("source"), want.Child("source"); s != nil && w != nil && !prune(s, w) {
			have.Remove(s)
		}
	}
	bus := func(e *Element) string {
		return e.Child("target").Attr("bus") + " " + e.Attr("bus") + " " + e.Attr("model")
	}
	a, declared := have.Child("address"), want.Child("address")
	if a != nil && declared != nil && declared.Attr("type") != a.Attr("type") {
		have.Remove(a)
	}
	moved := want.Name == "disk" && want.Child("target").Attr("bus") != "" && bus(want) != bus(have) ||
		(want.Name == "controller" || want.Name == "input") && bus(want) != "  " && bus(want) != bus(have)
	if !moved {
		return
	}
	if a != nil && declared == nil {
		have.Remove(a)
	}
	if t := have.Child("target"); t != nil && want.Child("target").Attr("dev") == "" {
		t.RemoveAttr("dev")
	}
}

// prune takes from have what want does not mention, and says whether anything is left.
func prune(have, want *Element) bool {
	have.Attrs = slices.DeleteFunc(have.Attrs, func(a Attr) bool { _, ok := want.lookup(a.Name); return !ok })
	have.Children = slices.DeleteFunc(have.Children, func(c *Element) bool { return want.Child(c.Name) == nil })
	return len(have.Attrs)+len(have.Children) > 0
}
