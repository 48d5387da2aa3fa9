package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// maxAdvertised bounds a list of references, in bytes: a million of them take about 64 MB.
const maxAdvertised = 128 << 20

// listReader bounds what a server says before it sends a pack.
type listReader struct {
	from io.Reader
	left int64
}

func newList(from io.Reader) *listReader {
	return &listReader{bufio.NewReader(from), maxAdvertised} // lines are read in two pieces each
}

func (l *listReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the server lists more than %d MiB of references: delete those that nobody needs", maxAdvertised>>20)
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// maxSpoken is how much of what a server says for people is repeated, in characters.
const maxSpoken = 500

// spoken is what a server says for people, made fit for a log, a terminal and a page: it may be anything.
func spoken(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxSpoken {
		return string(runes[:maxSpoken]) + "…"
	}
	return text
}

// tidied is an error that may repeat what a server said.
func tidied(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	text := err.Error()
	if clean := spoken(text); clean != text {
		return errors.New(clean)
	}
	return err
}

// packReader is a pack that comes among other things, such as why it does not.
type packReader struct{ from io.Reader }

func (p packReader) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	return n, tidied(err)
}
