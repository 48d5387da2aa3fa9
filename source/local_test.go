package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoGitBinary: a repository on the disk is read without a git command on the host.
func TestNoGitBinary(t *testing.T) {
	r := newRepo(t)
	first := r.head()
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	git(t, r.bare, "repack", "-q", "-a", "-d")
	tree := r.tree(second)
	t.Setenv("PATH", "/nonexistent")
	for _, url := range []string{r.bare, r.dir, "file://" + r.bare} {
		s := newSource(t, Options{URL: url})
		if snap := fetch(t, s); snap.Commit != second || listing(snap) != tree {
			t.Errorf("%s: %+v", url, snap)
		}
		if _, err := s.At(context.Background(), first); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalKinds: each way a repository can lie on the disk.
func TestLocalKinds(t *testing.T) {
	r := newRepo(t)
	r.write("web.yaml", "second\n")
	head := r.commit("Second")
	root := filepath.Dir(r.bare)
	linked := filepath.Join(root, "linked")
	r.git("worktree", "add", "-q", "--detach", linked)
	git(t, root, "clone", "-q", "--bare", "--shared", r.bare, filepath.Join(root, "shared.git"))
	git(t, root, "clone", "-q", "--bare", "--reference", filepath.Join(root, "shared.git"), "file://"+r.bare, filepath.Join(root, "referring.git"))
	git(t, root, "clone", "-q", "--bare", r.bare, filepath.Join(root, "packed.git"))
	git(t, filepath.Join(root, "packed.git"), "gc", "-q")
	git(t, root, "init", "-q", "-b", "main", "--separate-git-dir", filepath.Join(root, "separate.git"), filepath.Join(root, "separate"))
	git(t, filepath.Join(root, "separate"), "pull", "-q", r.bare, "main")
	relative := filepath.Join(root, "relative.git")
	git(t, root, "clone", "-q", "--bare", "--shared", r.bare, relative)
	if err := os.WriteFile(filepath.Join(relative, "objects/info/alternates"), []byte("../../repo.git/objects\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	symlink := filepath.Join(root, "symlink")
	if err := os.Symlink(r.bare, symlink); err != nil {
		t.Fatal(err)
	}
	// What is not committed does not count.
	r.write("web.yaml", "not committed\n", "new.yaml", "not committed\n")

	for _, path := range []string{r.bare, r.dir, r.dir + "/.git", linked, root + "/shared.git", root + "/referring.git",
		root + "/packed.git", root + "/separate", relative, symlink} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := newSource(t, Options{URL: path})
			checkWhole(t, r, fetch(t, s), head)
		})
	}
	for path, want := range map[string]string{"nothing": "no such file", "linked/hosts": "is no git repository"} {
		if _, err := newSource(t, Options{URL: filepath.Join(root, path)}).Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestRepackedUnderUs: the repository is packed, pruned and packed again while we follow it.
func TestRepackedUnderUs(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare})
	fetch(t, s)
	for i := range 6 {
		r.write("web.yaml", fmt.Sprintf("%d\n", i), fmt.Sprintf("hosts/h%d/x.yaml", i), "x\n")
		hash := r.commit("Change")
		switch i % 3 {
		case 0:
			git(t, r.bare, "gc", "-q", "--prune=now")
		case 1:
			git(t, r.bare, "repack", "-q", "-a", "-d", "-f")
			git(t, r.bare, "pack-refs", "--all", "--prune")
		}
		checkWhole(t, r, fetch(t, s), hash)
	}
}

// TestShallowLocal: a shallow clone is read as far as it goes, and completed when it is.
func TestShallowLocal(t *testing.T) {
	r := newRepo(t)
	first := r.head()
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	clone := filepath.Join(filepath.Dir(r.bare), "shallow")
	git(t, r.dir, "clone", "-q", "--depth", "1", "file://"+r.bare, clone)
	s := newSource(t, Options{URL: clone, CompactAfter: 1})
	checkWhole(t, r, fetch(t, s), second)
	if _, err := s.At(context.Background(), first); !errors.Is(err, ErrUnknownCommit) {
		t.Errorf("a commit that the clone does not have: %v", err)
	}
	for i := range 3 {
		r.write("web.yaml", fmt.Sprintf("change %d\n", i))
		hash := r.commit("Change")
		git(t, clone, "fetch", "-q", "--depth", "1", "origin", "main")
		git(t, clone, "reset", "-q", "--hard", "FETCH_HEAD")
		checkWhole(t, r, fetch(t, s), hash)
		fetch(t, s) // compacts
	}
	git(t, clone, "pull", "-q", "--unshallow", "origin", "main")
	r.write("web.yaml", "last\n")
	hash := r.commit("Last")
	git(t, clone, "pull", "-q", "origin", "main")
	checkWhole(t, r, fetch(t, s), hash)
	if _, err := s.At(context.Background(), first); err != nil {
		t.Error(err)
	}
}

// TestReadRef: a reference that cannot be read is no older one.
func TestReadRef(t *testing.T) {
	r := newRepo(t)
	first := r.head()
	git(t, r.bare, "pack-refs", "--all")
	r.write("web.yaml", "second\n")
	r.commit("Second")
	main := filepath.Join(r.bare, "refs/heads/main")
	s := newSource(t, Options{URL: r.bare})
	last := fetch(t, s)
	for _, text := range []string{"", "garbage\n", last.Commit[:20], "ref: ../../config\n", "ref: refs/heads/main\n"} {
		if err := os.WriteFile(main, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if snap, err := s.Fetch(context.Background()); err == nil || snap != nil {
			t.Errorf("a branch that says %q: %v", text, snap)
		}
	}
	if err := os.WriteFile(main, []byte("ref: refs/heads/real\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, r.bare, "update-ref", "refs/heads/real", first)
	checkWhole(t, r, fetch(t, s), first)
	config := filepath.Join(r.bare, "config")
	if err := os.WriteFile(config, []byte("[extensions]\n\trefStorage = reftable\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(main)
	os.Remove(filepath.Join(r.bare, "packed-refs"))
	if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "reftable") {
		t.Errorf("references that are kept elsewhere: %v", err)
	}
}

// TestConcurrent uses one source from many goroutines; the race detector judges.
func TestConcurrent(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare, CompactAfter: 5})
	first := fetch(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 4)
	for i := range 4 {
		go func() {
			var err error
			for err == nil && ctx.Err() == nil {
				snap := s.Last()
				for _, e := range snap.Entries {
					if _, err = snap.Read(e); err != nil {
						break
					}
				}
				if i == 0 && err == nil {
					_, err = s.At(context.Background(), first.Commit)
				}
			}
			ended <- err
		}()
	}
	for i := range 15 {
		r.write("web.yaml", fmt.Sprintf("change %d\n", i))
		hash := r.commit("Change")
		checkWhole(t, r, fetch(t, s), hash)
		fetch(t, s)
	}
	cancel()
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
