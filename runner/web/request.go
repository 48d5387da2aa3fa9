package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/runner/download"
)

// maxRedirects is how many redirects are followed one after another.
const maxRedirects = 5

// errAnew says that the server has no use for what was received before.
var errAnew = errors.New("the server does not go on where it was cut off")

// receive has what is at the URL, on top of what was received before.
func (s Source) receive(ctx context.Context, j *download.Job, p *part, want string) error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return unusable("%q is no URL: %w", s.URL, err)
	}
	if u.Scheme == "file" {
		return s.copyFile(ctx, j, p, u.Path)
	}
	if p.have > 0 && p.have == p.of.Total {
		j.Expect(p.of.Total, p.have)
		return nil
	}
	err = s.ask(ctx, j, p, want)
	if errors.Is(err, errAnew) {
		if err := p.clear(); err != nil {
			return err
		}
		err = s.ask(ctx, j, p, want)
	}
	return err
}

func (s Source) copyFile(ctx context.Context, j *download.Job, p *part, name string) error {
	f, size, err := openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.clear(); err != nil {
		return err
	}
	j.Expect(size, 0)
	p.have, err = j.Copy(ctx, p.file, 0, told{f, j.Received}, size)
	return err
}

// ask asks the server for what is not there.
func (s Source) ask(ctx context.Context, j *download.Job, p *part, want string) error {
	r, err := s.request(ctx, s.URL)
	if err != nil {
		return err
	}
	if p.have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.have))
		r.Header.Set("If-Range", p.of.validator())
	}
	answer, err := s.client(j).Do(r)
	if err != nil {
		return plain(err)
	}
	defer answer.Body.Close()
	is := of{URL: s.URL, ETag: answer.Header.Get("ETag"), LastModified: answer.Header.Get("Last-Modified"), Total: answer.ContentLength}
	switch {
	case answer.StatusCode == http.StatusOK:
	case p.have > 0 && answer.StatusCode == http.StatusPartialContent:
		from, total, ok := contentRange(answer.Header.Get("Content-Range"))
		is.Total = total
		if !ok || from != p.have || is.validator() != "" && is.validator() != p.of.validator() || p.of.Total >= 0 && total != p.of.Total {
			return errAnew
		}
	case p.have > 0 && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return errAnew
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the server answers %s: say secretRef in the image, with a user and a password, if it wants them", answer.Status)
	default:
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	key := ""
	if v := is.validator(); v != "" {
		key = fmt.Sprintf("%s %s %d", want, v, is.Total)
	}
	if err := j.Judged(key); err != nil {
		return err
	}
	if is.Total > j.Limit() {
		return unusable("the file has %d bytes, and %d may be fetched", is.Total, j.Limit())
	}
	if answer.StatusCode == http.StatusOK {
		if err := p.begin(is); err != nil {
			return err
		}
	}
	j.Expect(max(is.Total, 0), p.have)
	left := is.Total - p.have
	if is.Total < 0 {
		left = -1
	}
	p.have, err = j.Copy(ctx, p.file, p.have, answer.Body, left)
	return plain(err)
}

// contentRange reads a Content-Range, bytes FROM-TO/TOTAL (RFC 9110, 14.4); a total that is not said is -1.
func contentRange(text string) (from, total int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, all, ok2 := strings.Cut(text, "/")
	first, last, ok3 := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || !ok2 || !ok3 || err != nil || err2 != nil || from < 0 || to < from {
		return 0, 0, false
	}
	if all == "*" {
		return from, -1, true
	}
	total, err = strconv.ParseInt(all, 10, 64)
	return from, total, err == nil && total == to+1
}

// checksums is the text of the file that has them.
func (s Source) checksums(ctx context.Context, j *download.Job) (string, error) {
	u, err := url.Parse(s.Checksums)
	if err != nil {
		return "", unusable("%q is no URL: %w", s.Checksums, err)
	}
	read := func(from io.Reader) (string, error) {
		text, err := io.ReadAll(io.LimitReader(from, maxSums+1))
		if err == nil && len(text) > maxSums {
			err = unusable("they have more than %d bytes", maxSums)
		}
		if err != nil {
			return "", fmt.Errorf("cannot read the checksums %s: %w", s.Checksums, plain(err))
		}
		return string(text), nil
	}
	if u.Scheme == "file" {
		f, _, err := openFile(u.Path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return read(f)
	}
	r, err := s.request(ctx, s.Checksums)
	if err != nil {
		return "", err
	}
	answer, err := s.client(j).Do(r)
	if err != nil {
		return "", fmt.Errorf("cannot read the checksums %s: %w", s.Checksums, plain(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("cannot read the checksums %s: the server answers %s", s.Checksums, answer.Status)
	}
	return read(answer.Body)
}

// request asks for a file as it is, without a compression on the way. The login is for the server of the image only, and
// for no one to overhear.
func (s Source) request(ctx context.Context, at string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, unusable("%q is no URL: %w", at, err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "gitvirt")
	own, err := url.Parse(s.URL)
	if s.Login != nil && err == nil && r.URL.Host == own.Host {
		if r.URL.Scheme != "https" && r.URL.Hostname() != "localhost" && !strings.HasPrefix(r.URL.Hostname(), "127.") {
			return nil, unusable("%s would be told a password without TLS: say https", r.URL.Host)
		}
		r.SetBasicAuth(s.Login.User, s.Login.Password)
	}
	return r, nil
}

// client follows redirects as the job's transport lets it.
func (s Source) client(j *download.Job) *http.Client {
	return &http.Client{Transport: j.Transport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("there are more than %d redirects", maxRedirects)
		}
		if r.URL.Host != via[0].URL.Host {
			r.Header.Del("Authorization")
		}
		return nil
	}}
}

// plain takes the URL out of a client's error: that of a redirect may have somebody's key in it.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// told tells of how many bytes are read.
type told struct {
	io.Reader
	tell func(int64)
}

// Read is io.Reader's.
func (t told) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	t.tell(int64(n))
	return n, err
}
