package domxml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth bounds the nesting: libvirt's deepest is 12 or so.
const maxDepth = 64

// SyntaxError is XML that cannot be read, and where.
type SyntaxError struct {
	Line, Column int
	Err          error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads one element. Namespace prefixes stay as they are written. Entities other than XML's five are refused,
// and so is a document type.
func Parse(text string) (*Element, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var root *Element
	var stack []*Element
	var chars [][]byte
	fail := func(err error) (*Element, error) {
		line, column := d.InputPos()
		var s *xml.SyntaxError
		if errors.As(err, &s) {
			err = errors.New(s.Msg)
		}
		return nil, &SyntaxError{line, column, err}
	}
	for {
		line, column := d.InputPos()
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fail(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if root != nil && len(stack) == 0 {
				return fail(errors.New("there is more than one root element"))
			}
			if len(stack) == maxDepth {
				return fail(fmt.Errorf("elements are nested deeper than %d", maxDepth))
			}
			e := &Element{Name: qualified(t.Name), Line: line, Column: column}
			for _, a := range t.Attr {
				name := qualified(a.Name)
				if _, twice := e.lookup(name); twice {
					return fail(fmt.Errorf("attribute %s stands twice in <%s>", name, e.Name))
				}
				e.Attrs = append(e.Attrs, Attr{name, a.Value})
			}
			if len(stack) > 0 {
				stack[len(stack)-1].Append(e)
			} else {
				root = e
			}
			stack = append(stack, e)
			chars = append(chars, nil)
		case xml.EndElement:
			if len(stack) == 0 || stack[len(stack)-1].Name != qualified(t.Name) {
				return fail(fmt.Errorf("</%s> closes nothing", qualified(t.Name)))
			}
			top := len(stack) - 1
			stack[top].Text = strings.TrimSpace(string(chars[top]))
			stack, chars = stack[:top], chars[:top]
		case xml.CharData:
			if len(stack) > 0 {
				chars[len(stack)-1] = append(chars[len(stack)-1], t...)
			} else if strings.TrimSpace(string(t)) != "" {
				return fail(errors.New("there is text outside of the root element"))
			}
		case xml.Directive:
			return fail(errors.New("a document type is not allowed"))
		}
	}
	if len(stack) > 0 {
		return fail(fmt.Errorf("<%s> is not closed", stack[len(stack)-1].Name))
	}
	if root == nil {
		return fail(errors.New("there is no element"))
	}
	return root, nil
}

func qualified(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// String is the element as XML, indented by two spaces, in the order that it has.
func (e *Element) String() string {
	var b strings.Builder
	e.write(&b, "")
	return b.String()
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&apos;", "\n", "&#xA;", "\t", "&#x9;", "\r", "&#xD;")
)

func (e *Element) write(b *strings.Builder, indent string) {
	b.WriteString(indent)
	b.WriteByte('<')
	b.WriteString(e.Name)
	for _, a := range e.Attrs {
		b.WriteByte(' ')
		b.WriteString(a.Name)
		b.WriteString("='")
		attrEscaper.WriteString(b, a.Value)
		b.WriteByte('\'')
	}
	if len(e.Children) == 0 && e.Text == "" {
		b.WriteString("/>\n")
		return
	}
	b.WriteByte('>')
	textEscaper.WriteString(b, e.Text)
	if len(e.Children) > 0 {
		b.WriteByte('\n')
		for _, c := range e.Children {
			c.write(b, indent+"  ")
		}
		b.WriteString(indent)
	}
	b.WriteString("</")
	b.WriteString(e.Name)
	b.WriteString(">\n")
}
