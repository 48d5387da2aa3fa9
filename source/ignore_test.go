package source

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// left is what rules leave out of paths of files, folders first, as the walk asks.
func (r rules) left(path string) bool {
	parts := strings.Split(path, "/")
	for n := range parts {
		if r.leftOut(parts[:n+1], n < len(parts)-1) {
			return true
		}
	}
	return false
}

// TestIgnoreAsGit: what an ignore file leaves out is what git leaves out with the same lines.
func TestIgnoreAsGit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "ab", "a.md", "b.yaml"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var paths []string
	for _, x := range names {
		paths = append(paths, x)
		for _, y := range names {
			paths = append(paths, x+"d/"+y, x+"d/"+y+"d/"+pick(names))
		}
	}
	for range 100 {
		var lines []string
		for range 1 + r.IntN(4) {
			p := pick([]string{"", "", "!", "/"})
			for n := range 1 + r.IntN(3) {
				if n > 0 {
					p += "/"
				}
				p += pick([]string{"a", "ad", "*", "**", "*.md", "?", "[ab]", "b*", "bd", "[!a]d", `\\a*`, "[[:alpha:]]d", "[a-b]?", "a[]b]d"})
			}
			lines = append(lines, p+pick([]string{"", "", "/"}))
		}
		text := strings.Join(lines, "\n") + "\n"
		dir := t.TempDir()
		git(t, dir, "init", "-q")
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "check-ignore", "--no-index", "--stdin")
		cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(), strings.NewReader(strings.Join(paths, "\n")+"\n")
		out, err := cmd.Output()
		if err != nil && len(out) > 0 {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			want[strings.TrimSpace(line)] = true
		}
		rules := rules{}.with(nil, []byte(text))
		for _, p := range paths {
			if got := rules.left(p); got != want[p] {
				t.Errorf("%s is left out: %v, and by git: %v, with\n%s", p, got, want[p], text)
			}
		}
	}
}

// FuzzIgnore: no ignore file breaks the walk, equal ones have equal keys, and others have others.
func FuzzIgnore(f *testing.F) {
	f.Add([]byte("*.md\n!a/b\n/left/\r\n"), []byte("\ufeff# x\n"), "a/b/c.yaml")
	f.Add([]byte("[\n\\\n**/**/\n!\n"), []byte("a\x00b\n/\n//\n"), "x")
	f.Fuzz(func(t *testing.T, one, two []byte, path string) {
		r := rules{}.with(nil, one)
		if again := (rules{}).with(nil, one); again.key != r.key {
			t.Error("the same file has two keys")
		}
		deeper := r.with([]string{"a"}, two)
		if deeper.key == r.key {
			t.Error("another ignore file has no other key")
		}
		if other := (rules{}).with(nil, two); !bytes.Equal(bytes.TrimPrefix(one, []byte("\ufeff")), bytes.TrimPrefix(two, []byte("\ufeff"))) && other.key == r.key {
			t.Error("two files have one key")
		}
		if path == "" || strings.Contains(path, "//") || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
			return
		}
		left := deeper.left(path)
		if without := deeper.without(strings.Split(path, "/")); !strings.HasPrefix(filepath.Base(path), ".") && without.leftOut(strings.Split(path, "/"), true) {
			t.Errorf("%q was asked for by name, and is left out (%v before)", path, left)
		}
	})
}
