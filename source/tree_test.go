package source

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func rawTree(lines ...string) []byte {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\x00" + strings.Repeat("h", len(plumbing.Hash{})))
	}
	return []byte(b.String())
}

func TestParseTree(t *testing.T) {
	got, err := parseTree(rawTree("100644 a", "100644 a-b", "40000 a", "100755 a0", "120000 link", "160000 module"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []entryKind
	for _, e := range got {
		kinds = append(kinds, e.kind)
	}
	want := []entryKind{kindFile, kindFile, kindFolder, kindFile, kindLink, kindSubmodule}
	for i := range want {
		if kinds[i] != want[i] {
			t.Errorf("%s: kind %d, want %d", got[i].name, kinds[i], want[i])
		}
	}
	for name, data := range map[string][]byte{
		"no mode":       []byte("100644"),
		"no hash":       []byte("100644 a\x00short"),
		"unknown mode":  rawTree("100000 a"),
		"no name":       rawTree("100644 "),
		"parent folder": rawTree("40000 .."),
		"this folder":   rawTree("40000 ."),
		"slash":         rawTree("100644 a/b"),
		"wrong order":   rawTree("100644 b", "100644 a"),
		"folder order":  rawTree("40000 a", "100644 a-b"),
		"twice":         rawTree("100644 a", "100644 a"),
	} {
		if _, err := parseTree(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzParseTree: what parses is in order and stays in its folder.
func FuzzParseTree(f *testing.F) {
	f.Add(rawTree("100644 a", "40000 b"))
	f.Add(rawTree("40000 ..", "120000 x"))
	f.Add([]byte("100644 \x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseTree(data)
		if err != nil {
			return
		}
		for i, e := range entries {
			if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsAny(e.name, "/\x00") {
				t.Errorf("name %q", e.name)
			}
			if i > 0 && compareEntries(entries[i-1], e) >= 0 {
				t.Errorf("%q after %q", e.name, entries[i-1].name)
			}
		}
	})
}

// FuzzServerAnswers: whatever a server says, there is an answer or an error.
func FuzzServerAnswers(f *testing.F) {
	hash := strings.Repeat("1", 40)
	for _, s := range []string{
		pktLine(hash+" refs/heads/main\n") + "0000", pktLine("packfile\n") + pktLine("\x01PACK") + "0000",
		pktLine("NAK\n") + pktLine("\x01x"), pktLine("ERR no"), pktLine("shallow-info\n"), "0000", "0001", "ffff", "",
		pktLine(hash+" HEAD\x00side-band-64k\n") + "0000", pktLine("\x03fatal"),
	} {
		f.Add([]byte(s))
	}
	ref := &followed{branch: "refs/heads/main"}
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := readLsRefs(strings.NewReader(string(data)), ref); err == nil && h.IsZero() {
			t.Error("ls-refs: neither a commit nor an error")
		}
		if _, caps, err := readAdvertised(strings.NewReader(string(data)), ref); err == nil && caps == nil {
			t.Error("advertised: neither capabilities nor an error")
		}
		if r, err := readFetch(strings.NewReader(string(data))); err == nil {
			if _, err := spoolPack(discard{}, r); err == nil {
				checkPack(t, data)
			}
		}
		if r, err := readUpload(strings.NewReader(string(data))); err == nil {
			if _, err := spoolPack(discard{}, r); err == nil {
				checkPack(t, data)
			}
		}
	})
}

func checkPack(t *testing.T, data []byte) {
	if !strings.Contains(string(data), "PACK") {
		t.Error("a pack out of nothing")
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestHandMadeTrees: trees that git would not write make no revision.
func TestHandMadeTrees(t *testing.T) {
	for _, name := range []string{"..", ".", "a/b"} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			s := newSource(t, Options{URL: r.bare})
			last := fetch(t, s)
			blob := plumbing.NewHash(r.git("rev-parse", "HEAD:web.yaml"))
			cmd := exec.Command("git", "-C", r.bare, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
			cmd.Env = gitEnv()
			cmd.Stdin = strings.NewReader("100644 " + name + "\x00" + string(blob[:]))
			tree, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			commit := git(t, r.bare, "commit-tree", "-p", "main", "-m", "Bad", strings.TrimSpace(string(tree)))
			git(t, r.bare, "update-ref", "refs/heads/main", commit)
			if snap, err := s.Fetch(t.Context()); err == nil || snap != nil || !strings.Contains(err.Error(), "malformed tree") {
				t.Errorf("%v, %v", snap, err)
			}
			if s.Last() != last {
				t.Error("the last snapshot changed")
			}
		})
	}
}
