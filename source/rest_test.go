package source

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// TestRest looks at what is kept in memory of what was read, and reads it again.
func TestRest(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		s := newSource(t, opt)
		fetch(t, s) // after a first fetch nothing stays open of a local repository
		r.write("web.yaml", "second\n")
		r.commit("Second")
		snap := fetch(t, s)
		kept := func(o *objects) (n int) {
			for _, e := range snap.Entries {
				for _, c := range o.caches {
					if _, ok := c.Get(plumbing.NewHash(e.Hash)); ok {
						n++
					}
				}
			}
			return n
		}
		if local, ok := s.remote.(*localRemote); ok && (local.open == nil || kept(local.open) != 0) {
			t.Error("of a local repository more than the indexes is kept")
		}
		checkReadable(t, snap)
		if kept(s.store.objects) == 0 {
			t.Error("nothing is kept, so that this test shows nothing")
		}
		snap.Rest()
		if n := kept(s.store.objects); n != 0 {
			t.Errorf("%d files are kept", n)
		}
		checkReadable(t, snap)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		snap.Rest()
	}, "path", "http")
}
