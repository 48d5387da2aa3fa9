package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-git/go-git/v5/plumbing"
)

// ForcedPush says what becomes of a branch whose history was rewritten: whose head does not follow from the revision in
// force.
type ForcedPush string

// What may become of it.
const (
	// Follow takes the new head as it takes any.
	Follow ForcedPush = "Follow"
	// Hold leaves the revision in force, until somebody accepts the new head or the branch comes back.
	Hold ForcedPush = "Hold"
)

// Held is a rewritten branch that is not followed.
type Held struct {
	// URL and Branch are what was rewritten.
	URL    string `json:"url"`
	Branch string `json:"branch"`
	// Commit is the branch's head, InForce the revision that it does not follow from.
	Commit  string `json:"commit"`
	InForce string `json:"inForce"`
	// Since is when it was first seen.
	Since time.Time `json:"since"`
}

// HeldError means that the branch was rewritten and is not followed. The remote is in order.
type HeldError struct{ Held }

func (e *HeldError) Error() string {
	return fmt.Sprintf("branch %s was rewritten: commit %s does not follow from revision %.12s, which stays in force (forcedPush: Hold); gitvirt accept %.12s follows it",
		e.Branch, e.Commit, e.InForce, e.Commit)
}

// ErrNotHeld means that the commit which is to be accepted is not held.
var ErrNotHeld = errors.New("it is not held")

// The files beside the store that say what is held, which commit somebody accepted, and which revision is in force: a
// store is thrown away when it breaks, and what is held must not be followed for that.
const (
	heldFile     = "held.json"
	acceptedFile = "accepted.json"
	inForceFile  = "revision.json"
)

// acceptance is in acceptedFile.
type acceptance struct {
	Commit string `json:"commit"`
}

// Held returns the rewritten branch that is not followed, or nil.
func (s *Source) Held() *Held { return s.rewritten.Load() }

// HeldIn returns what the source whose folder that is holds, whether it runs or not; nil when it holds nothing.
func HeldIn(dir string) (*Held, error) {
	var held Held
	err := readJSON(filepath.Join(dir, heldFile), &held)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !plumbing.IsHash(held.Commit) {
		err = errors.New("it names no commit")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what is held: %w", err)
	}
	return &held, nil
}

// Accept lets a held commit be followed by the source whose folder that is, whether it runs or not. The commit may be
// shortened to seven digits; empty means whichever is held. What it returns was held. The error wraps ErrNotHeld when
// the commit is not held, or nothing is.
func Accept(dir, commit string) (Held, error) {
	held, err := HeldIn(dir)
	commit = strings.ToLower(commit)
	switch {
	case err != nil:
		return Held{}, err
	case held == nil && commit == "":
		return Held{}, fmt.Errorf("cannot accept a commit: %w: nothing is", ErrNotHeld)
	case held == nil:
		return Held{}, fmt.Errorf("cannot accept %s: %w: nothing is", commit, ErrNotHeld)
	case commit != "" && (len(commit) < minAbbreviated || !strings.HasPrefix(held.Commit, commit)):
		return *held, fmt.Errorf("cannot accept %s: %w: held is %s of branch %s of %s", commit, ErrNotHeld, held.Commit, held.Branch, held.URL)
	}
	if err := writeJSON(filepath.Join(dir, acceptedFile), acceptance{held.Commit}); err != nil {
		return *held, fmt.Errorf("cannot accept %s: %w", held.Commit, err)
	}
	return *held, nil
}

// refused returns why a head is not fetched once more: it is faulty, or held and not accepted.
func (s *Source) refused(ctx context.Context, head plumbing.Hash) error {
	commit, err := s.store.peel(head)
	if err != nil {
		commit = head // not fetched yet
	}
	if h := s.Held(); h != nil && h.Commit == commit.String() {
		if s.isAccepted(ctx, s.store, commit) {
			return nil
		}
		return &HeldError{*h}
	}
	if s.held.holds(head) {
		return s.held.err
	}
	return nil
}

// follows is an error when the snapshot is of a rewritten branch and is not to become the revision in force.
func (s *Source) follows(ctx context.Context, st *store, snap *Snapshot) error {
	if !snap.Forced || s.opt.ForcedPush != Hold || s.isAccepted(ctx, st, plumbing.NewHash(snap.Commit)) {
		return nil
	}
	h := &Held{s.at.String(), s.opt.Branch, snap.Commit, s.rec.Commit, time.Now().UTC()}
	if was := s.Held(); was != nil {
		if was.Commit == snap.Commit {
			return &HeldError{*was}
		}
		if s.descends(ctx, st, plumbing.NewHash(snap.Commit), plumbing.NewHash(was.Commit)) {
			h.Since = was.Since // it was rewritten once, and goes on from there
		}
	}
	s.rewritten.Store(h)
	if err := writeJSON(s.path(heldFile), h); err != nil {
		// It is held all the same: the next process finds that out anew.
		s.log.Error("a held commit cannot be accepted until its file can be written", "commit", h.Commit, "error", err)
	}
	// An acceptance of what was held before is not one of this.
	if err := os.Remove(s.path(acceptedFile)); err == nil {
		s.log.Warn("the branch was rewritten again after a commit was accepted; it is held again", "commit", h.Commit)
	}
	return &HeldError{*h}
}

// isAccepted reports whether somebody accepted that commit, or one that it follows from, which takes a store to find out.
func (s *Source) isAccepted(ctx context.Context, st *store, head plumbing.Hash) bool {
	var a acceptance
	if readJSON(s.path(acceptedFile), &a) != nil || !plumbing.IsHash(a.Commit) {
		return false
	}
	return a.Commit == head.String() || st != nil && s.descends(ctx, st, head, plumbing.NewHash(a.Commit))
}

// descends reports whether a commit follows from another.
func (s *Source) descends(ctx context.Context, st *store, head, from plumbing.Hash) bool {
	commit, err := st.commit(head)
	if err != nil {
		return false
	}
	adv, err := since(ctx, st.objects, commit, from)
	return err == nil && !adv.forced
}

// release ends that anything is held: the branch is followed.
func (s *Source) release() {
	os.Remove(s.path(acceptedFile))
	if s.rewritten.Swap(nil) != nil {
		os.Remove(s.path(heldFile))
	}
}

// recallHeld reads what the process before held.
func (s *Source) recallHeld() {
	h, err := HeldIn(s.opt.Dir)
	if err != nil {
		s.log.Warn("what was held has to be found out anew", "error", err)
	}
	if h == nil {
		return
	}
	if s.opt.ForcedPush != Hold || h.URL != s.at.String() || h.Branch != s.opt.Branch {
		os.Remove(s.path(heldFile))
		os.Remove(s.path(acceptedFile))
		return
	}
	s.rewritten.Store(h)
}

// noteRecord keeps the record outside the store too.
func (s *Source) noteRecord(rec record) {
	if err := writeJSON(s.path(inForceFile), rec); err != nil {
		s.log.Warn("cannot note the revision in force beside the store", "error", err)
	}
}

// recallRecord is the record of a store that cannot be opened; an empty one when there is none of this branch.
func (s *Source) recallRecord() record {
	var rec record
	if readJSON(s.path(inForceFile), &rec) != nil || rec.URL != s.at.String() || rec.Branch != s.opt.Branch || !plumbing.IsHash(rec.Commit) {
		return record{}
	}
	return rec
}

// InForce is the revision that the source accepted last whose folder that is, whether it runs or not; empty when that is
// not known.
func InForce(dir string) string {
	var rec record
	if readJSON(filepath.Join(dir, inForceFile), &rec) != nil || !plumbing.IsHash(rec.Commit) {
		return ""
	}
	return rec.Commit
}

// watchAccepted calls changed whenever somebody accepts a commit.
func (s *Source) watchAccepted(ctx context.Context, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		if err = os.MkdirAll(s.opt.Dir, 0o700); err == nil {
			err = w.Add(s.opt.Dir)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot watch for accepted commits: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return errors.New("cannot watch for accepted commits: the watch ended")
			}
			if filepath.Base(e.Name) == acceptedFile && e.Has(fsnotify.Create) {
				changed()
			}
		case err, ok := <-w.Errors:
			if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("cannot watch for accepted commits: %w", err)
			}
			changed()
		}
	}
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, string(data)+"\n", true)
}
