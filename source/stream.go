package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// streamRemote is a remote with which all is said over one connection, a new one for each poll: SSH and git's own
// protocol.
type streamRemote struct {
	ref  *followed
	poll time.Duration
	kind streamKind
}

// streamKind is what such transports differ in.
type streamKind interface {
	// address is host:port.
	address() string
	// start runs git-upload-pack at the other end of the connection.
	start(conn net.Conn) (*stream, error)
}

// stream is a git-upload-pack that runs.
type stream struct {
	in      io.Writer
	out     io.Reader
	explain func(error) error // adds what the server wrote for people
	close   func()
}

func (r *streamRemote) close() {}

func (r *streamRemote) fetch(ctx context.Context, skip func(plumbing.Hash) bool, into *store, heads []plumbing.Hash) (head plumbing.Hash, err error) {
	poll, cancel := context.WithTimeoutCause(ctx, r.poll, fmt.Errorf("no answer within %v", r.poll))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(poll, "tcp", r.kind.address())
	if err != nil {
		return head, cause(poll, err)
	}
	defer conn.Close()
	// Closing the connection is the only way to end a call that waits for the server.
	hangUp := func() { conn.Close() }
	defer context.AfterFunc(ctx, hangUp)()
	inTime := context.AfterFunc(poll, hangUp)
	defer inTime()

	s, err := r.kind.start(conn)
	if err != nil {
		return head, cause(poll, err)
	}
	defer s.close()
	s.out = bufio.NewReader(s.out) // as in a list
	head, caps, err := s.head(r.ref)
	if err != nil {
		return head, cause(poll, s.explain(err))
	}
	if !inTime() {
		return head, context.Cause(poll)
	}
	if skip(head) {
		s.in.Write(pktline.FlushPkt) // nothing wanted: the server ends in peace
		return head, nil
	}
	pack, err := s.pack(head, caps, haves(into.objects, heads...))
	if err != nil {
		return head, cause(ctx, s.explain(err))
	}
	return head, cause(ctx, into.receive(ctx, pack))
}

// head asks for the branch's head. The capabilities are nil when the server speaks version 2; any other has sent all of
// its references unasked.
func (s *stream) head(ref *followed) (plumbing.Hash, *capability.List, error) {
	list := &listReader{from: s.out, left: maxAdvertised}
	version, rest, err := readGreeting(list)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	if version != 2 {
		return readAdvertised(rest, ref)
	}
	if err := readCapabilities(rest); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	if _, err := s.in.Write(lsRefsRequest(ref)); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	head, err := readLsRefs(list, ref)
	return head, nil, err
}

// pack asks for a commit with all that it leads to.
func (s *stream) pack(want plumbing.Hash, caps *capability.List, common []plumbing.Hash) (io.Reader, error) {
	read := readFetch
	body := fetchRequest(want, common)
	if caps != nil {
		read = readUpload
		var err error
		if body, err = uploadRequest(caps, want, common); err != nil {
			return nil, err
		}
	}
	if _, err := s.in.Write(body); err != nil {
		return nil, err
	}
	return read(s.out)
}

// atOnce is how much later than the connection's own deadline, which is the same, a context's end may be seen.
const atOnce = 100 * time.Millisecond

// cause returns why the context ended instead of the error that its end brought about.
func cause(ctx context.Context, err error) error {
	if end, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && time.Until(end) < atOnce {
		<-ctx.Done()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
