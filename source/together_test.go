package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// heldAt wants a fetch to hold a commit.
func heldAt(t *testing.T, s *Source, commit string) {
	t.Helper()
	snap, err := s.Fetch(context.Background())
	var held *HeldError
	if snap != nil || !errors.As(err, &held) || held.Commit != commit {
		t.Fatalf("%v, %v; want %s held", snap, err, commit)
	}
}

// TestTagsHeldWithoutStore: a moved tag that was fetched into no store, because there is none for the revision in force, is
// followed as soon as it is accepted.
func TestTagsHeldWithoutStore(t *testing.T) {
	r := newRepo(t)
	opt := Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", Dir: t.TempDir(), Tags: Tags{Pattern: "v*"}, ForcedPush: Hold}
	tag := func() string {
		commit := r.commit("One")
		r.git("tag", "-f", "-a", "-m", "v1", "v1")
		r.git("push", "-q", "--force", "origin", "refs/tags/v1")
		return commit
	}
	tag()
	s := newSource(t, opt)
	fetch(t, s)
	s.Close()
	r.git("checkout", "-q", "--orphan", "other")
	moved := tag()
	if err := os.RemoveAll(filepath.Join(opt.Dir, storeDir)); err != nil {
		t.Fatal(err)
	}
	s = newSource(t, opt)
	heldAt(t, s, moved)
	heldAt(t, s, moved)
	mustAccept(t, opt.Dir, moved)
	checkWhole(t, r, fetch(t, s), moved)
}

// TestHeldAndUnverified: a rewritten branch must be signed and accepted, in whichever order that happens.
func TestHeldAndUnverified(t *testing.T) {
	overTwo(t, func(t *testing.T, r *repo, opt Options) {
		keys := newSigners(t, "alice", "bob")
		opt.ForcedPush = Hold
		opt.Verify = Verify{Mode: VerifyAll, SSHAllowedSigners: keys.allow("alice")}
		first := r.sign(keys, "alice", "First")
		s := newSource(t, opt)
		checkWhole(t, r, fetch(t, s), first)

		// A history of its own, of which not all is signed.
		r.git("checkout", "-q", "--orphan", "other")
		r.write("web.yaml", "name: other\n")
		root := r.commit("Root")
		unsigned := r.sign(keys, "alice", "On top")
		refuses(t, s, unsigned, root)
		if h := s.Held(); h != nil {
			t.Errorf("held before it is verified: %+v", h)
		}
		if _, err := Accept(opt.Dir, unsigned); !errors.Is(err, ErrNotHeld) {
			t.Errorf("accepted: %v", err)
		}

		// One that is signed, by somebody who is not known yet.
		r.git("checkout", "-q", "--orphan", "third")
		bobs := r.sign(keys, "bob", "Bob's")
		refuses(t, s, bobs, "")
		keys.allow("alice", "bob")
		heldAt(t, s, bobs)
		keys.allow("alice")
		mustAccept(t, opt.Dir, bobs)
		refuses(t, s, bobs, "")
		if s.Last().Commit != first {
			t.Errorf("in force is %s", s.Last().Commit)
		}
		keys.allow("alice", "bob")
		checkWhole(t, r, fetch(t, s), bobs)
		if h := s.Held(); h != nil {
			t.Errorf("still held: %+v", h)
		}
	})
}
