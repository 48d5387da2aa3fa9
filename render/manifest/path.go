package manifest

import (
	"strconv"
	"strings"
	"unicode"
)

// step is one step of a field's path: a key of a mapping, or an index of a list.
type step struct {
	key   string
	index int // of a list when key is empty
}

// fieldPath is where a walk is in a document.
type fieldPath []step

// String is the path as people write it: spec.networks[0].name, metadata.labels[app.kubernetes.io/name].
func (p fieldPath) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.key == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case isWord(s.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(printable(s.key))
		default:
			b.WriteString("[" + printable(s.key) + "]")
		}
	}
	return b.String()
}

// parsePath splits what String joins. What is in brackets is returned as a key; a list takes it for an index.
func parsePath(field string) []string {
	var steps []string
	for field != "" {
		switch field[0] {
		case '.':
			field = field[1:]
		case '[':
			end := closingBracket(field)
			steps = append(steps, field[1:end])
			field = field[min(end+1, len(field)):]
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			steps = append(steps, field[:end])
			field = field[end:]
		}
	}
	return steps
}

// closingBracket finds the bracket that ends a step; a bracket inside a key is followed by more of the key.
func closingBracket(field string) int {
	for i := 1; i < len(field); i++ {
		if field[i] == ']' && (i+1 == len(field) || field[i+1] == '.' || field[i+1] == '[') {
			return i
		}
	}
	return len(field)
}

// joinField appends a path to another.
func joinField(a, b string) string {
	if a == "" || b == "" || b[0] == '[' {
		return a + b
	}
	return a + "." + b
}

func isWord(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// printable is a text of the user's, fit for one line of a message: short, and with nothing that would move the cursor.
func printable(s string) string {
	const most = 80
	if r := []rune(s[:min(len(s), 4*most)]); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	}
	return s
}

// quoted is printable, in quotation marks.
func quoted(s string) string { return `"` + printable(s) + `"` }
