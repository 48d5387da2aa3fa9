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
	c := converge(have, want, was, false)
	return c.next, c.told()
}

func converge(have, want, was *Element, apart bool) *converger {
	want, was = qualify(want), qualify(was)
	c := &converger{want: want, was: was, have: have, next: have.Clone(), apart: apart}
	c.element(c.site("", want, nil), c.old("", was, nil), c.there("", have, nil), "", c.next)
	c.settleMemory()
	c.settleConsole()
	return c
}

// told are the changes. Consequences are told when there is nothing that they follow from, so that it is not declared.
func (c *converger) told() []Change {
	if len(c.changes) == 0 {
		return c.consequences
	}
	return c.changes
}

// Compare is Converge's changes alone.
func Compare(want, have, was *Element) []Change {
	_, changes := Converge(have, want, was)
	return changes
}

// Merge is base with over's words over it, element by element.
func Merge(base, over *Element) *Element {
	c := &converger{want: over, next: base.Clone(), literal: true}
	c.element(c.site("", over, nil), site{}, site{}, "", c.next)
	return c.next
}

type converger struct {
	want, was, have, next *Element
	// literal takes every word as it stands, for what is not a whole domain.
	literal bool
	// probe is to count the changes only.
	probe   bool
	changes []Change
	// consequences are differences that nobody declared: they follow from another one, which overrules or overruled them.
	consequences []Change
	// apart has the devices' changes kept track of.
	apart   bool
	devices []deviceSpan
}

// site is a place in what is declared.
func (c *converger) site(path string, e, parent *Element) site {
	return site{path: path, e: e, parent: parent, root: c.want, have: c.have}
}

// old is a place in what was declared.
func (c *converger) old(path string, e, parent *Element) site {
	return site{path: path, e: e, parent: parent, root: c.was, have: c.have}
}

// there is a place in what there is.
func (c *converger) there(path string, e, parent *Element) site {
	return site{path: path, e: e, parent: parent, root: c.have, have: c.have}
}

func (c *converger) note(path, from, to string) {
	c.tell(false, path, from, to)
}

// tell notes a change, apart when it is a consequence.
func (c *converger) tell(consequence bool, path, from, to string) {
	if from == "" && to == "" {
		from, to = "absent", "present"
	}
	if consequence {
		c.consequences = append(c.consequences, Change{path, from, to})
		return
	}
	c.changes = append(c.changes, Change{path, from, to})
}

// element converges one element and what is below it. now is the place in what there is, next the element as it becomes; shown
// is the path for people.
func (c *converger) element(s, old, now site, shown string, next *Element) {
	if isDevice(s.path) {
		c.kind(next, s.e)
	}
	for _, a := range s.e.Attrs {
		c.attr(s, old, now, shown, next, a)
	}
	if s.e.Text != "" && !sameText(s.path, s.e, next) && (c.literal || !c.defers(s.path)) {
		c.note(shown, amountText(next), amountText(s.e))
		next.Text = s.e.Text
		next.RemoveAttr("unit")
		if u, ok := s.e.lookup("unit"); ok {
			next.SetAttr("unit", u)
		}
	}
	if old.e != nil {
		c.dropAttrs(s, old, shown, next)
	}
	for _, name := range childNames(s.e, old.e) {
		c.children(s, old, now, shown, name, next)
	}
}

// attr converges one attribute.
func (c *converger) attr(s, old, now site, shown string, next *Element, a Attr) {
	v, there := next.lookup(a.Name)
	amount, isAmount := amountOf(s.path, s.e)
	switch {
	case isNamespace(a.Name):
		if !there {
			next.SetAttr(a.Name, a.Value) // it is how the names are written, and says nothing of the domain
		}
		return
	case isAmount && a.Name == amount.unit:
		return // it goes with the number
	case amount.value == a.Name && isAmount:
		if there && amount.same(s.e, next) {
			return
		}
		next.RemoveAttr(amount.unit)
		if u, ok := s.e.lookup(amount.unit); ok {
			next.SetAttr(amount.unit, u)
		}
	case there && a.Value == v:
		return
	case c.literal:
	case there && s.sameAttr(a.Name, next, a.Value, v), !there && s.isImplied(a.Name, a.Value, next):
		return
	case s.isDropped(a.Name):
		if before, said := old.e.lookup(a.Name); there && said && before == v && before != a.Value && !old.isDropped(a.Name) {
			c.note(shown+"@"+a.Name, secret(a.Name, v), "") // what was said is no longer
			next.RemoveAttr(a.Name)
		}
		return
	}
	c.tell(!c.literal && (!isAmount || a.Name != amount.value) && s.follows(old, now, a.Name, next, v), shown+"@"+a.Name, secret(a.Name, v), secret(a.Name, a.Value))
	next.SetAttr(a.Name, a.Value)
}

// dropAttrs removes the attributes that were declared and no longer are.
func (c *converger) dropAttrs(s, old site, shown string, next *Element) {
	amount, isAmount := amountOf(old.path, old.e)
	for _, a := range old.e.Attrs {
		_, said := s.e.lookup(a.Name)
		v, there := next.lookup(a.Name)
		if said || !there || isPinned(s.path+"@"+a.Name) || isNamespace(a.Name) || isAmount && a.Name == amount.unit || old.isDropped(a.Name) {
			continue
		}
		c.note(shown+"@"+a.Name, secret(a.Name, v), "")
		next.RemoveAttr(a.Name)
	}
}

// children converges the children of one name.
func (c *converger) children(s, old, now site, shown, name string, next *Element) {
	path, haves, originals := join(s.path, name), next.All(name), now.e.All(name)
	wants, wases := s.e.All(name), old.e.All(name)
	if identityOf(path).whole {
		c.list(path, join(shown, name), next, haves, c.kept(s, path, wants), wases)
		return
	}
	if len(wases) <= 1 && single(path, wants, haves) {
		// Most are such: there is but one of them, on each side.
		o, original := first(wases), site{}
		if len(originals) == 1 {
			original = c.there(path, originals[0], now.e)
		}
		sw, so := c.site(path, wants[0], s.e), c.old(path, o, old.e)
		sw.now, so.now = now.e, now.e
		if c.literal || !sw.isDropped("") {
			c.element(sw, so, original, join(shown, name), haves[0])
			return
		}
	}
	if s.path == "metadata" {
		wants = c.kept(s, path, wants)
		wases = slices.DeleteFunc(wases, func(o *Element) bool { return c.old(path, o, old.e).isDropped("") })
	}
	original := func(h *Element) site {
		if len(originals) != len(haves) {
			return site{}
		}
		return c.there(path, originals[slices.Index(haves, h)], now.e)
	}
	var inHave, before, lost pairing
	if c.probe {
		inHave = inOrder(path, wants, haves)
	} else {
		inHave, before, lost = match(path, haves, wants, wases)
	}
	claimed, stays := make(map[*Element]bool, len(haves)), make(map[*Element]bool, len(wases))
	for n, w := range wants {
		here, o, h := join(shown, name)+label(path, w), before[w], inHave[w]
		claimed[h], stays[o] = true, true
		sw, so := c.site(path, w, s.e), c.old(path, o, old.e)
		sw.now, so.now = now.e, now.e
		switch {
		case !c.literal && sw.isDropped(""):
			if h != nil && o != nil && !so.isDropped("") && !isPinned(path) {
				// Something else that is declared overrules it now.
				c.device(path, here, original(h).e, nil, func() *Element {
					c.tell(equal(path, o, w), here, summary(h), "")
					next.Remove(h)
					return nil
				})
			}
		case h != nil:
			now := original(h)
			c.device(path, here, now.e, w, func() *Element { c.element(sw, so, now, here, h); return h })
		case c.literal || !sw.isEmpty():
			overruled := now.e != nil && c.there(path, w, now.e).isDropped("")
			c.device(path, here, nil, w, func() *Element {
				c.tell(!c.literal && (overruled || o != nil && so.isEmpty() && equal(path, o, w)), here, "", summary(w))
				return next.insertBefore(w.Clone(), following(path, wants[n+1:], inHave))
			})
		}
	}
	gone := slices.DeleteFunc(slices.Clone(wases), func(o *Element) bool {
		h := lost[o] // what is wanted now may be found elsewhere
		return stays[o] && (h == nil || claimed[h]) || c.old(path, o, old.e).isDropped("")
	})
	left := slices.DeleteFunc(slices.Clone(haves), func(h *Element) bool { return claimed[h] })
	there := pair(path, gone, left)
	for _, o := range gone {
		if h := there[o]; h != nil {
			here := join(shown, name) + label(path, o)
			c.device(path, here, original(h).e, nil, func() *Element {
				c.strip(c.site(path, nil, s.e), c.old(path, o, old.e), here, next, h)
				return nil
			})
		}
	}
}

// following is what is there of the next declared device that is: one that is new, or comes back, goes before it, so that
// the same declaration gives the same order.
func following(path string, wants []*Element, inHave pairing) *Element {
	for _, w := range wants {
		if h := inHave[w]; h != nil && isDevice(path) {
			return h
		}
	}
	return nil
}

func first(list []*Element) *Element {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// equal says whether two elements say the same.
func equal(path string, a, b *Element) bool {
	return distance(path, a, b) == 0 && distance(path, b, a) == 0
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
