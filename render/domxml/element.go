package domxml

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
