package verify

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrUnsigned means that an object carries no signature.
var ErrUnsigned = errors.New("it is not signed")

// Signed is what a signature was made over, and the signature.
type Signed struct {
	// Payload is the object without its signature, byte for byte.
	Payload []byte
	// Signature is armoured: one block and nothing else.
	Signature []byte
	// Time is the committer's or tagger's. The object says it, so the signature covers it.
	Time time.Time
}

// Commit is a commit cut apart.
type Commit struct {
	Signed
	// Tree and Parents are object names in hexadecimal.
	Tree    string
	Parents []string
}

// Tag is an annotated tag cut apart.
type Tag struct {
	Signed
	// Object is the name of the tagged object in hexadecimal, Type what it is: commit, say, or tag.
	Object, Type string
	// Name is the tag's name as it was signed, without refs/tags/.
	Name string
}

// header is one header of an object. Its raw bytes are its line and those that continue it, which begin with a space.
type header struct {
	key, value string // the value of the first line
	raw        []byte
}

// SplitCommit cuts a raw commit object apart. A signed commit has its signature in the header gpgsig, and git signs all
// the rest, without the header gpgsig-sha256, which is for the same commit in a repository with longer names. The error
// is ErrUnsigned, beside a commit whose other fields are set, when there is no signature, and another one when the
// object is not of the one form that git writes: tree, parents, author and committer in this order, then other headers
// of which none may pose as one of these, an empty line, and the message.
func SplitCommit(raw []byte) (Commit, error) {
	var c Commit
	headers, body, err := split(raw)
	if err != nil {
		return c, fmt.Errorf("cannot parse the commit: %w", err)
	}
	fail := func(format string, args ...any) (Commit, error) {
		return Commit{}, fmt.Errorf("cannot parse the commit: "+format, args...)
	}
	next := fixed{headers}
	if c.Tree, err = next.object("tree"); err != nil {
		return fail("%w", err)
	}
	for len(next.left) > 0 && next.left[0].key == "parent" {
		parent, err := next.object("parent")
		if err != nil {
			return fail("%w", err)
		}
		c.Parents = append(c.Parents, parent)
	}
	if _, err = next.stamp("author"); err != nil {
		return fail("%w", err)
	}
	if c.Time, err = next.stamp("committer"); err != nil {
		return fail("%w", err)
	}
	payload := make([]byte, 0, len(raw))
	payload = append(payload, raw[:next.length(headers)]...)
	seen := map[string]bool{}
	for _, h := range next.left {
		switch {
		case h.key == "tree" || h.key == "parent" || h.key == "author" || h.key == "committer":
			return fail("the header %s comes where none may be", h.key)
		case h.key != "gpgsig" && h.key != "gpgsig-sha256":
			if strings.HasPrefix(h.key, "gpgsig") {
				return fail("the header %.40q is not known, and git signs no header of such a name", h.key)
			}
			payload = append(payload, h.raw...)
			continue
		case seen[h.key]:
			return fail("it has several headers %s", h.key)
		}
		seen[h.key] = true
		if h.key == "gpgsig" {
			c.Signature = unfold(h)
		}
	}
	c.Payload = append(payload, body...)
	if c.Signature == nil {
		return c, ErrUnsigned
	}
	return c, nil
}

// signatureBegins are the lines that git takes for the beginning of a signature.
var signatureBegins = regexp.MustCompile(`(?m)^-----BEGIN (PGP SIGNATURE|PGP MESSAGE|SIGNED MESSAGE|SSH SIGNATURE)-----`)

// SplitTag cuts a raw tag object apart. A signed tag ends with its signature, and git signs all that comes before; a
// message that quotes a signature is no matter, the last one counts. The error is ErrUnsigned, beside a tag whose other
// fields are set, when there is no signature, and another one when the object is not of the form that git writes:
// object, type, tag and tagger in this order, an empty line, and the message.
func SplitTag(raw []byte) (Tag, error) {
	var t Tag
	headers, body, err := split(raw)
	if err != nil {
		return t, fmt.Errorf("cannot parse the tag: %w", err)
	}
	next := fixed{headers}
	if t.Object, err = next.object("object"); err == nil {
		t.Type, err = next.take("type")
	}
	if err == nil {
		t.Name, err = next.take("tag")
	}
	if err == nil {
		t.Time, err = next.stamp("tagger")
	}
	if err == nil && len(next.left) > 0 {
		err = fmt.Errorf("the header %.40q is not known", next.left[0].key)
	}
	if err != nil {
		return Tag{}, fmt.Errorf("cannot parse the tag: %w", err)
	}
	all := signatureBegins.FindAllIndex(body, -1)
	if len(all) == 0 {
		t.Payload = raw
		return t, ErrUnsigned
	}
	at := len(raw) - len(body) + all[len(all)-1][0]
	t.Payload, t.Signature = raw[:at:at], raw[at:]
	return t, nil
}

// split returns an object's headers, and its empty line and message.
func split(raw []byte) ([]header, []byte, error) {
	var headers []header
	for rest := raw; ; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil, nil, errors.New("it ends within its headers")
		}
		line := rest[:end+1]
		if end == 0 {
			return headers, rest, nil
		}
		if bytes.ContainsAny(line, "\x00\r") {
			return nil, nil, errors.New("a header has a control character")
		}
		if line[0] == ' ' {
			if len(headers) == 0 {
				return nil, nil, errors.New("its first line continues nothing")
			}
			h := &headers[len(headers)-1]
			h.raw = h.raw[:len(h.raw)+len(line)] // the lines follow each other
		} else {
			key, value, ok := strings.Cut(string(line[:end]), " ")
			if !ok || key == "" {
				return nil, nil, fmt.Errorf("%.60q is no header", line[:end])
			}
			headers = append(headers, header{key, value, line})
		}
		rest = rest[end+1:]
	}
}

// unfold is a header's value, its lines without the space that marks them as continued.
func unfold(h header) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(h.raw[len(h.key):]) {
		b.Write(line[1:])
	}
	return b.Bytes()
}

// fixed takes headers that must be there, one after the other.
type fixed struct{ left []header }

func (f *fixed) take(key string) (string, error) {
	if len(f.left) == 0 || f.left[0].key != key {
		return "", fmt.Errorf("the header %s is not where it must be", key)
	}
	h := f.left[0]
	f.left = f.left[1:]
	if len(h.raw) != len(h.key)+len(h.value)+2 {
		return "", fmt.Errorf("the header %s has several lines", key)
	}
	return h.value, nil
}

// length is how many bytes the headers have that were taken.
func (f *fixed) length(all []header) (n int) {
	for _, h := range all[:len(all)-len(f.left)] {
		n += len(h.raw)
	}
	return n
}

var objectName = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (f *fixed) object(key string) (string, error) {
	v, err := f.take(key)
	if err == nil && !objectName.MatchString(v) {
		err = fmt.Errorf("the header %s has no object's name", key)
	}
	return v, err
}

// person is who and when, as git-fsck(1) wants it.
var person = regexp.MustCompile(`^[^<>]*<[^<>]*> (0|[1-9][0-9]{0,11}) [+-][0-9]{4}$`)

func (f *fixed) stamp(key string) (time.Time, error) {
	v, err := f.take(key)
	if err != nil {
		return time.Time{}, err
	}
	m := person.FindStringSubmatch(v)
	if m == nil {
		return time.Time{}, fmt.Errorf("the header %s does not say who and when", key)
	}
	seconds, err := strconv.ParseInt(m[1], 10, 64)
	return time.Unix(seconds, 0), err
}
