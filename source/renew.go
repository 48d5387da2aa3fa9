package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"
)

// The names in the source's folder. A store is only ever made under freshDir, and exchanged when it is complete.
const (
	storeDir = "store"
	freshDir = "store.new"
	goneDir  = "store.old"
	lockFile = "lock"
)

func (s *Source) path(name string) string { return filepath.Join(s.opt.Dir, name) }

// claim makes sure that this process alone uses the folder, and tidies up what a killed one left.
func (s *Source) claim() error {
	if s.closed {
		return ErrClosed
	}
	if s.lock != nil {
		return nil
	}
	if err := os.MkdirAll(s.opt.Dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder for the store: %w", err)
	}
	lock, err := os.OpenFile(s.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("cannot claim the store: %w", err)
	}
	// The kernel gives the claim free when the process ends, however it does.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("%w in %s: give this one another state directory", ErrInUse, s.opt.Dir)
		}
		return fmt.Errorf("cannot claim the store: %w", err)
	}
	s.lock = lock
	if _, err := os.Lstat(s.path(storeDir)); errors.Is(err, os.ErrNotExist) {
		os.Rename(s.path(goneDir), s.path(storeDir)) // killed between the two renames of an exchange
	}
	os.RemoveAll(s.path(goneDir))
	os.RemoveAll(s.path(freshDir))
	s.sweep()
	s.recallHeld()
	return nil
}

// sweep removes the unfinished files of a process that was killed while it wrote into the store: ours, and go-git's. They
// may be as large as a pack.
func (s *Source) sweep() {
	for _, pattern := range []string{"incoming-*.pack", ".tmp-*", "objects/pack/tmp_*"} {
		left, err := fs.Glob(os.DirFS(s.path(storeDir)), pattern)
		if err != nil {
			s.log.Error("cannot look for unfinished files", "error", err)
		}
		for _, file := range left {
			if err := os.Remove(filepath.Join(s.path(storeDir), file)); err != nil {
				s.log.Warn("an unfinished file stays", "error", err)
			}
		}
	}
}

// clone fetches everything into a new store, and exchanges it for the old one once the revision in it is complete.
func (s *Source) clone(ctx context.Context) (*Snapshot, error) {
	fresh, err := s.fresh()
	if err != nil {
		return nil, err
	}
	defer s.discard(fresh)
	faulty := func(h plumbing.Hash) bool {
		var held *HeldError
		if errors.As(s.held.err, &held) && s.isAccepted(ctx, nil, plumbing.NewHash(held.Commit)) {
			return false
		}
		return s.held.holds(h)
	}
	head, err := s.remote.fetch(ctx, faulty, fresh, nil)
	if err != nil {
		s.holdLarge(ctx, head, err)
		return nil, err
	}
	if faulty(head) {
		return nil, s.held.err
	}
	s.carryOver(ctx, fresh)
	previous := s.rec.Commit
	if s.rec.reference() == head {
		previous = s.rec.Previous
	}
	snap, err := s.arrived(ctx, fresh, head, plumbing.NewHash(previous), nil)
	if err != nil {
		s.held.hold(ctx, head, err)
		if errors.Is(err, ErrUnverified) && fresh.has(plumbing.NewHash(s.rec.Commit)) {
			err = errors.Join(err, s.mend(ctx, fresh))
		}
		return nil, err
	}
	if err := s.follows(ctx, fresh, snap); err != nil {
		s.held.hold(ctx, head, err) // not everything again at every poll
		return nil, errors.Join(err, s.mend(ctx, fresh))
	}
	rec := s.next(snap)
	rec.Kept = slices.DeleteFunc(slices.Clone(rec.Kept), func(h string) bool { return !fresh.has(plumbing.NewHash(h)) })
	if err := s.exchange(fresh, rec); err != nil {
		return nil, err
	}
	if last := s.last.Load(); last != nil && last.Commit == snap.Commit {
		snap = last // mended, and nothing changed
	}
	s.accepted(snap, rec)
	return snap, nil
}

// mend makes a fresh store the one in use for the revision that stays in force, if it holds that one.
func (s *Source) mend(ctx context.Context, fresh *store) error {
	snap, err := s.stored(ctx, fresh, s.rec)
	if err != nil {
		return fmt.Errorf("the revision in force cannot be restored: %w", err)
	}
	if err := s.exchange(fresh, s.rec); err != nil {
		return err
	}
	s.broken.Store(false)
	s.last.CompareAndSwap(nil, snap)
	return nil
}

// carryOver copies, as far as it can be read, what the old store has and the branch no longer leads to: the last
// snapshot must stay readable, and old revisions may be in force for single documents.
func (s *Source) carryOver(ctx context.Context, fresh *store) {
	dir := s.path(storeDir)
	shallow, err := readShallow(dir)
	if err != nil || s.rec.Commit == "" {
		return
	}
	var old *objects
	if s.store != nil {
		old = s.store.objects
	} else { // it could not be opened, or its revision not be read
		old = openObjects(dir)
		defer old.close()
	}
	for _, head := range append(s.heads(), s.rec.reference()) {
		if fresh.has(head) {
			continue
		}
		if err := fresh.copyRef(ctx, old, shallow, head); err != nil {
			s.log.Warn("a former revision is lost with the broken store", "revision", head.String(), "error", err)
		}
	}
}

// compact writes the store afresh when it holds too many loose objects. The branch is cloned from the store itself:
// the remote need not be reachable, and every object is read and checked on the way.
func (s *Source) compact(ctx context.Context, limit int) {
	if s.store.loose <= limit {
		return
	}
	err := s.rewrite(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	s.log.Warn("cannot compact the store", "error", err)
	s.store.loose = 0 // not again at every poll
	if errors.Is(err, ErrIncomplete) {
		s.broken.Store(true)
	}
}

func (s *Source) rewrite(ctx context.Context) error {
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	defer s.discard(fresh)
	shallow, err := sameShallow(s.store.dir, fresh)
	if err != nil {
		return err
	}
	if err := fresh.copyFrom(ctx, s.store.objects, shallow, s.heads()...); err != nil {
		return err
	}
	if err := fresh.copyRef(ctx, s.store.objects, shallow, s.rec.reference()); err != nil {
		return err
	}
	return s.exchange(fresh, s.rec)
}

// fresh makes an empty store beside the one in use.
func (s *Source) fresh() (*store, error) {
	dir := s.path(freshDir)
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("cannot remove an unfinished store: %w", err)
	}
	return createStore(dir, record{Branch: s.opt.Branch, Tag: s.follow.pattern}.localBranch())
}

// discard removes what is left of a fresh store when it was not exchanged.
func (s *Source) discard(fresh *store) {
	fresh.close()
	os.RemoveAll(s.path(freshDir))
}

// exchange puts the fresh store in the old one's place, durably, and reads from it from now on.
func (s *Source) exchange(fresh *store, rec record) error {
	if err := fresh.accept(rec); err != nil {
		return err
	}
	if err := fresh.sync(); err != nil {
		return fmt.Errorf("cannot make the store durable: %w", err)
	}
	fresh.close()

	// Nobody reads while the files move.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		s.store.close()
		s.store = nil
	}
	if err := os.RemoveAll(s.path(goneDir)); err != nil {
		return fmt.Errorf("cannot remove the old store: %w", err)
	}
	if err := os.Rename(s.path(storeDir), s.path(goneDir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot move the old store away: %w", err)
	}
	if err := os.Rename(fresh.dir, s.path(storeDir)); err != nil {
		return fmt.Errorf("cannot put the new store in place: %w", err)
	}
	if err := syncFile(s.opt.Dir); err != nil {
		return fmt.Errorf("cannot make the store durable: %w", err)
	}
	st, _, err := openStore(s.path(storeDir))
	if err != nil {
		return err
	}
	s.store = st
	os.RemoveAll(s.path(goneDir))
	// To read everything takes several times the memory that is needed until the next time, days later.
	debug.FreeOSMemory()
	return nil
}
