package domxml

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Change is one declared thing that differs.
type Change struct {
	// Path is below <domain>: memory, vcpu, devices/disk[root]/target@bus. A label in brackets is a device's name.
	Path string
	// From is what is there, To what is declared; empty where there is nothing. Passwords are shown as digests.
	From, To string
}

// Converge makes have say what want says, and nothing else: what want does not mention stays as it is, but for what was
// (what was declared before; nil for nothing) says and want no longer says, which is removed. It returns a new tree
// and the changes, none when want is what have says already. Addresses, MACs, UUID and machine type are never removed
// for not being declared any more: a machine keeps them.
func Converge(have, want, was *Element) (*Element, []Change) {
	c := &converger{}
	next := have.Clone()
	c.element("", "", next, want, was)
	return next, c.changes
}

// Compare is Converge's changes alone.
func Compare(want, have, was *Element) []Change {
	_, changes := Converge(have, want, was)
	return changes
}

// Merge is base with over's words over it, element by element.
func Merge(base, over *Element) *Element {
	next, _ := Converge(base, over, nil)
	return next
}

type converger struct{ changes []Change }

func (c *converger) note(path, from, to string) {
	if from == "" && to == "" {
		from, to = "absent", "present"
	}
	c.changes = append(c.changes, Change{path, from, to})
}

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
	return strings.HasPrefix(path, "devices/") && (name == "address" || name == "mac" || name == "alias")
}

// element converges one element and what is below it. path is for the rules, shown for people.
func (c *converger) element(path, shown string, have, want, was *Element) {
	if isDevice(path) {
		c.kind(have, want)
	}
	for _, a := range want.Attrs {
		v, ok := have.lookup(a.Name)
		if ok && sameAttr(path, a.Name, a.Value, v) || isAmount(want) && a.Name == "unit" {
			continue
		}
		c.note(shown+"@"+a.Name, secret(a.Name, v), secret(a.Name, a.Value))
		have.SetAttr(a.Name, a.Value)
	}
	if want.Text != "" && !sameText(path, want, have) {
		c.note(shown, amount(have), amount(want))
		have.Text = want.Text
		have.RemoveAttr("unit")
		if u, ok := want.lookup("unit"); ok {
			have.SetAttr("unit", u)
		}
	}
	if was != nil {
		c.dropAttrs(path, shown, have, want, was)
	}
	for _, name := range childNames(want, was) {
		c.children(join(path, name), shown, name, have, want, was)
	}
}

func (c *converger) dropAttrs(path, shown string, have, want, was *Element) {
	for _, a := range was.Attrs {
		_, said := want.lookup(a.Name)
		v, there := have.lookup(a.Name)
		if said || !there || isPinned(path+"@"+a.Name) || isAmount(was) && a.Name == "unit" {
			continue
		}
		c.note(shown+"@"+a.Name, secret(a.Name, v), "")
		have.RemoveAttr(a.Name)
	}
}

// children converges the children of one name.
func (c *converger) children(path, shown, name string, have, want, was *Element) {
	haves, wants, wases := named(have, name), named(want, name), named(was, name)
	if identityOf(path).whole {
		c.list(path, join(shown, name), have, haves, wants, wases)
		return
	}
	inHave, before := pair(path, wants, haves), pair(path, wants, wases)
	stays := make(map[*Element]bool, len(wants)) // of wases
	for n, w := range wants {
		here := join(shown, name) + label(path, w)
		if old := before[w]; old != nil {
			stays[old] = true
		}
		if h := inHave[w]; h != nil {
			c.element(path, here, h, w, before[w])
			continue
		}
		c.note(here, "", summary(w))
		have.insertBefore(w.Clone(), following(path, wants[n+1:], inHave))
	}
	gone := make([]*Element, 0, len(wases))
	for _, old := range wases {
		if !stays[old] {
			gone = append(gone, old)
		}
	}
	inHave = pair(path, gone, haves)
	for _, old := range gone {
		if h := inHave[old]; h != nil && !claimed(h, wants, path, haves) {
			c.strip(path, join(shown, name)+label(path, old), have, h, old)
		}
	}
}

// following is what is there of the next declared device that is: one that is new, or comes back, goes before it, so that
// the same declaration gives the same order.
func following(path string, wants []*Element, inHave map[*Element]*Element) *Element {
	for _, w := range wants {
		if h := inHave[w]; h != nil && isDevice(path) {
			return h
		}
	}
	return nil
}

// claimed says whether an element that is to go is now the counterpart of one that is wanted.
func claimed(h *Element, wants []*Element, path string, haves []*Element) bool {
	for _, other := range pair(path, wants, haves) {
		if other == h {
			return true
		}
	}
	return false
}

// list converges a list that has no identities.
func (c *converger) list(path, shown string, have *Element, haves, wants, wases []*Element) {
	if len(wants) == 0 && (len(wases) == 0 || len(haves) == 0) {
		return
	}
	same := len(haves) == len(wants)
	for i := 0; same && i < len(wants); i++ {
		probe := &converger{}
		probe.element(path, shown, haves[i].Clone(), wants[i], nil)
		same = len(probe.changes) == 0
	}
	if same {
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

// strip removes what was declared and is no longer: a device whole, elsewhere only what had been said, and an element
// once nothing is left in it.
func (c *converger) strip(path, shown string, parent, have, was *Element) {
	if isPinned(path) {
		return
	}
	if isDevice(path) || len(was.Children) == 0 {
		c.note(shown, summary(have), "")
		parent.Remove(have)
		return
	}
	empty := &Element{Name: was.Name}
	c.element(path, shown, have, empty, was)
	if len(have.Children) == 0 && len(have.Attrs) == 0 && have.Text == "" {
		parent.Remove(have)
	}
}

// kind makes room for what cannot stand together: a source of another type, an address on another bus.
func (c *converger) kind(have, want *Element) {
	if t := want.Attr("type"); t != "" && t != have.Attr("type") {
		if s := have.Child("source"); s != nil && want.Child("source") != nil {
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
	if t := have.Child("target"); t != nil {
		t.RemoveAttr("dev")
	}
}

func isDevice(path string) bool {
	return strings.HasPrefix(path, "devices/") && strings.Count(path, "/") == 1
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func named(e *Element, name string) []*Element {
	var list []*Element
	if e != nil {
		for _, c := range e.Children {
			if c.Name == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// childNames are the names of both elements' children, in the order in which they come first.
func childNames(a, b *Element) []string {
	var names []string
	seen := map[string]bool{}
	for _, e := range []*Element{a, b} {
		if e == nil {
			continue
		}
		for _, c := range e.Children {
			if !seen[c.Name] {
				seen[c.Name] = true
				names = append(names, c.Name)
			}
		}
	}
	return names
}

func secret(attr, value string) string {
	if attr != "passwd" || value == "" {
		return value
	}
	digest := sha256.Sum256([]byte(value))
	return fmt.Sprintf("sha256:%x", digest[:6])
}

func amount(e *Element) string {
	if u := e.Attr("unit"); u != "" {
		return e.Text + " " + u
	}
	return e.Text
}

// summary is an element in a few words.
func summary(e *Element) string {
	if e.Text != "" {
		return amount(e)
	}
	var words []string
	add := func(e *Element) {
		if e == nil {
			return
		}
		for _, a := range e.Attrs {
			if !strings.HasPrefix(a.Name, "xmlns") {
				words = append(words, a.Name+"="+secret(a.Name, a.Value))
			}
		}
	}
	add(e)
	for _, name := range []string{"source", "target", "model", "mac"} {
		add(e.Child(name))
	}
	if len(words) == 0 {
		return "present"
	}
	return strings.Join(words, " ")
}

func summaries(list []*Element) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = summary(e)
	}
	return strings.Join(words, ", ")
}
