package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestEntries(t *testing.T) {
	r := newRepo(t)
	r.write(
		".github/workflow.yaml", "x", ".hidden.yaml", "x", "a/.b/c.yaml", "x",
		"a-b.yaml", "x", "a/z.yaml", "x", "a0.yaml", "x",
		"ignored/x.yaml", "x", "notes.md", "x", "sub/notes.md", "x", "sub/keep.md", "x", "sub/deep/keep.md", "x",
		"sub/only/x.yaml", "x", "other/only/x.yaml", "x", "\"odd\" näme.yaml", "x",
		ignoreFile, "# a comment\n\n*.md\n/ignored/\r\n!keep.md\n",
		"sub/"+ignoreFile, "/only\nkeep.md\n!deep/keep.md\n",
	)
	if err := os.Symlink("web.yaml", filepath.Join(r.dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(r.dir, "etc")); err != nil {
		t.Fatal(err)
	}
	r.git("update-index", "--add", "--cacheinfo", "160000,"+r.head()+",module")
	r.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("add", ".", ":!module")
	r.git("commit", "-q", "-m", "All kinds")
	r.push()

	for _, tt := range []struct{ path, want string }{
		{"", `"odd" näme.yaml a-b.yaml a/z.yaml a0.yaml hosts/kvm1/a.yaml hosts/kvm2/b.yaml other/only/x.yaml run.sh sub/deep/keep.md web.yaml`},
		{"hosts", "kvm1/a.yaml kvm2/b.yaml"},
		{"hosts/kvm2/", "b.yaml"},
		{"sub", "deep/keep.md"},      // the ignore files above count
		{"ignored", "x.yaml"},        // but what was asked for by name is not ignored itself
		{"./a", "z.yaml"},            // nor is a folder below
		{".github", "workflow.yaml"}, // nor a dot-folder
	} {
		s := newSource(t, Options{URL: r.bare, Path: tt.path})
		snap := fetch(t, s)
		if got := paths(snap); got != tt.want {
			t.Errorf("path %q:\n%s\nwant\n%s", tt.path, got, tt.want)
		}
		checkReadable(t, snap)
	}
	for _, path := range []string{"nowhere", "web.yaml", "etc", "module", "link.yaml/x"} {
		s := newSource(t, Options{URL: r.bare, Path: path})
		for range 2 {
			if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "is not a folder of the commit") {
				t.Errorf("path %q: %v", path, err)
			}
		}
	}
}

// TestPathGone: that the folder of the documents is gone is no reason to remove what they describe.
func TestPathGone(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		opt.Path = "hosts"
		s := newSource(t, opt)
		last := fetch(t, s)
		r.git("mv", "hosts", "machines")
		r.commit("Moved")
		for range 2 {
			if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), `path "hosts"`) {
				t.Fatal(err)
			}
		}
		if s.Last() != last {
			t.Error("the last snapshot changed")
		}
		r.git("mv", "machines", "hosts")
		r.write("hosts/kvm1/a.yaml", "new\n")
		r.commit("Moved back")
		if got := paths(fetch(t, s)); got != "kvm1/a.yaml kvm2/b.yaml" {
			t.Error(got)
		}
	}, "path", "http")
}

// TestEverythingIsRead: what does not count for the entries is read too; a store that lacks it is broken.
func TestEverythingIsRead(t *testing.T) {
	r := newRepo(t)
	r.write(".github/x.yaml", "a dot-folder's\n", ignoreFile, "*.md\n/left/\n", "left/out.yaml", "left out\n")
	if err := os.Symlink("web.yaml", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.commit("More")
	for _, object := range []string{".github", ".github/x.yaml", "README.md", "left", "left/out.yaml", "link", ignoreFile} {
		hash := r.git("rev-parse", "HEAD:"+object)
		bare := filepath.Join(t.TempDir(), "copy.git")
		if err := os.CopyFS(bare, os.DirFS(r.bare)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(bare, "objects", hash[:2], hash[2:])); err != nil {
			t.Fatal(err)
		}
		if _, err := newSource(t, Options{URL: bare}).Fetch(context.Background()); !errors.Is(err, ErrIncomplete) {
			t.Errorf("without %s: %v", object, err)
		}
	}
}

// TestReuse counts what a new revision makes us read, in a repository of 2,000 files.
func TestReuse(t *testing.T) {
	r := newRepo(t)
	var files []string
	for d := range 40 {
		for _, f := range numbered("f%d.yaml", 50) {
			files = append(files, fmt.Sprintf("d%d/s/%s", d, f), f)
		}
	}
	r.importCommit("Many", files...)
	s := newSource(t, Options{URL: r.bare})
	snap := fetch(t, s)
	for _, tt := range []struct {
		name  string
		max   int
		files []string
	}{
		{"a changed file", 4, []string{"d3/s/f7.yaml", "changed"}},
		{"a new file", 4, []string{"d3/s/new.yaml", "new"}},
		{"a file in place of a folder's neighbour", 4, []string{"d3/s.yaml", "new"}},
		{"an ignore file in a folder", 4, []string{"d4/s/" + ignoreFile, "f1.yaml\n"}},
		{"an ignore file for all: trees, and the ignore file", 1 + 40*2 + 3 + 1, []string{ignoreFile, "f2.yaml\n"}},
	} {
		to := r.importCommit("Change", tt.files...)
		next := fetch(t, s)
		w := &walker{ctx: context.Background(), from: s.store.objects}
		root, err := w.walk(treeOf(t, s, to), "", snap.root)
		if err != nil {
			t.Fatal(err)
		}
		if w.read > tt.max {
			t.Errorf("%s: read %d objects, want at most %d", tt.name, w.read, tt.max)
		}
		afresh, err := (&walker{ctx: context.Background(), from: s.store.objects}).walk(treeOf(t, s, to), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(root.entries()), fmt.Sprint(afresh.entries()); a != b || a != fmt.Sprint(next.Entries) {
			t.Errorf("%s: what was taken over differs from what is there", tt.name)
		}
		snap = next
	}
}

func treeOf(t *testing.T, s *Source, commit string) plumbing.Hash {
	t.Helper()
	c, err := s.store.commit(plumbing.NewHash(commit))
	if err != nil {
		t.Fatal(err)
	}
	return c.TreeHash
}

// TestFolder reads the same files from the disk as from the commit.
func TestFolder(t *testing.T) {
	r := newRepo(t)
	r.write(".github/x.yaml", "x", "a-b.yaml", "1", "a/b.yaml", "2", "a0.yaml", "3", "x.md", "x", "sub/y.md", "x", ignoreFile, "*.md\n")
	r.commit("Files")
	snap, err := Folder(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fetch(t, newSource(t, Options{URL: r.bare}))
	if fmt.Sprint(snap.Entries) != fmt.Sprint(want.Entries) {
		t.Errorf("%v\nwant\n%v", snap.Entries, want.Entries)
	}
	checkReadable(t, snap)
}
