package webhook

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
)

const (
	// MaxBody is the longest body that is read: 25 MiB, GitHub's own limit ("Webhook events and payloads"), which is the
	// highest of those that hosts name.
	MaxBody = 25 << 20
	// kept is how much of a body is in memory. The rest is only hashed.
	kept = 256 << 10
)

var (
	// ErrTooLong says that a body is longer than MaxBody.
	ErrTooLong = errors.New("the body is too long")
	// ErrType says that a body is of a type that is not read.
	ErrType = errors.New("the body is of another type")
	// ErrMalformed says that a sender who knows a secret sent what cannot be understood.
	ErrMalformed = errors.New("the body cannot be understood")
)

// Read reads one delivery. What it returns is said by one who knows a secret, or the error is ErrRefused, ErrTooLong, ErrType,
// ErrMalformed or the body's own. The provider is said even then, as far as the header tells it.
//
// Of a longer body than 256 KiB only the event is known: such a push may be of any ref. Where a delivery says which repository
// it is about, that is not compared: one repository has many URLs, and a fetch that finds nothing new costs one request.
func Read(h Header, body io.Reader, s Secrets) (Push, error) {
	p := Push{Provider: ProviderOf(h)}
	c, err := s.check(h)
	if err != nil {
		return p, err
	}
	head, whole, err := take(body, c)
	switch {
	case errors.Is(err, ErrTooLong):
		return p, err
	case err != nil:
		return p, fmt.Errorf("cannot read the body: %w", err)
	case !c.ok():
		return p, ErrRefused
	}
	if len(head) > 0 {
		if head, err = unwrap(h.Get("Content-Type"), head); err != nil {
			return p, err
		}
	}
	return p, p.parse(h, head, whole)
}

// take reads a body, and returns its beginning, and whether that is all of it.
func take(body io.Reader, c *check) (head []byte, whole bool, err error) {
	both := io.TeeReader(io.LimitReader(body, MaxBody+1), c)
	if head, err = io.ReadAll(io.LimitReader(both, kept)); err != nil {
		return nil, false, err
	}
	rest, err := io.Copy(io.Discard, both)
	if err == nil && int64(len(head))+rest > MaxBody {
		err = fmt.Errorf("%w: %d MiB is the limit", ErrTooLong, MaxBody>>20)
	}
	return head, rest == 0, err
}

// unwrap returns the JSON of a body, which may be a form's field (GitHub, Gitea).
func unwrap(contentType string, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && kind == "application/json":
		return body, nil
	case err == nil && kind == "application/x-www-form-urlencoded":
		for field := range strings.SplitSeq(string(body), "&") {
			value, ok := strings.CutPrefix(field, "payload=")
			if !ok {
				continue
			}
			text, err := url.QueryUnescape(value)
			if err != nil && len(body) == kept {
				text = "" // it was cut in the middle of an escape
			} else if err != nil {
				return nil, fmt.Errorf("%w: the form's payload is not escaped as a form's", ErrMalformed)
			}
			return []byte(text), nil
		}
		return nil, fmt.Errorf("%w: the form has no field payload; if the body is JSON, say Content-Type: application/json", ErrMalformed)
	}
	return nil, fmt.Errorf("%w: say Content-Type: application/json", ErrType)
}
