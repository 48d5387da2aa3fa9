package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		s := newSource(t, opt)
		if s.Last() != nil {
			t.Error("a snapshot before the first fetch")
		}
		one := r.head()
		first := fetch(t, s)
		checkWhole(t, r, first, one)
		if first.Forced || first.Allowed != 0 || first.Branch != "main" || first.Time.IsZero() {
			t.Errorf("first: %+v", first)
		}
		if again := fetch(t, s); again != first || s.Last() != first {
			t.Error("another snapshot though nothing changed")
		}

		r.write("web.yaml", "name: web2\n", "new/dir/c.yaml", "name: c\n")
		os.Remove(filepath.Join(r.dir, "README.md"))
		two := r.commit("Second")
		second := fetch(t, s)
		checkWhole(t, r, second, two)
		if second.Forced || s.Last() != second {
			t.Errorf("second: forced %v", second.Forced)
		}
		checkReadable(t, first)

		old, err := s.At(context.Background(), one)
		if err != nil {
			t.Fatal(err)
		}
		checkWhole(t, r, old, one)
		if short, err := s.At(context.Background(), one[:9]); err != nil || short.Commit != one {
			t.Errorf("a shortened name: %v", err)
		}
		if _, err := s.At(context.Background(), strings.Repeat("0", 40)); !errors.Is(err, ErrUnknownCommit) {
			t.Errorf("a commit that is nowhere: %v", err)
		}
		if s.Last() != second {
			t.Error("At changed the last snapshot")
		}
		if s.store.loose == 0 || s.store.loose > 15 {
			t.Errorf("the second fetch left %d loose objects: it must bring what is new, and that alone", s.store.loose)
		}
	})
}

// TestRewritten moves the branch in each way that loses subtrees in a shallow store.
func TestRewritten(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		s := newSource(t, opt)
		ctx := context.Background()
		first := r.head()
		fetch(t, s)
		r.write("hosts/kvm1/a.yaml", "name: a2\n", "deep/er/d.yaml", "name: d\n")
		second := r.commit("Second")
		fetch(t, s)

		steps := []struct {
			name   string
			forced bool
			change func() string
		}{
			{"forced push that reverts a file", true, func() string {
				r.git("reset", "-q", "--hard", first)
				r.write("deep/er/d.yaml", "name: d\n", "other.yaml", "x: y\n")
				return r.commit("Instead of second")
			}},
			{"rewind", true, func() string { r.git("reset", "-q", "--hard", first); return r.push() }},
			{"forward again", false, func() string { r.git("reset", "-q", "--hard", second); return r.push() }},
			{"revert", false, func() string { r.git("revert", "--no-edit", "HEAD"); return r.push() }},
			{"revert of the revert", false, func() string { r.git("revert", "--no-edit", "HEAD"); return r.push() }},
			{"branch recreated without a common commit", true, func() string {
				r.git("push", "-q", "origin", "HEAD:refs/heads/elsewhere", ":main")
				r.git("checkout", "-q", "--orphan", "other")
				r.git("rm", "-q", "-r", "--cached", "deep")
				return r.commit("New beginning")
			}},
			{"merge of the old history", false, func() string {
				r.git("add", "-A")
				r.git("commit", "-q", "-m", "Rest", "--allow-empty")
				r.git("merge", "-q", "--allow-unrelated-histories", "-X", "ours", "--no-edit", second)
				return r.push()
			}},
		}
		for _, step := range steps {
			hash := step.change()
			snap, err := s.Fetch(ctx)
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			checkWhole(t, r, snap, hash)
			if snap.Forced != step.forced {
				t.Errorf("%s: forced %v, want %v", step.name, snap.Forced, step.forced)
			}
		}

		last := s.Last()
		r.git("push", "-q", "origin", "HEAD:refs/heads/elsewhere2", ":main")
		for range 2 {
			if snap, err := s.Fetch(ctx); snap != nil || !errors.Is(err, ErrBranchGone) {
				t.Fatalf("branch deleted: %v, %v", snap, err)
			}
		}
		if s.Last() != last {
			t.Error("the last snapshot went with the branch")
		}
		checkReadable(t, last)
		hash := r.push()
		if snap := fetch(t, s); snap != last || snap.Commit != hash {
			t.Error("the branch came back as it was, and another snapshot was made")
		}
		git(t, s.path(storeDir), "fsck", "--strict", "--connectivity-only")
	}, "path", "http", "http version 0", "git")
}

// TestRestart: a new process finds the last good revision, with the remote and without.
func TestRestart(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		ctx := context.Background()
		s := newSource(t, opt)
		if _, err := s.Load(ctx); !errors.Is(err, ErrNoRevision) {
			t.Fatalf("an empty store: %v", err)
		}
		fetch(t, s)
		r.write("web.yaml", "two\n")
		second := r.commit("Second\n\nGitvirt-Allow-Removals: 4")
		fetch(t, s)
		s.Close()
		if _, err := s.Fetch(ctx); !errors.Is(err, ErrClosed) {
			t.Fatalf("after Close: %v", err)
		}

		away := r.bare + ".away"
		if err := os.Rename(r.bare, away); err != nil {
			t.Fatal(err)
		}
		s = newSource(t, opt)
		if snap, err := s.Fetch(ctx); err == nil || snap != nil {
			t.Fatal("fetched from a repository that is not there")
		}
		last, err := s.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if last != s.Last() {
			t.Error("Load and Last differ")
		}
		if last.Allowed != 4 {
			t.Errorf("allowed %d after a restart, want 4 as before", last.Allowed)
		}
		if _, err := s.At(ctx, second); err != nil {
			t.Error(err)
		}
		if err := os.Rename(away, r.bare); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, r, last, second)
		if snap := fetch(t, s); snap != last {
			t.Error("another snapshot though nothing changed")
		}
		s.Close()

		// What was committed while no process ran comes after what the former one accepted.
		r.write("web.yaml", "three\n")
		r.commit("Third\n\nGitvirt-Allow-Removals: 7")
		r.write("web.yaml", "four\n")
		fourth := r.commit("Fourth")
		s = newSource(t, opt)
		snap := fetch(t, s)
		checkWhole(t, r, snap, fourth)
		if snap.Allowed != 7 || snap.Forced {
			t.Errorf("allowed %d, forced %v", snap.Allowed, snap.Forced)
		}
	}, "path", "http", "git")
}

// TestManyObjects takes the ways of large transfers: several packs, and many loose objects.
func TestManyObjects(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		n := 1200
		if opt.URL == r.bare {
			n = 5000 // more objects than go into one pack
		}
		var files []string
		for i, path := range numbered("many/d%d/f.yaml", n) {
			files = append(files, path, "number: "+strings.Repeat("x", i%50)+path+"\n")
		}
		files = append(files, "big.bin", strings.Repeat("0123456789abcdef", 400_000))
		hash := r.importCommit("Many", files...)
		s := newSource(t, opt)
		checkWhole(t, r, fetch(t, s), hash)
		for i := range files {
			files[i] = strings.Replace(files[i], "number: ", "changed: ", 1)
		}
		hash = r.importCommit("Change", files[:600]...)
		checkWhole(t, r, fetch(t, s), hash)
		git(t, s.path(storeDir), "fsck", "--strict")
	}, "path", "http", "git")
}

func TestOtherRepository(t *testing.T) {
	a, b := newRepo(t), newRepo(t)
	b.write("only-in-b.yaml", "x")
	b.commit("B")
	dir := t.TempDir()
	s := newSource(t, Options{URL: a.bare, Dir: dir})
	fetch(t, s)
	s.Close()
	s = newSource(t, Options{URL: b.bare, Dir: dir})
	if _, err := s.Load(context.Background()); !errors.Is(err, ErrNoRevision) {
		t.Fatalf("loaded another repository's revision: %v", err)
	}
	snap := fetch(t, s)
	checkWhole(t, b, snap, b.head())
	if snap.Forced {
		t.Error("another repository is no rewritten branch")
	}
}

func TestInUse(t *testing.T) {
	r := newRepo(t)
	dir := t.TempDir()
	one := newSource(t, Options{URL: r.bare, Dir: dir})
	fetch(t, one)
	two := newSource(t, Options{URL: r.bare, Dir: dir})
	if _, err := two.Fetch(context.Background()); !errors.Is(err, ErrInUse) {
		t.Fatalf("two users of one store: %v", err)
	}
	one.Close()
	fetch(t, two)
}
