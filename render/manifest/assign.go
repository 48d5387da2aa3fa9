package manifest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Assignment is a field of a document, by its path below the document's root (spec.state), and the value that it is to have: a
// word or a number.
type Assignment struct{ Field, Value string }

// Assign writes fields of one document of a file, of the index that Origin counts, and leaves every other byte as it is:
// comments, order, quotes, and how lines end. A field that is there gets its new value in its place; another is added to the
// mapping that it belongs to, which has to be there. What is written so that a value cannot be told from its surroundings (an
// alias, a tag, a text of several lines) is an error, which says what to write by hand.
func Assign(data []byte, index int, assignments ...Assignment) ([]byte, error) {
	for _, a := range assignments {
		e := editor{data: data, root: nth(data, index)}
		if e.root == nil {
			return nil, fmt.Errorf("there is no document %d that can be read", index)
		}
		next, err := e.assign(a)
		if err != nil {
			return nil, fmt.Errorf("line %d: cannot set %s to %s: %w; do it by hand", e.line, a.Field, a.Value, err)
		}
		if !assigned(data, next, index, a) {
			return nil, fmt.Errorf("line %d: cannot set %s to %s without changing something else; do it by hand", e.line, a.Field, a.Value)
		}
		data = next
	}
	return data, nil
}

// nth is the root of a document; nil when there is none.
func nth(data []byte, index int) *yaml.Node {
	for doc := range documents(data) {
		if index == 0 {
			return doc.root
		}
		index--
	}
	return nil
}

// editor changes one field.
type editor struct {
	data []byte
	root *yaml.Node
	line int // that it speaks of
}

func (e *editor) assign(a Assignment) ([]byte, error) {
	steps := parsePath(a.Field)
	n := e.root
	e.line = n.Line
	for depth, step := range steps {
		if n.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s is no mapping that is written here", strings.Join(steps[:depth], "."))
		}
		key, value := own(n, step)
		switch last := depth == len(steps)-1; {
		case value == nil && last:
			return e.add(n, step, a.Value)
		case value == nil:
			return nil, fmt.Errorf("there is no %s", strings.Join(steps[:depth+1], "."))
		case last:
			e.line = value.Line
			return e.replace(key, value, a.Value)
		}
		n, e.line = value, value.Line
	}
	return nil, fmt.Errorf("%q names no field", a.Field)
}

// own finds a key that a mapping has itself, not by a merge.
func own(n *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// replace puts a value in the place of a scalar, in its quotes.
func (e *editor) replace(key, old *yaml.Node, value string) ([]byte, error) {
	from, to, err := e.extent(old)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("%s has no value", key.Value)
	}
	if q := e.data[from]; q == '"' || q == '\'' {
		value = string(q) + value + string(q)
	}
	return splice(e.data, from, to, value), nil
}

// extent is where a scalar of one line stands.
func (e *editor) extent(n *yaml.Node) (from, to int, err error) {
	from = e.offset(n.Line, n.Column)
	rest := e.data[from:]
	if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	bad := fmt.Errorf("its value is not written on a line of its own, as a word")
	switch {
	case n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, 0, bad
	case len(rest) > 0 && (rest[0] == '"' || rest[0] == '\''):
		end := closingQuote(rest)
		if end < 0 {
			return 0, 0, bad
		}
		return from, from + end, nil
	case !bytes.HasPrefix(rest, []byte(n.Value)):
		return 0, 0, bad
	}
	return from, from + len(n.Value), nil
}

// closingQuote is where a quoted text at the beginning of a line ends; -1 when it goes on in the next line.
func closingQuote(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return -1
}

// add adds a field to a mapping: after its last one where that ends on its own line, and else before its first.
func (e *editor) add(n *yaml.Node, key, value string) ([]byte, error) {
	if e.isFlow(n) {
		return e.addFlow(n, key, value)
	}
	first, last := n.Content[0], n.Content[len(n.Content)-1] // an empty mapping is written as a flow
	start := e.offset(first.Line, 1)
	indent := e.data[start:e.offset(first.Line, first.Column)]
	if len(bytes.Trim(indent, " ")) > 0 {
		return nil, fmt.Errorf("%s does not begin its line", first.Value)
	}
	newline := "\n"
	if bytes.Contains(e.data, []byte("\r\n")) {
		newline = "\r\n"
	}
	line := string(indent) + key + ": " + value
	if _, to, err := e.extent(last); err == nil && last.Value != "" {
		if end := bytes.IndexByte(e.data[to:], '\n'); end >= 0 {
			return splice(e.data, to+end+1, to+end+1, line+newline), nil
		}
		return splice(e.data, len(e.data), len(e.data), newline+line), nil
	}
	return splice(e.data, start, start, line+newline), nil
}

// isFlow says whether a mapping is written with braces, as all of JSON is.
func (e *editor) isFlow(n *yaml.Node) bool {
	at := e.offset(n.Line, n.Column)
	return at < len(e.data) && e.data[at] == '{'
}

func (e *editor) addFlow(n *yaml.Node, key, value string) ([]byte, error) {
	if looksLikeJSON(e.data) {
		key = `"` + key + `"`
		if strings.Trim(value, "0123456789") != "" && value != "true" && value != "false" {
			value = `"` + value + `"`
		}
	}
	field := key + ": " + value
	if len(n.Content) > 0 {
		if _, to, err := e.extent(n.Content[len(n.Content)-1]); err == nil {
			return splice(e.data, to, to, ", "+field), nil
		}
		field += ", "
	}
	after := e.offset(n.Line, n.Column) + 1
	return splice(e.data, after, after, field), nil
}

// offset is where a character stands, by its line and its column in it.
func (e *editor) offset(line, column int) int {
	at := lineOffset(e.data, line)
	if line == 1 && bytes.HasPrefix(e.data, []byte("\ufeff")) {
		at += len("\ufeff")
	}
	for range column - 1 {
		if at >= len(e.data) {
			break
		}
		at++
		for at < len(e.data) && e.data[at]&0xc0 == 0x80 {
			at++
		}
	}
	return min(at, len(e.data))
}

func splice(data []byte, from, to int, text string) []byte {
	return append(append(append(make([]byte, 0, len(data)+len(text)), data[:from]...), text...), data[to:]...)
}

// assigned says whether a field, and nothing else of what a file says, has become what it should.
func assigned(before, after []byte, index int, a Assignment) bool {
	old, ok := spoken(before)
	now, ok2 := spoken(after)
	if !ok || !ok2 || len(old) != len(now) || index >= len(now) {
		return false
	}
	steps := parsePath(a.Field)
	taken(old[index], steps)
	is := taken(now[index], steps)
	return fmt.Sprint(is) == a.Value && reflect.DeepEqual(old, now)
}

// spoken is what the documents of a file say.
func spoken(data []byte) ([]any, bool) {
	var all []any
	for doc := range documents(data) {
		var v any
		if doc.root == nil || doc.root.Decode(&v) != nil {
			return nil, false
		}
		all = append(all, v)
	}
	return all, true
}

// taken takes a field out of a document, and returns what it said.
func taken(document any, steps []string) any {
	m, ok := document.(map[string]any)
	if !ok || len(steps) == 0 {
		return nil
	}
	if len(steps) > 1 {
		return taken(m[steps[0]], steps[1:])
	}
	value := m[steps[0]]
	delete(m, steps[0])
	return value
}
