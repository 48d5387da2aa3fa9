package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wantHeld fetches and wants the commit held, and the revision in force to stay.
func wantHeld(t *testing.T, s *Source, commit string, inForce *Snapshot) {
	t.Helper()
	snap, err := s.Fetch(context.Background())
	var held *HeldError
	if snap != nil || !errors.As(err, &held) || held.Commit != commit || held.InForce != inForce.Commit {
		t.Fatalf("want %.8s held over %.8s: %v, %v", commit, inForce.Commit, snap, err)
	}
	if h := s.Held(); h == nil || h.Commit != commit {
		t.Errorf("held is %+v, want %.8s", h, commit)
	}
	if s.Last() == nil || s.Last().Commit != inForce.Commit || s.rec.Commit != inForce.Commit {
		t.Error("the revision in force changed")
	}
	checkReadable(t, s.Last())
}

func wantFollowed(t *testing.T, r *repo, s *Source, commit string) *Snapshot {
	t.Helper()
	snap := fetch(t, s)
	checkWhole(t, r, snap, commit)
	if h := s.Held(); h != nil {
		t.Errorf("still held: %+v", h)
	}
	for _, name := range []string{heldFile, acceptedFile} {
		if _, err := os.Stat(s.path(name)); err == nil {
			t.Errorf("%s is left over", name)
		}
	}
	return snap
}

// rewrite makes another second commit.
func (r *repo) rewrite(first, text string) string {
	r.t.Helper()
	r.git("reset", "-q", "--hard", first)
	r.write("web.yaml", text)
	return r.commit(text)
}

func mustAccept(t *testing.T, dir, commit string) {
	t.Helper()
	if _, err := Accept(dir, commit); err != nil {
		t.Fatal(err)
	}
}

// TestHold takes a held branch through all that may become of it.
func TestHold(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		opt.ForcedPush = Hold
		s := newSource(t, opt)
		first := r.head()
		fetch(t, s)
		r.write("web.yaml", "second\n")
		second := r.commit("Second")
		snap := wantFollowed(t, r, s, second)

		other := r.rewrite(first, "other\n")
		for range 3 {
			wantHeld(t, s, other, snap)
		}
		since := s.Held().Since
		r.write("web.yaml", "more\n")
		more := r.commit("More")
		wantHeld(t, s, more, snap)
		if !s.Held().Since.Equal(since) {
			t.Error("what goes on from a rewritten branch counts as rewritten again")
		}

		// It survives the process, and needs no remote for that.
		s.Close()
		s = newSource(t, opt)
		if snap, err := s.Load(context.Background()); err != nil || snap.Commit != second {
			t.Fatalf("after a restart: %v, %v", snap, err)
		}
		if h := s.Held(); h == nil || h.Commit != more || h.InForce != second || !h.Since.Equal(since) {
			t.Errorf("after a restart: held %+v", h)
		}
		wantHeld(t, s, more, snap)

		// The branch comes back.
		r.git("reset", "-q", "--hard", second)
		r.push()
		wantFollowed(t, r, s, second)
		other = r.rewrite(first, "third\n")
		wantHeld(t, s, other, s.Last())
		r.git("reset", "-q", "--hard", second)
		r.write("web.yaml", "on\n")
		snap = wantFollowed(t, r, s, r.commit("On"))

		// A branch that is rewound is held too, and one without a common commit.
		r.git("reset", "-q", "--hard", first)
		wantHeld(t, s, r.push(), snap)
		r.git("checkout", "-q", "--orphan", "new")
		wantHeld(t, s, r.commit("New beginning"), snap)
	}, "path", "http", "ssh")
}

// TestAccept releases held commits, beside the source and while none runs.
func TestAccept(t *testing.T) {
	r := newRepo(t)
	opt := Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", Dir: t.TempDir(), ForcedPush: Hold}
	first := r.head()
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	s := newSource(t, opt)
	if _, err := Accept(opt.Dir, ""); !errors.Is(err, ErrNotHeld) {
		t.Errorf("accepted though nothing is held: %v", err)
	}
	snap := wantFollowed(t, r, s, second)

	other := r.rewrite(first, "other\n")
	wantHeld(t, s, other, snap)
	for _, wrong := range []string{second, "0123456", other[:6]} {
		if _, err := Accept(opt.Dir, wrong); !errors.Is(err, ErrNotHeld) || !strings.Contains(err.Error(), "held is "+other) {
			t.Errorf("accepted %s: %v", wrong, err)
		}
	}
	wantHeld(t, s, other, snap)
	mustAccept(t, opt.Dir, other[:8])
	if snap = wantFollowed(t, r, s, other); !snap.Forced {
		t.Error("the snapshot does not say that the branch was rewritten")
	}
	if _, err := s.At(context.Background(), second); err != nil {
		t.Errorf("the revision before is gone: %v", err)
	}

	// While no source runs, and the branch goes on after that.
	other = r.rewrite(first, "third\n")
	wantHeld(t, s, other, snap)
	s.Close()
	mustAccept(t, opt.Dir, "")
	r.write("web.yaml", "on\n")
	on := r.commit("On")
	s = newSource(t, opt)
	snap = wantFollowed(t, r, s, on)

	// Rewritten again after it was accepted: that is held, and the acceptance is spent.
	other = r.rewrite(first, "fourth\n")
	wantHeld(t, s, other, snap)
	mustAccept(t, opt.Dir, other)
	again := r.rewrite(first, "fifth\n")
	wantHeld(t, s, again, snap)
	r.git("reset", "-q", "--hard", other)
	r.push()
	wantHeld(t, s, other, snap)
	mustAccept(t, opt.Dir, other)
	snap = wantFollowed(t, r, s, other)

	// Half a file accepts nothing.
	other = r.rewrite(first, "sixth\n")
	wantHeld(t, s, other, snap)
	if err := os.WriteFile(s.path(acceptedFile), []byte(`{"commit": "`+other[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, other, snap)

	// Whoever turns the rule off follows.
	s.Close()
	opt.ForcedPush = Follow
	wantFollowed(t, r, newSource(t, opt), other)
}

// TestHoldBrokenStore: what is held is not followed because the store breaks, and not fetched again at every poll.
func TestHoldBrokenStore(t *testing.T) {
	lost := map[string]bool{"the store is removed": true, "a pack lost its index": true}
	damages := map[string]func(t *testing.T, dir string){
		"the store is removed": func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, storeDir)) },
		"its record is removed": func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, storeDir, recordFile))
		},
		"a pack lost its index": func(t *testing.T, dir string) {
			packs, _ := filepath.Glob(filepath.Join(dir, storeDir, "objects/pack/*.idx"))
			for _, p := range packs {
				os.Remove(p)
			}
		},
		"a pack cannot be trusted": func(t *testing.T, dir string) {
			packs, _ := filepath.Glob(filepath.Join(dir, storeDir, "objects/pack/*.idx"))
			for _, p := range packs {
				os.Chtimes(p, time.Now(), time.Now().Add(time.Hour))
			}
		},
	}
	for name, damage := range damages {
		for _, running := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", running"}[running], func(t *testing.T) {
				r := newRepo(t)
				backend := gitHTTP(t, filepath.Dir(r.bare))
				server, requests := countRequests(t, backend)
				opt := Options{URL: server + "/repo.git", Dir: t.TempDir(), ForcedPush: Hold}
				first := r.head()
				r.write("web.yaml", "second\n")
				second := r.commit("Second")
				s := newSource(t, opt)
				fetch(t, s)
				other := r.rewrite(first, "other\n")
				s.Fetch(context.Background())
				if !running {
					s.Close()
				}
				damage(t, opt.Dir)
				if !running {
					s = newSource(t, opt)
				}
				for range 4 {
					var held *HeldError
					if snap, err := s.Fetch(context.Background()); snap != nil || !errors.As(err, &held) || held.Commit != other {
						t.Fatalf("followed: %v, %v", snap, err)
					}
				}
				requests.Store(0)
				s.Fetch(context.Background())
				if n := requests.Load(); n > 2 {
					t.Errorf("a poll took %d requests: everything is fetched again each time", n)
				}
				switch last := s.Last(); {
				case lost[name] && !running:
					if last != nil {
						t.Errorf("in force is %s, which is lost", last.Commit)
					}
				case last == nil || last.Commit != second:
					t.Errorf("in force is %v, want %s", last, second)
				case !lost[name]:
					checkReadable(t, last)
				}
				mustAccept(t, opt.Dir, other)
				wantFollowed(t, r, s, other)
			})
		}
	}
}

// TestAcceptIsNoticed: a running source is told of an acceptance at once.
func TestAcceptIsNoticed(t *testing.T) {
	r := newRepo(t)
	opt := Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", Dir: filepath.Join(t.TempDir(), "new", "dir"), ForcedPush: Hold}
	s := newSource(t, opt)
	first := r.head()
	ctx, stop := context.WithCancel(context.Background())
	told, ended := make(chan struct{}, 10), make(chan error)
	go func() { ended <- s.Watch(ctx, func() { told <- struct{}{} }) }()
	fetch(t, s)
	r.write("web.yaml", "second\n")
	r.commit("Second")
	snap := fetch(t, s)
	other := r.rewrite(first, "other\n")
	wantHeld(t, s, other, snap)
	for accepted := false; !accepted; { // the watch may not have begun yet
		mustAccept(t, opt.Dir, other)
		select {
		case <-told:
			accepted = true
		case <-time.After(time.Second):
		}
	}
	wantFollowed(t, r, s, other)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
