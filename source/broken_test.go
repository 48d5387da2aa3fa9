package source

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestBrokenStore damages each file of the store in each way. The next fetch mends it, in the same process and in a
// new one, or the damage is to nothing that a revision needs.
func TestBrokenStore(t *testing.T) {
	damages := []struct {
		name string
		do   func(path string, data []byte) error
	}{
		{"truncated", func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/2], 0o600) }},
		{"emptied", func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) }},
		{"deleted", func(path string, _ []byte) error { return os.Remove(path) }},
		{"garbled", func(path string, data []byte) error {
			for i := range data {
				data[i] ^= byte(i*7 + 1)
			}
			return os.WriteFile(path, data, 0o600)
		}},
		{"one bit flipped", func(path string, data []byte) error {
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o600)
		}},
		{"made a folder", func(path string, _ []byte) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		}},
	}
	r := newRepo(t)
	opt := Options{URL: r.bare, Dir: filepath.Join(t.TempDir(), "good")}
	s := newSource(t, opt)
	fetch(t, s)
	r.write("web.yaml", "second\n")
	r.commit("Second")
	fetch(t, s)
	s.Close()
	good := opt.Dir
	var files []string
	filepath.WalkDir(good, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != lockFile {
			rel, _ := filepath.Rel(good, path)
			files = append(files, rel)
		}
		return err
	})
	if len(files) < 8 {
		t.Fatalf("the store has only %v", files)
	}

	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for _, file := range files {
				for _, running := range []bool{false, true} {
					opt := opt
					opt.Dir = filepath.Join(t.TempDir(), "copy")
					if err := os.CopyFS(opt.Dir, os.DirFS(good)); err != nil {
						t.Fatal(err)
					}
					s := newSource(t, opt)
					if running {
						fetch(t, s)
					}
					path := filepath.Join(opt.Dir, file)
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := d.do(path, data); err != nil {
						t.Fatal(err)
					}
					snap, err := s.Fetch(context.Background())
					if err != nil {
						t.Errorf("%s, running %v: %v", file, running, err)
						continue
					}
					for _, e := range snap.Entries {
						if _, err := s.Last().Read(e); err != nil && !running {
							t.Errorf("%s: %v", file, err)
						}
					}
					// A loose object of a running process is found broken by its first reader, and mended then.
					checkWhole(t, r, fetch(t, s), r.head())
					s.Close()
				}
			}
		})
	}
}

// TestBrokenStoreAndRemote: a broken store stays as it is until there is a better one.
func TestBrokenStoreAndRemote(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare})
	last := fetch(t, s)
	packs, _ := filepath.Glob(filepath.Join(s.path(storeDir), "objects/pack/*.idx"))
	for _, p := range packs {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	rename(t, r.bare, r.bare+".away")
	for range 2 {
		if snap, err := s.Fetch(context.Background()); err == nil || snap != nil || s.Last() != last {
			t.Fatalf("%v, %v", snap, err)
		}
	}
	rename(t, r.bare+".away", r.bare)
	if snap := fetch(t, s); snap != last {
		t.Error("mended, and another snapshot though nothing changed")
	}
	checkWhole(t, r, last, r.head())
}

// TestMissingSubtree: a repository that lacks a subtree or a blob is no revision, by whatever way it comes.
func TestMissingSubtree(t *testing.T) {
	for _, object := range []string{"HEAD:hosts/kvm1", "HEAD:hosts/kvm1/a.yaml", "HEAD:hosts", "HEAD^{tree}"} {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			for _, tr := range transports {
				// What does not come is noticed in the store, and what a server says then is the same for all objects.
				if tr.name != "path" && tr.name != "http" && (object != "HEAD:hosts/kvm1" || tr.name == "file" || tr.name == "ssh version 0") {
					continue
				}
				r := newRepo(t)
				s := newSource(t, tr.options(t, r))
				last := fetch(t, s)
				r.write("hosts/kvm1/a.yaml", "changed\n", "web.yaml", "changed\n")
				second := r.commit("Second")
				hash := r.git("rev-parse", object)
				path := filepath.Join(r.bare, "objects", hash[:2], hash[2:])
				rename(t, path, path+".away")
				for range 2 {
					if snap, err := s.Fetch(context.Background()); err == nil || snap != nil {
						t.Fatalf("a revision without %s", object)
					}
				}
				if s.Last() != last {
					t.Error("the last snapshot changed")
				}
				checkReadable(t, last)
				rename(t, path+".away", path)
				s.held.until = time.Time{}
				checkWhole(t, r, fetch(t, s), second)
			}
		})
	}
}

// TestLyingServer: a server sends a pack that is whole by its checksum and lacks a subtree, as shallow stores brought
// about. It is asked for the whole commit once more, and then held off until the branch moves on.
func TestLyingServer(t *testing.T) {
	r := newRepo(t)
	var missing atomic.Value
	var requests atomic.Int32
	missing.Store("")
	honest := gitHTTP(t, filepath.Dir(r.bare))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		lack := missing.Load().(string)
		if lack == "" || !strings.Contains(string(body), "command=fetch") {
			honest.ServeHTTP(w, req)
			return
		}
		requests.Add(1)
		var list []string
		for _, line := range strings.Split(git(t, r.bare, "rev-list", "--objects", "main"), "\n") {
			if hash, _, _ := strings.Cut(line, " "); hash != lack {
				list = append(list, hash)
			}
		}
		cmd := exec.Command("git", "-C", r.bare, "pack-objects", "-q", "--stdout")
		cmd.Env = gitEnv()
		cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
		pack, err := cmd.Output()
		if err != nil {
			t.Error(err)
		}
		io.WriteString(w, "000dpackfile\n")
		for len(pack) > 0 {
			n := min(len(pack), 1000)
			io.WriteString(w, pktLine("\x01"+string(pack[:n])))
			pack = pack[n:]
		}
		io.WriteString(w, "0000")
	}))
	t.Cleanup(server.Close)

	s := newSource(t, Options{URL: server.URL + "/repo.git"})
	last := fetch(t, s)
	r.write("hosts/kvm1/a.yaml", "changed\n")
	r.commit("Second")
	missing.Store(r.git("rev-parse", "HEAD:hosts/kvm1"))
	for range 4 {
		snap, err := s.Fetch(context.Background())
		if snap != nil || !errors.Is(err, ErrIncomplete) {
			t.Fatalf("%v, %v", snap, err)
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d packs were asked for, want 2", n)
	}
	if s.Last() != last {
		t.Error("the last snapshot changed")
	}
	checkReadable(t, last)
	missing.Store("")
	r.write("web.yaml", "third\n")
	third := r.commit("Third")
	checkWhole(t, r, fetch(t, s), third)
}

func pktLine(s string) string {
	const digits = "0123456789abcdef"
	n := len(s) + 4
	return string([]byte{digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15]}) + s
}
