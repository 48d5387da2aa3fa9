package domxml

import (
	"slices"
	"strings"
)

// Element is an XML element. Comments and processing instructions are not kept.
type Element struct {
	// Name is as written, with its namespace prefix if it has one; xmlns attributes are kept among Attrs.
	Name     string
	Attrs    []Attr
	Children []*Element
	// Text is the character data, white space around it cut off.
	Text string
	// Line and Column say where the element began in what was parsed; 0 for one that was made.
	Line, Column int
}

// Attr is an attribute; Name is as written.
type Attr struct{ Name, Value string }

// New returns an element with the attributes given as name, value, name, value …
func New(name string, attrs ...string) *Element {
	e := &Element{Name: name}
	for i := 0; i+1 < len(attrs); i += 2 {
		e.Attrs = append(e.Attrs, Attr{attrs[i], attrs[i+1]})
	}
	return e
}

// Attr returns the value of an attribute, empty when there is none.
func (e *Element) Attr(name string) string {
	v, _ := e.lookup(name)
	return v
}

func (e *Element) lookup(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// SetAttr sets an attribute, in place when it is there.
func (e *Element) SetAttr(name, value string) {
	for i := range e.Attrs {
		if e.Attrs[i].Name == name {
			e.Attrs[i].Value = value
			return
		}
	}
	e.Attrs = append(e.Attrs, Attr{name, value})
}

// RemoveAttr removes an attribute.
func (e *Element) RemoveAttr(name string) {
	e.Attrs = slices.DeleteFunc(e.Attrs, func(a Attr) bool { return a.Name == name })
}

func (e *Element) text() string {
	if e == nil {
		return ""
	}
	return e.Text
}

// Child returns the element at a path of names ("devices/disk"), the first of each; nil when there is none. It may be
// called on nil.
func (e *Element) Child(path string) *Element {
	for name := range strings.SplitSeq(path, "/") {
		if e == nil {
			return nil
		}
		i := slices.IndexFunc(e.Children, func(c *Element) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		e = e.Children[i]
	}
	return e
}

// All are the children of a name, in their order; none where there is no element.
func (e *Element) All(name string) []*Element {
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

// Ensure returns the child of that name, appending it when there is none.
func (e *Element) Ensure(name string) *Element {
	if c := e.Child(name); c != nil {
		return c
	}
	return e.Append(New(name))
}

// Append appends a child and returns it.
func (e *Element) Append(c *Element) *Element {
	e.Children = append(e.Children, c)
	return c
}

// Remove removes a child.
func (e *Element) Remove(c *Element) {
	e.Children = slices.DeleteFunc(e.Children, func(x *Element) bool { return x == c })
}

// insert puts a child behind the last one of its name, or at the end: libvirt's own order is by kind.
func (e *Element) insert(c *Element) *Element {
	for i := len(e.Children) - 1; i >= 0; i-- {
		if e.Children[i].Name == c.Name {
			e.Children = slices.Insert(e.Children, i+1, c)
			return c
		}
	}
	return e.Append(c)
}

// insertBefore puts a child before another one; as insert does when that is nil.
func (e *Element) insertBefore(c, other *Element) *Element {
	if i := slices.Index(e.Children, other); i >= 0 {
		e.Children = slices.Insert(e.Children, i, c)
		return c
	}
	return e.insert(c)
}

// Clone returns a deep copy.
func (e *Element) Clone() *Element {
	if e == nil {
		return nil
	}
	// The copies lie in three pieces of memory: a domain has hundreds of elements.
	elements, attrs := e.size()
	c := copier{make([]Element, 0, elements), make([]*Element, 0, elements), make([]Attr, 0, attrs)}
	return c.copy(e)
}

// size is how many elements and attributes there are in an element, itself among them.
func (e *Element) size() (elements, attrs int) {
	elements, attrs = 1, len(e.Attrs)
	for _, c := range e.Children {
		n, m := c.size()
		elements, attrs = elements+n, attrs+m
	}
	return elements, attrs
}

type copier struct {
	elements []Element
	children []*Element
	attrs    []Attr
}

func (c *copier) copy(e *Element) *Element {
	c.elements = append(c.elements, *e)
	d := &c.elements[len(c.elements)-1]
	from := len(c.attrs)
	c.attrs = append(c.attrs, e.Attrs...)
	d.Attrs = slices.Clip(c.attrs[from:])
	from = len(c.children)
	c.children = c.children[:from+len(e.Children)]
	d.Children = c.children[from:len(c.children):len(c.children)]
	for i, child := range e.Children {
		d.Children[i] = c.copy(child)
	}
	return d
}

// identical says whether two elements say the same in the same words and order.
func (e *Element) identical(o *Element) bool {
	return e.Name == o.Name && e.Text == o.Text && slices.Equal(e.Attrs, o.Attrs) && slices.EqualFunc(e.Children, o.Children, (*Element).identical)
}

// UserAlias is the name that the element carries as libvirt user alias (ua-<name>), empty when it has none.
func (e *Element) UserAlias() string {
	if name, ok := strings.CutPrefix(e.Child("alias").Attr("name"), "ua-"); ok {
		return name
	}
	return ""
}
