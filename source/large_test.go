package source

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLargeFilesAreNotRead: a file that would not fit into the agent's memory neither ends it nor looks like one that is
// gone; it cannot be read, and that is said.
func TestLargeFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	giant := filepath.Join(dir, "giant.yaml")
	if err := os.WriteFile(giant, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(giant, maxFile+1); err != nil {
		t.Fatal(err)
	}
	check := func(what string, s *Snapshot) {
		t.Helper()
		if len(s.Entries) != 2 || s.Entries[0].Path != "giant.yaml" || s.Entries[0].Size != maxFile+1 {
			t.Fatalf("%s: the entries are %+v", what, s.Entries)
		}
		for range 2 {
			if _, err := s.Read(s.Entries[0]); !errors.Is(err, errTooLarge) {
				t.Errorf("%s: reading it gives %v", what, err)
			}
		}
		if data, err := s.Read(s.Entries[1]); err != nil || string(data) != "a: b\n" {
			t.Errorf("%s: the other one is %q, %v", what, data, err)
		}
	}
	s, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	check("a folder", s)
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "-m", "Large")
	src, err := New(Options{URL: dir, Branch: "main", Dir: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for range 2 {
		s, err := src.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("a repository", s)
	}
	if src.broken.Load() {
		t.Error("a large file counts as a broken store")
	}
}
