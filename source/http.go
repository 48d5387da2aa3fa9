package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// pollTimeout bounds the time until the branch's head is known.
const pollTimeout = 30 * time.Second

// httpRemote speaks the smart HTTP protocol, gitprotocol-http(5): one ls-refs request a poll, once the server was
// found to speak version 2.
type httpRemote struct {
	*httpClient
	ref  *followed
	poll time.Duration

	base string // where the server told us to go; at, unless it redirected
	v2   bool
}

func newHTTPRemote(at location, ref *followed, auth Auth) (*httpRemote, error) {
	client, err := newHTTPClient(at, auth)
	return &httpRemote{httpClient: client, ref: ref, poll: pollTimeout}, err
}

func (r *httpRemote) fetch(ctx context.Context, skip func(plumbing.Hash) bool, into *store, heads []plumbing.Hash) (plumbing.Hash, error) {
	head, caps, err := r.head(ctx)
	if err != nil || skip(head) {
		return head, err
	}
	common := haves(into.objects, heads...)
	body := fetchRequest(head, common)
	if !r.v2 {
		if body, err = uploadRequest(caps, head, common); err != nil {
			return head, err
		}
	}
	answer, err := r.post(ctx, body)
	if err != nil {
		return head, err
	}
	defer answer.Close()
	read := readUpload
	if r.v2 {
		read = readFetch
	}
	pack, err := read(answer)
	if err != nil {
		return head, err
	}
	return head, into.receive(ctx, pack)
}

// head asks for the branch's head, and for the server's capabilities when they are not known or it speaks version 0.
func (r *httpRemote) head(ctx context.Context) (head plumbing.Hash, caps *capability.List, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.poll, fmt.Errorf("no answer within %v", r.poll))
	defer cancel()
	defer func() {
		if err != nil && !errors.Is(err, ErrBranchGone) && !errors.Is(err, ErrNoTag) {
			r.v2 = false // ask anew what the server is
		}
		err = cause(ctx, err)
	}()
	if !r.v2 {
		if head, caps, err = r.discover(ctx); err != nil || !r.v2 {
			return head, caps, err
		}
	}
	answer, err := r.post(ctx, lsRefsRequest(r.ref))
	if err != nil {
		return head, nil, err
	}
	defer answer.Close()
	head, err = readLsRefs(newList(answer), r.ref)
	drain(answer)
	return head, nil, err
}

// drain reads to the end of an answer that has been understood: only then the connection serves for the next request.
func drain(r io.Reader) { io.CopyN(io.Discard, r, 4096) }

// discover finds out which protocol the server speaks. A server of version 0 answers with its references.
func (r *httpRemote) discover(ctx context.Context) (plumbing.Hash, *capability.List, error) {
	const service = "/info/refs?service=git-upload-pack"
	r.base = strings.TrimSuffix(r.at.String(), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+service, nil)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	req.Header.Set("Git-Protocol", "version=2")
	res, err := r.do(req)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	defer res.Body.Close()
	if at := res.Request.URL; strings.HasSuffix(at.String(), service) {
		r.base = strings.TrimSuffix(at.String(), service)
	}
	if t := res.Header.Get("Content-Type"); t != "application/x-git-upload-pack-advertisement" {
		return plumbing.ZeroHash, nil, fmt.Errorf("%s is no git repository over smart HTTP: it answers with %.80q", r.at, t)
	}
	version, rest, err := readGreeting(newList(res.Body))
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	defer drain(rest)
	if version != 2 {
		return readAdvertised(rest, r.ref)
	}
	if err := readCapabilities(rest); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	r.v2 = true
	return plumbing.ZeroHash, nil, nil
}

func (r *httpRemote) post(ctx context.Context, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/git-upload-pack", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	if r.v2 {
		req.Header.Set("Git-Protocol", "version=2")
	}
	res, err := r.do(req)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}
