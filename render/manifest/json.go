package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// looksLikeJSON says whether data is a stream of JSON values that begins with an object or a list.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	if len(data) == 0 || data[0] != '{' && data[0] != '[' || !utf8.Valid(data) {
		return false
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// jsonFault is why data is not JSON, with its place; "" when it is.
func jsonFault(data []byte) (fault string, line, column int) {
	body := bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return "cannot be parsed as JSON: it is not UTF-8", 1, 1
	}
	for dec := json.NewDecoder(bytes.NewReader(body)); ; {
		var v json.RawMessage
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return "", 0, 0
		}
		if err == nil {
			continue
		}
		offset := dec.InputOffset()
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = s.Offset - 1 // of the byte after which it was found
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			offset = int64(len(body))
		}
		p := place{data: body}
		line, column = p.at(int(offset))
		return fmt.Sprintf("cannot be parsed as JSON: %v", err), line, column
	}
}

// jsonDocuments yields the values of a JSON stream as the node trees that YAML would give, so that one walk reads both.
// YAML's own parser is not enough: it does not take JSON's surrogate pairs.
func jsonDocuments(data []byte) iter.Seq[raw] {
	return func(yield func(raw) bool) {
		data := bytes.TrimPrefix(data, []byte("\ufeff"))
		r := jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), place: place{data: data}}
		r.dec.UseNumber()
		for {
			r.size = r.dec.InputOffset()
			root, err := r.value(0)
			if errors.Is(err, io.EOF) {
				return
			}
			doc := raw{root: root}
			if err != nil {
				doc.line, doc.column = r.place.at(int(r.dec.InputOffset()))
				doc.fault = fmt.Sprintf("cannot be parsed as JSON: %v", err)
			} else if doc.line = root.Line; isEmpty(root) {
				continue
			}
			if !yield(doc) || err != nil {
				return
			}
		}
	}
}

// place turns offsets that grow into lines and columns; a column is a character, not a byte.
type place struct {
	data             []byte
	offset           int
	newlines, before int // newlines before offset, and characters before it in its line
}

func (p *place) at(offset int) (line, column int) {
	for ; p.offset < min(offset, len(p.data)); p.offset++ {
		switch c := p.data[p.offset]; {
		case c == '\n':
			p.newlines++
			p.before = 0
		case utf8.RuneStart(c):
			p.before++
		}
	}
	return p.newlines + 1, p.before + 1
}

type jsonReader struct {
	dec   *json.Decoder
	place place
	size  int64 // where the document began
}

// value reads the next value. Depth is bounded here because what walks the tree recurses as deep as it is.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	// The token begins after what may stand between it and the one before.
	start := int(r.dec.InputOffset())
	for start < len(r.place.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.place.data[start]) >= 0 {
		start++
	}
	n.Line, n.Column = r.place.at(start)
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if int64(start)-r.size > maxDocument {
		return nil, fmt.Errorf("the document has more than %d bytes; divide it", maxDocument)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() {
			child, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.dec.Token() // the closing bracket
		return n, err
	case string:
		n.Tag, n.Value, n.Style = "!!str", t, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
		if bytes.ContainsAny([]byte(n.Value), ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}
