package source

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// load opens the store and reads the accepted revision.
func (s *Source) load(ctx context.Context) (*Snapshot, error) {
	st, rec, err := openStore(s.path(storeDir))
	if err != nil {
		s.rec = s.recallRecord()
		return nil, err
	}
	if rec.URL != s.at.String() || rec.Branch != s.opt.Branch {
		st.close()
		return nil, fmt.Errorf("%w: the store is of branch %s of %s", ErrNoRevision, rec.Branch, rec.URL)
	}
	// It counts even when the objects turn out to be broken: what is fetched then comes after it.
	s.rec = rec
	snap, err := s.stored(ctx, st, rec)
	if err != nil {
		st.close()
		if errors.Is(err, ErrUnverified) {
			s.held.hold(ctx, rec.reference(), err)
		}
		return nil, err
	}
	s.use(st)
	s.last.Store(snap)
	debug.FreeOSMemory()
	return snap, nil
}

// stored reads the revision of a record, and verifies it.
func (s *Source) stored(ctx context.Context, st *store, rec record) (*Snapshot, error) {
	if err := s.again(ctx, st, rec); err != nil {
		return nil, err
	}
	snap, err := s.revision(ctx, st, plumbing.NewHash(rec.Commit), plumbing.NewHash(rec.Previous), nil)
	if err == nil {
		s.mark(snap, rec.Tag, rec.reference())
	}
	return snap, err
}

func (s *Source) fetch(ctx context.Context) (*Snapshot, error) {
	changed := s.keysChanged()
	if s.store == nil && s.last.Load() == nil {
		_, err := s.load(ctx)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, ErrNoRevision) && !errors.Is(err, ErrUnverified) {
			s.log.Warn("the store is broken and will be fetched again", "error", err)
		}
	}
	switch {
	case s.store == nil:
		return s.clone(ctx)
	case s.broken.Load() || s.store.damaged():
		s.log.Warn("the store is broken and will be fetched again", "error", "its files were changed, or cannot be read")
		return s.clone(ctx)
	}
	snap, err := s.update(ctx, changed)
	var ours *storeError
	if err == nil || ctx.Err() != nil || !errors.As(err, &ours) {
		return snap, err
	}
	s.log.Warn("the store is broken and will be fetched again", "error", err)
	return s.clone(ctx)
}

// update fetches what is new into the store that there is.
func (s *Source) update(ctx context.Context, changedKeys bool) (*Snapshot, error) {
	last := s.last.Load()
	known := s.rec.reference()
	var refused error
	skip := func(h plumbing.Hash) bool {
		if h != known {
			refused = s.refused(ctx, h)
		}
		return h == known || refused != nil
	}
	head, err := s.remote.fetch(ctx, skip, s.store, s.heads())
	if err != nil {
		s.holdLarge(ctx, head, err)
		return nil, err
	}
	if head == known || refused != nil {
		if head == known {
			s.release()
		}
		s.compact(ctx, s.opt.CompactAfter)
		if refused == nil && changedKeys {
			refused = s.again(ctx, s.store, s.rec)
		}
		if refused != nil {
			return nil, refused
		}
		return last, nil
	}
	snap, err := s.arrived(ctx, s.store, head, plumbing.NewHash(last.Commit), last.root)
	switch {
	case errors.Is(err, ErrIncomplete):
		return nil, inStore(err) // or the remote's: a store that is fetched afresh will tell
	case err != nil:
		s.held.hold(ctx, head, err)
		return nil, err
	}
	if err := s.follows(ctx, s.store, snap); err != nil {
		return nil, err
	}
	rec := s.next(snap)
	if err := s.store.accept(rec); err != nil {
		return nil, err
	}
	s.accepted(snap, rec)
	s.compact(ctx, 4*s.opt.CompactAfter)
	return snap, nil
}

// heads are the commits that the store has with all that they lead to.
func (s *Source) heads() []plumbing.Hash {
	hashes := []plumbing.Hash{plumbing.NewHash(s.rec.Commit)}
	for _, h := range s.rec.Kept {
		hashes = append(hashes, plumbing.NewHash(h))
	}
	return hashes
}

// revision reads a commit whole. What the folder from a former snapshot of the same store holds is not read again.
func (s *Source) revision(ctx context.Context, st *store, head, previous plumbing.Hash, former *folder) (*Snapshot, error) {
	commit, err := st.commit(head)
	if err != nil {
		return nil, err
	}
	w := &walker{ctx: ctx, from: st.objects}
	root, err := w.walk(commit.TreeHash, s.opt.Path, former)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", head, err)
	}
	adv, err := since(ctx, st.objects, commit, previous)
	if err != nil {
		return nil, err
	}
	return &Snapshot{
		Commit:  head.String(),
		Branch:  s.opt.Branch,
		Time:    commit.Committer.When,
		Entries: root.entries(),
		Allowed: adv.allowed,
		Forced:  adv.forced,

		diverged: adv.forced,

		root: root,
		read: s.readBlob,
		rest: s.rest,
	}, nil
}

// accepted makes the snapshot the one that callers get.
func (s *Source) accepted(snap *Snapshot, rec record) {
	s.rec = rec
	s.held = held{}
	s.broken.Store(false)
	s.last.Store(snap)
	s.noteRecord(rec)
	s.release()
}

// next is the record that makes the snapshot the accepted one.
func (s *Source) next(snap *Snapshot) record {
	rec := record{URL: s.at.String(), Branch: s.opt.Branch, Commit: snap.Commit, Previous: s.rec.Previous, Kept: s.rec.Kept, Tag: snap.tag, TagObject: snap.tagObject}
	was := s.rec.Commit
	if was == "" || was == snap.Commit { // the first, or the same fetched again
		return rec
	}
	rec.Previous = was
	if snap.diverged {
		rec.Kept = []string{was}
		for _, h := range s.rec.Kept {
			if h != was && len(rec.Kept) < maxKept {
				rec.Kept = append(rec.Kept, h)
			}
		}
	}
	return rec
}

// atCommit finds a commit by its name or the beginning of it.
func (s *Source) atCommit(ctx context.Context, name string) (*Snapshot, error) {
	if s.store == nil {
		if _, err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	hash, err := s.named(name)
	if err == nil {
		err = s.inHistory(ctx, hash)
	}
	if err != nil {
		return nil, err
	}
	last := s.last.Load()
	snap, err := s.revision(ctx, s.store, hash, plumbing.ZeroHash, last.root)
	if errors.Is(err, ErrIncomplete) && ctx.Err() == nil {
		s.broken.Store(true)
	}
	return snap, err
}

// held is a commit that could not become a revision though all of it was fetched: the fault is the repository's. It
// is not fetched again at every poll, but when the branch moves on, and now and then if it may have been mended.
type held struct {
	head  plumbing.Hash
	err   error
	wait  time.Duration
	until time.Time
}

const (
	minHeld = 15 * time.Second
	maxHeld = 10 * time.Minute
	// maxUnverified bounds it for one without the signatures that it must carry. Whether these count may be a matter of
	// time: a host that starts may not know what time it is, and keys are valid from some day on.
	maxUnverified = 6 * time.Hour
)

func (h *held) hold(ctx context.Context, head plumbing.Hash, err error) {
	if ctx.Err() != nil {
		return
	}
	wait, longest := minHeld, maxHeld
	if errors.Is(err, ErrUnverified) {
		longest = maxUnverified // or until the keys change
	}
	if h.head == head {
		wait = min(2*h.wait, longest)
	}
	*h = held{head, err, wait, time.Now().Add(wait)}
}

// holdLarge holds a commit whose pack is too large, which otherwise would be sent again at every poll.
func (s *Source) holdLarge(ctx context.Context, head plumbing.Hash, err error) {
	if errors.Is(err, errTooMuch) && !head.IsZero() {
		s.held.hold(ctx, head, err)
	}
}

func (h *held) holds(head plumbing.Hash) bool {
	return h.err != nil && h.head == head && time.Now().Before(h.until)
}
