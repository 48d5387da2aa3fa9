package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"
)

// Source follows one branch of one repository. Its methods may be called at the same time; Fetch, Load and At then
// wait for each other, Last and Snapshot.Read wait for none of them.
type Source struct {
	opt    Options
	at     location
	follow *followed
	remote remote
	log    *slog.Logger

	last   atomic.Pointer[Snapshot]
	broken atomic.Bool // a read from the store failed
	// rewritten is the rewritten branch that is not followed; nil: none.
	rewritten atomic.Pointer[Held]

	// turn is held by the one call that may change what is below.
	turn   chan struct{}
	lock   *os.File // the claim on Dir; nil until the first call that needs the store
	rec    record   // what was accepted last
	closed bool
	held   held
	// trusted marks the keys that the revision in force was verified with.
	trusted string

	// mu guards the pointer alone: the store is exchanged for a new one while snapshots are read.
	mu    sync.RWMutex
	store *store // nil: none, or a broken one
}

// New checks the options. It touches neither the store nor the remote.
func New(opt Options) (*Source, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	at, err := parseLocation(opt.URL)
	if err != nil {
		return nil, err
	}
	ref, err := newFollowed(opt.Branch, opt.Tags)
	if err != nil {
		return nil, err
	}
	if opt.Tags.Pattern != "" {
		opt.Branch = opt.Tags.String() // in records and messages
	}
	s := &Source{opt: opt, at: at, follow: ref, turn: make(chan struct{}, 1)}
	s.log = opt.Logger.With("repository", at.String(), "branch", opt.Branch)
	switch {
	case at.local():
		s.remote = &localRemote{path: at.path, ref: ref}
	case at.scheme == "ssh":
		var kind sshKind
		kind, err = newSSHRemote(at, opt.Auth)
		s.remote = &streamRemote{ref, pollTimeout, kind}
	case at.scheme == "git":
		var kind daemonKind
		kind, err = newDaemonRemote(at)
		s.remote = &streamRemote{ref, pollTimeout, kind}
	default:
		s.remote, err = newHTTPRemote(at, ref, opt.Auth)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Local says that the repository is on this machine's disk.
func (s *Source) Local() bool { return s.at.local() }

// URL is the repository without its secrets.
func (s *Source) URL() string { return s.at.String() }

// Last returns the newest snapshot that Fetch or Load returned, or nil.
func (s *Source) Last() *Snapshot { return s.last.Load() }

// Load returns the last accepted revision from the store, without asking the remote; the same pointer as before when
// there is one. The error is ErrNoRevision when nothing of this branch was fetched yet.
func (s *Source) Load(ctx context.Context) (*Snapshot, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the last revision: %w", err)
	}
	defer done()
	if last := s.last.Load(); last != nil {
		return last, nil
	}
	snap, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the last revision: %w", cause(ctx, err))
	}
	return snap, nil
}

// Fetch returns the branch's newest revision, once it is complete. The same pointer as before means that nothing
// changed, which takes one request to find out. After an error the revision that Last returns stays in force; a
// broken store is mended by the way. The error is a HeldError when the branch was rewritten and is not followed.
func (s *Source) Fetch(ctx context.Context) (*Snapshot, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s: %w", s.at, err)
	}
	defer done()
	snap, err := s.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch branch %s of %s: %w", s.opt.Branch, s.at, cause(ctx, err))
	}
	return snap, nil
}

// At returns a snapshot of a commit in the store: of the branch's history, or accepted before the branch was
// rewritten. The commit may be shortened to seven digits, HEAD and the branch's name stand for the revision in force, and
// ~N and ^ go back from there. Allowed is what that commit alone says.
func (s *Source) At(ctx context.Context, commit string) (*Snapshot, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read revision %s: %w", commit, err)
	}
	defer done()
	snap, err := s.atCommit(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("cannot read revision %s: %w", commit, cause(ctx, err))
	}
	return snap, nil
}

// Close waits for calls that are under way (end their contexts first) and gives the store free. Snapshots cannot be
// read any more.
func (s *Source) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	s.remote.close()
	s.use(nil)
	if s.lock == nil {
		return nil
	}
	// A process that is started at this moment has the file open for an instant yet, and the claim with it.
	return errors.Join(unix.Flock(int(s.lock.Fd()), unix.LOCK_UN), s.lock.Close())
}

// begin takes the turn, bounds the time, and claims the store.
func (s *Source) begin(ctx context.Context) (context.Context, func(), error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if err := s.claim(); err != nil {
		<-s.turn
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.opt.Timeout, fmt.Errorf("not done within %v", s.opt.Timeout))
	return ctx, func() { cancel(); <-s.turn }, nil
}

// use makes the store the one that is read from.
func (s *Source) use(st *store) {
	s.mu.Lock()
	old := s.store
	s.store = st
	s.mu.Unlock()
	if old != nil && old != st {
		old.close()
	}
}

// rest is what snapshots rest with.
func (s *Source) rest() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.store != nil {
		s.store.rest()
	}
}

// readBlob is what snapshots read with: from whatever store there is now.
func (s *Source) readBlob(hash string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.store == nil {
		return nil, errors.New("the store is closed or broken")
	}
	data, err := s.store.read(plumbing.BlobObject, plumbing.NewHash(hash))
	if err != nil && !errors.Is(err, errTooLarge) {
		s.broken.Store(true)
	}
	return data, err
}
