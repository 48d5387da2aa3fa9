package source

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const allow = "Change\n\nGitvirt-Allow-Removals: "

// TestAllowed: which commits' trailers count, by the way the branch moved.
func TestAllowed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		move   func(r *repo)
		want   int
		forced bool
	}{
		{"the newest", func(r *repo) { r.commit(allow + "3") }, 3, false},
		{"none", func(r *repo) { r.commit("Change") }, 0, false},
		{"one between", func(r *repo) { r.commit(allow + "5"); r.commit("More"); r.commit("More") }, 5, false},
		{"the largest", func(r *repo) { r.commit(allow + "5"); r.commit(allow + "2") }, 5, false},
		{"a merged branch's", func(r *repo) {
			r.git("checkout", "-q", "-b", "side")
			r.git("commit", "-q", "--allow-empty", "-m", allow+"6")
			r.git("checkout", "-q", "main")
			r.git("commit", "-q", "--allow-empty", "-m", "Meanwhile")
			r.git("merge", "-q", "--no-edit", "side")
			r.push()
		}, 6, false},
		{"a merge of what was there before", func(r *repo) {
			r.git("checkout", "-q", "-b", "side", "HEAD~1") // before the commit that allows 9
			r.git("commit", "-q", "--allow-empty", "-m", "Side")
			r.git("checkout", "-q", "main")
			r.git("merge", "-q", "--no-edit", "side")
			r.push()
		}, 0, false},
		{"rewind", func(r *repo) { r.git("reset", "-q", "--hard", "HEAD~2"); r.push() }, 7, true},
		{"forced push", func(r *repo) { r.git("reset", "-q", "--hard", "HEAD~1"); r.commit(allow + "4") }, 4, true},
		{"another history", func(r *repo) {
			r.git("checkout", "-q", "--orphan", "other")
			r.commit(allow + "50")
			r.commit("Change")
			r.git("branch", "-q", "-D", "main")
		}, 50, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit(allow + "7")
			r.commit("Change")
			r.commit(allow + "9") // the last before the move: does not count again
			s := newSource(t, Options{URL: r.bare})
			if first := fetch(t, s); first.Allowed != 9 || first.Forced {
				t.Errorf("first: allowed %d, forced %v: only its own trailer counts", first.Allowed, first.Forced)
			}
			tt.move(r)
			snap := fetch(t, s)
			if snap.Allowed != tt.want || snap.Forced != tt.forced {
				t.Errorf("allowed %d, forced %v, want %d, %v", snap.Allowed, snap.Forced, tt.want, tt.forced)
			}
			// What a trailer allows, it allows after a restart too.
			s.Close()
			s = newSource(t, s.opt)
			if again, err := s.Load(context.Background()); err != nil || again.Allowed != tt.want || again.Forced != tt.forced {
				t.Errorf("after a restart: %+v, %v", again, err)
			}
			// At asks for one commit, whatever came before.
			if at, err := s.At(context.Background(), snap.Commit); err != nil || at.Forced {
				t.Errorf("at: %v, %v", at, err)
			}
		})
	}
}

// TestManyCommits: the walk over new commits is bounded.
func TestManyCommits(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare})
	fetch(t, s)
	tree := r.git("rev-parse", "HEAD^{tree}")
	parent := r.head()
	old := importEmpty(t, r, tree, parent, 0, 50, "S\n\nGitvirt-Allow-Removals: 77")
	head := importEmpty(t, r, tree, old, 50, maxNewCommits+200, "Change")
	snap := fetch(t, s)
	if snap.Commit != head || snap.Forced || snap.Allowed != 0 {
		t.Errorf("forced %v, allowed %d: a trailer further back than %d commits counts", snap.Forced, snap.Allowed, maxNewCommits)
	}
	if err := checkHaves(haves(s.store.objects, plumbing.NewHash(head)), head); err != nil {
		t.Error(err)
	}
}

func checkHaves(list []plumbing.Hash, head string) error {
	if len(list) < 16 || len(list) > 64 || list[0].String() != head {
		return fmt.Errorf("%d haves, the first %v", len(list), list[0])
	}
	return nil
}

// importEmpty makes commits that change nothing on main and returns the last.
func importEmpty(t *testing.T, r *repo, tree, parent string, from, n int, message string) string {
	t.Helper()
	var in string
	for i := range n {
		in += fmt.Sprintf("commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata %d\n%s\n", time.Now().Unix()+int64(from+i), len(message), message)
		if i == 0 {
			in += "from " + parent + "\n"
		}
		in += "M 040000 " + tree + " \n"
	}
	return r.fastImport(in)
}

// TestClocks: commits whose clocks went wrong are walked all the same.
func TestClocks(t *testing.T) {
	r := newRepo(t)
	tree, first := r.git("rev-parse", "HEAD^{tree}"), r.head()
	at := func(parent, message string, when int64) string {
		return r.fastImport(fmt.Sprintf("commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata %d\n%s\nfrom %s\nM 040000 %s \n",
			when, len(message), message, parent, tree))
	}
	s := newSource(t, Options{URL: r.bare})
	base := at(first, allow+"9", 4_000_000_000) // far in the future
	fetch(t, s)
	old := at(base, allow+"3", 1_000)
	at(old, "Change", 2_000)
	if snap := fetch(t, s); snap.Forced || snap.Allowed != 3 {
		t.Errorf("forced %v, allowed %d", snap.Forced, snap.Allowed)
	}
}
