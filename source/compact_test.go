package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCompact: the store is written afresh past its limit of loose objects, without the remote's help, and nothing
// that may still be asked for is lost.
func TestCompact(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		opt.CompactAfter = 20
		s := newSource(t, opt)
		fetch(t, s)
		r.write("gone.yaml", "only before the branch was rewritten\n")
		rewritten := r.commit("Will be rewritten")
		before := fetch(t, s)
		r.git("reset", "-q", "--hard", "HEAD^")
		commits := []string{}
		for i := range 12 {
			r.write("web.yaml", fmt.Sprintf("name: web%d\n", i))
			commits = append(commits, r.commit("Change"))
			last := fetch(t, s)
			checkWhole(t, r, last, commits[i])
			if again := fetch(t, s); again != last {
				t.Fatal("another snapshot though nothing changed")
			}
			if s.store.loose > opt.CompactAfter {
				t.Fatalf("%d loose objects are left after a poll", s.store.loose)
			}
		}
		checkReadable(t, before)
		if _, err := s.At(context.Background(), rewritten); err != nil {
			t.Error(err)
		}
		for _, c := range commits {
			if snap, err := s.At(context.Background(), c); err != nil {
				t.Error(err)
			} else {
				checkWhole(t, r, snap, c)
			}
		}
		git(t, s.path(storeDir), "fsck", "--strict")
		for _, name := range []string{freshDir, goneDir} {
			if _, err := os.Stat(s.path(name)); err == nil {
				t.Errorf("%s is left over", name)
			}
		}
	}, "path", "http")
}

// TestCompactBrokenStore: what cannot be read cannot be written afresh; it is fetched again.
func TestCompactBrokenStore(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", CompactAfter: 1})
	fetch(t, s)
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	r.write("web.yaml", "third\n")
	third := r.commit("Third")
	s.opt.CompactAfter = 100
	last := fetch(t, s)
	// A part of history is lost that no snapshot reads.
	if err := os.Remove(filepath.Join(s.store.dir, "objects", second[:2], second[2:])); err != nil {
		t.Fatal(err)
	}
	s.opt.CompactAfter = 1
	for range 2 {
		if snap := fetch(t, s); snap != last {
			t.Error("another snapshot though nothing changed")
		}
	}
	checkWhole(t, r, last, third)
	if _, err := s.At(context.Background(), second); err != nil {
		t.Error(err)
	}
	git(t, s.path(storeDir), "fsck", "--strict")
}

// TestKilled: whatever a killed process left, the next one finds a store or makes one.
func TestKilled(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, s *Source)
		load bool // the revision is there without the remote
	}{
		{"while cloning", func(t *testing.T, s *Source) { mkdir(t, s.path(freshDir)+"/objects/pack") }, true},
		{"between the renames", func(t *testing.T, s *Source) {
			mkdir(t, s.path(freshDir)+"/objects/pack")
			rename(t, s.path(storeDir), s.path(goneDir))
		}, true},
		{"before the old store was removed", func(t *testing.T, s *Source) { mkdir(t, s.path(goneDir)+"/objects") }, true},
		{"while receiving", func(t *testing.T, s *Source) {
			for _, name := range []string{"incoming-1.pack", ".tmp-1", "objects/pack/tmp_pack_1", "objects/pack/tmp_obj_1"} {
				if err := os.WriteFile(filepath.Join(s.path(storeDir), name), []byte("PACK"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, true},
		{"before the record was written", func(t *testing.T, s *Source) {
			if err := os.Remove(filepath.Join(s.path(storeDir), recordFile)); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			dir := t.TempDir()
			s := newSource(t, Options{URL: r.bare, Dir: dir})
			fetch(t, s)
			s.Close()
			tt.make(t, s)
			s = newSource(t, Options{URL: r.bare, Dir: dir})
			if _, err := s.Load(context.Background()); (err == nil) != tt.load {
				t.Errorf("load: %v", err)
			}
			checkWhole(t, r, fetch(t, s), r.head())
			r.write("web.yaml", "more\n")
			more := r.commit("More")
			checkWhole(t, r, fetch(t, s), more)
			s.Close()
			for _, pattern := range []string{"incoming*", ".tmp*", "objects/pack/tmp*"} {
				if left, _ := filepath.Glob(filepath.Join(dir, storeDir, pattern)); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 3 { // the lock, the store, and what is in force
				t.Errorf("left over: %v", entries)
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
