package source

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// watched runs Watch and returns what it announces, as the branch's head at that time.
func watched(t *testing.T, s *Source) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	heads, ended := make(chan string, 100), make(chan error, 1)
	ref := *s.follow
	go func() { ended <- s.Watch(ctx, func() { heads <- headOf(s.at.path, &ref).String() }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return heads
}

// await waits until that head was announced.
func await(t *testing.T, heads <-chan string, want string) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		select {
		case got := <-heads:
			if got == want {
				return
			}
		case <-late:
			t.Fatalf("head %s was never announced", want)
		}
	}
}

// quiet fails when something is announced.
func quiet(t *testing.T, heads <-chan string) {
	t.Helper()
	select {
	case got := <-heads:
		t.Errorf("%s was announced though nothing changed", got)
	case <-time.After(50 * time.Millisecond):
	}
}

var noHead = plumbing.ZeroHash.String()

func TestWatch(t *testing.T) {
	for _, kind := range []string{"bare", "work tree", "file URL"} {
		t.Run(kind, func(t *testing.T) {
			r := newRepo(t)
			url, where := r.bare, r.bare
			switch kind {
			case "work tree":
				url, where = r.dir, r.dir
			case "file URL":
				url = "file://" + r.bare
			}
			s := newSource(t, Options{URL: url})
			fetch(t, s)
			heads := watched(t, s)

			r.write("web.yaml", "second\n")
			await(t, heads, r.commit("Second"))
			// A packed reference moves by another file, and a loose one wins over it.
			git(t, where, "pack-refs", "--all")
			r.write("web.yaml", "third\n")
			await(t, heads, r.commit("Third"))
			// A forced push, the branch's end, and its return.
			r.git("reset", "-q", "--hard", "HEAD~2")
			await(t, heads, r.push())
			back := r.head()
			git(t, where, "pack-refs", "--all")
			git(t, where, "update-ref", "-d", "refs/heads/main")
			await(t, heads, noHead)
			git(t, where, "update-ref", "refs/heads/main", back)
			await(t, heads, back)
			// What does not move the branch is no change.
			git(t, where, "update-ref", "refs/heads/other", back)
			git(t, where, "pack-refs", "--all")
			quiet(t, heads)
		})
	}
}

// TestWatchNested: a branch whose folders come and go.
func TestWatchNested(t *testing.T) {
	r := newRepo(t)
	first := r.head()
	s := newSource(t, Options{URL: r.bare, Branch: "team/a/prod"})
	heads := watched(t, s)
	for range 3 {
		git(t, r.bare, "update-ref", "refs/heads/team/a/prod", first)
		await(t, heads, first)
		if snap := fetch(t, s); snap.Branch != "team/a/prod" {
			t.Errorf("branch %s", snap.Branch)
		}
		git(t, r.bare, "update-ref", "-d", "refs/heads/team/a/prod")
		await(t, heads, noHead)
		// A branch in the place of the folder.
		git(t, r.bare, "update-ref", "refs/heads/team/a", first)
		git(t, r.bare, "update-ref", "-d", "refs/heads/team/a")
	}
}

// TestWatchLater: the repository appears after the watch, goes, and another takes its place.
func TestWatchLater(t *testing.T) {
	r := newRepo(t)
	first := r.head()
	place := filepath.Join(t.TempDir(), "deep", "down", "repo")
	s := newSource(t, Options{URL: place})
	heads := watched(t, s)
	if _, err := s.Fetch(context.Background()); err == nil {
		t.Error("fetched from nowhere")
	}
	git(t, r.dir, "clone", "-q", r.bare, place)
	await(t, heads, first)
	checkWhole(t, r, fetch(t, s), first)
	rename(t, place, place+".old")
	await(t, heads, noHead)
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	git(t, r.dir, "clone", "-q", "--bare", r.bare, place)
	await(t, heads, second)
	checkWhole(t, r, fetch(t, s), second)
	if err := os.RemoveAll(place); err != nil {
		t.Fatal(err)
	}
	await(t, heads, noHead)
	if _, err := s.Fetch(context.Background()); err == nil || s.Last().Commit != second {
		t.Error("the revision went with the repository")
	}
}

// TestWatchBehind: what moved before the watch began is announced.
func TestWatchBehind(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare})
	fetch(t, s)
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	await(t, watched(t, s), second)
}

// TestWatchEnds: nothing stays behind, and what cannot be watched is no error.
func TestWatchEnds(t *testing.T) {
	r := newRepo(t)
	before := runtime.NumGoroutine()
	for _, url := range []string{r.bare, "https://example.org/repo.git"} {
		s := newSource(t, Options{URL: url})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Watch(ctx, func() {}) }()
		if s.at.local() {
			time.Sleep(20 * time.Millisecond)
			cancel()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("Watch does not end")
		}
		cancel()
	}
	goroutinesSettle(t, before)
}
