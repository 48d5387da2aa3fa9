package domxml

import (
	"slices"
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
//
// What libvirt makes of a declaration is no change: another form of a value, a default that it leaves out, what the rest of
// the declaration overrules, what belongs to a run.
func Converge(have, want, was *Element) (*Element, []Change) {
	want, was = qualify(want), qualify(was)
	c := &converger{want: want, was: was, have: have, next: have.Clone()}
	c.element(c.site("", want, nil), "", c.next, was, nil)
	c.settleMemory()
	c.settleConsole()
	return c.next, c.changes
}

// Compare is Converge's changes alone.
func Compare(want, have, was *Element) []Change {
	_, changes := Converge(have, want, was)
	return changes
}

// Merge is base with over's words over it, element by element.
func Merge(base, over *Element) *Element {
	c := &converger{want: over, next: base.Clone(), literal: true}
	c.element(c.site("", over, nil), "", c.next, nil, nil)
	return c.next
}

type converger struct {
	want, was, have, next *Element
	// literal takes every word as it stands, for what is not a whole domain.
	literal bool
	changes []Change
}

// site is a place in what is declared.
func (c *converger) site(path string, e, parent *Element) site {
	return site{path, e, parent, c.want, c.next}
}

// old is a place in what was declared.
func (c *converger) old(path string, e, parent *Element) site {
	return site{path, e, parent, c.was, c.next}
}

func (c *converger) note(path, from, to string) {
	if from == "" && to == "" {
		from, to = "absent", "present"
	}
	c.changes = append(c.changes, Change{path, from, to})
}

// element converges one element and what is below it. shown is the path for people.
func (c *converger) element(s site, shown string, have, was, wasParent *Element) {
	if isDevice(s.path) {
		c.kind(have, s.e)
	}
	old := c.old(s.path, was, wasParent)
	for _, a := range s.e.Attrs {
		c.attr(s, old, shown, have, a)
	}
	if s.e.Text != "" && !sameText(s.path, s.e, have) && !(c.defers(s.path) && !c.literal) {
		c.note(shown, amountText(have), amountText(s.e))
		have.Text = s.e.Text
		have.RemoveAttr("unit")
		if u, ok := s.e.lookup("unit"); ok {
			have.SetAttr("unit", u)
		}
	}
	if was != nil {
		c.dropAttrs(s, old, shown, have)
	}
	for _, name := range childNames(s.e, was) {
		c.children(s, old, shown, name, have)
	}
}

// attr converges one attribute.
func (c *converger) attr(s, old site, shown string, have *Element, a Attr) {
	v, there := have.lookup(a.Name)
	switch {
	case isNamespace(a.Name):
		if !there {
			have.SetAttr(a.Name, a.Value) // it is how the names are written, and says nothing of the domain
		}
		return
	case there && a.Value == v:
		return
	case c.literal:
	case there && s.sameAttr(a.Name, have, a.Value, v), s.isDropped(a.Name), !there && s.isImplied(a.Name, a.Value):
		return
	}
	if isAmount(s, a.Name) {
		if s.e.Text == "" {
			have.SetAttr(a.Name, a.Value)
		}
		return
	}
	if !s.follows(old, a.Name, v) {
		c.note(shown+"@"+a.Name, secret(a.Name, v), secret(a.Name, a.Value))
	}
	have.SetAttr(a.Name, a.Value)
}

// isAmount says whether an attribute is the unit of a number, with which it is compared.
func isAmount(s site, attr string) bool {
	a, ok := amountOf(s.path, s.e)
	return ok && attr == a.unit
}

// dropAttrs removes the attributes that were declared and no longer are.
func (c *converger) dropAttrs(s, old site, shown string, have *Element) {
	for _, a := range old.e.Attrs {
		_, said := s.e.lookup(a.Name)
		v, there := have.lookup(a.Name)
		if said || !there || isPinned(s.path+"@"+a.Name) || isNamespace(a.Name) || isAmount(old, a.Name) || old.isDropped(a.Name) {
			continue
		}
		c.note(shown+"@"+a.Name, secret(a.Name, v), "")
		have.RemoveAttr(a.Name)
	}
}

// children converges the children of one name.
func (c *converger) children(s, old site, shown, name string, have *Element) {
	path, haves := join(s.path, name), named(have, name)
	wants, wases := named(s.e, name), named(old.e, name)
	if identityOf(path).whole {
		c.list(path, join(shown, name), have, haves, c.kept(s, path, wants), wases)
		return
	}
	inHave, before := match(path, haves, wants, wases)
	claimed, stays := make(map[*Element]bool, len(haves)), make(map[*Element]bool, len(wases))
	for _, w := range wants {
		here, o, h := join(shown, name)+label(path, w), before[w], inHave[w]
		claimed[h], stays[o] = true, true
		switch {
		case !c.literal && c.site(path, w, s.e).isDropped(""):
			if h != nil && o != nil && !c.old(path, o, old.e).isDropped("") && !isPinned(path) {
				have.Remove(h) // something else that is declared now overrules it
			}
		case h != nil:
			c.element(c.site(path, w, s.e), here, h, o, old.e)
		default:
			c.add(c.site(path, w, s.e), c.old(path, o, old.e), here, have)
		}
	}
	gone := slices.DeleteFunc(slices.Clone(wases), func(o *Element) bool { return stays[o] || c.old(path, o, old.e).isDropped("") })
	left := slices.DeleteFunc(haves, func(h *Element) bool { return claimed[h] })
	lost := pair(path, gone, left)
	for _, o := range gone {
		if h := lost[o]; h != nil {
			c.strip(c.site(path, nil, s.e), c.old(path, o, old.e), join(shown, name)+label(path, o), have, h)
		}
	}
}

// add adds an element that is not there. What had been declared before, and was then overruled, is not news.
func (c *converger) add(s, old site, shown string, parent *Element) {
	if !c.literal && s.isEmpty() {
		return
	}
	if c.literal || old.e == nil || !old.isDropped("") || distance(s.path, old.e, s.e) > 0 {
		c.note(shown, "", summary(s.e))
	}
	parent.insert(s.e.Clone())
}

// kept are the elements of which libvirt keeps something.
func (c *converger) kept(parent site, path string, wants []*Element) []*Element {
	return slices.DeleteFunc(wants, func(w *Element) bool { return !c.literal && c.site(path, w, parent.e).isDropped("") })
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
	for _, e := range []*Element{a, b} {
		if e == nil {
			continue
		}
		for _, c := range e.Children {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
