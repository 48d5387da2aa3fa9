package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxDocument is the largest document that is read, in bytes. The node tree of one takes up to a hundred times as much.
const maxDocument = 1 << 20

// raw is one document of a file, before anything is known about it.
type raw struct {
	root *yaml.Node // nil when it cannot be parsed
	line int        // where it begins
	// fault says why it cannot be parsed.
	fault  string
	column int
}

// documents yields the documents of a file that are not empty. JSON is told by its bytes, so that the same bytes give
// the same documents wherever they are read.
func documents(data []byte) iter.Seq[raw] {
	if looksLikeJSON(data) {
		return jsonDocuments(data)
	}
	return yamlDocuments(data)
}

// yamlDocuments splits a stream at its "---" lines before it is parsed: a line that begins so ends a document wherever
// it stands (YAML 1.2, 9.1.2), and a fault in one document then leaves the others readable.
func yamlDocuments(data []byte) iter.Seq[raw] {
	return func(yield func(raw) bool) {
		line := 1
		for len(data) > 0 {
			end := nextMarker(data)
			chunk := data[:end]
			data = data[end:]
			for _, doc := range parseChunk(chunk, line) {
				if !yield(doc) {
					return
				}
			}
			line += bytes.Count(chunk, []byte("\n"))
		}
	}
}

// nextMarker is the offset of the "---" line that ends the document at the start of data. Comments and directives before
// a document's own marker belong to that document.
func nextMarker(data []byte) int {
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte("\n---"))
		if i < 0 {
			return len(data)
		}
		from += i + 1
		after := data[from+3:]
		if len(after) > 0 && !bytes.ContainsRune([]byte(" \t\r\n"), rune(after[0])) {
			continue
		}
		if !onlyComments(data[:from]) {
			return from
		}
	}
}

// onlyComments says whether there are only comments, directives and blank lines.
func onlyComments(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// parseChunk parses what stands between two markers: one document, unless "..." lines divide it.
func parseChunk(chunk []byte, line int) (docs []raw) {
	if len(chunk) > maxDocument {
		return []raw{{line: line, column: 1, fault: fmt.Sprintf(
			"the document has %d bytes, and %d is the most that is read; divide it", len(chunk), maxDocument)}}
	}
	// The parser is not ours: what it does not expect must not end the agent.
	defer func() {
		if r := recover(); r != nil {
			docs = append(docs, raw{line: line, column: 1, fault: fmt.Sprintf("cannot be parsed as YAML: %v", r)})
		}
	}()
	for dec := yaml.NewDecoder(bytes.NewReader(chunk)); ; {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return docs
		} else if err != nil {
			return append(docs, yamlFault(err, chunk, line))
		}
		if len(doc.Content) == 0 || isEmpty(doc.Content[0]) {
			continue
		}
		root := doc.Content[0]
		if line > 1 {
			shift(root, line-1)
		}
		docs = append(docs, raw{root: root, line: root.Line})
	}
}

// isEmpty says whether a document says nothing.
func isEmpty(root *yaml.Node) bool { return root.Kind == yaml.ScalarNode && root.Tag == "!!null" }

// shift moves a tree down by some lines: a chunk is parsed on its own, and its lines are the file's.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// fromZero are the errors for which the parser counts lines from 0. It counts from 1 in those of its scanner.
	fromZero = regexp.MustCompile(`^did not find expected (<|node content|'|key)|^found (undefined tag|duplicate %|incompatible)`)
)

// yamlFault turns the parser's error into one with a place and, where the cause is a common one, with advice.
func yamlFault(err error, chunk []byte, line int) raw {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	offset := 0
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		at, _ := strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
		if fromZero.MatchString(msg) {
			at++
		}
		offset = lineOffset(chunk, at)
	} else if m := unknownAnchor.FindStringSubmatch(msg); m != nil {
		offset = max(0, bytes.Index(chunk, []byte("*"+m[1])))
		msg = "the anchor &" + m[1] + " is not defined in this document"
	} else if i := firstUnreadable(chunk); i >= 0 {
		offset = i
	}
	msg = printable(msg)
	if strings.Contains(msg, "cannot start any token") && tabIndented(chunk) {
		msg += "; indent with spaces, YAML does not take tabs"
	}
	p := place{data: chunk}
	at, column := p.at(offset)
	return raw{line: line + at - 1, column: column, fault: "cannot be parsed as YAML: " + msg}
}

// lineOffset is where a line begins, counted from 1.
func lineOffset(data []byte, line int) int {
	offset := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(data[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return offset
}

// firstUnreadable is the offset of the first byte that is not UTF-8, or of the first control character; -1 for none.
func firstUnreadable(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\r' && r != '\n' || r == 0x7f {
			return i
		}
		i += size
	}
	return -1
}

func tabIndented(chunk []byte) bool {
	for l := range bytes.Lines(chunk) {
		if indent := l[:len(l)-len(bytes.TrimLeft(l, " \t"))]; bytes.ContainsRune(indent, '\t') {
			return true
		}
	}
	return false
}
