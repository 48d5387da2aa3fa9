package source

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// packEntry is the header of an object in a pack, gitformat-pack(5), and what follows it.
func packEntry(kind plumbing.ObjectType, size uint64, rest ...[]byte) []byte {
	first := byte(kind)<<4 | byte(size&15)
	size >>= 4
	var head []byte
	for size > 0 {
		head = append(head, first|0x80)
		first = byte(size & 127)
		size >>= 7
	}
	return append(append(head, first), bytes.Join(rest, nil)...)
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func packOf(count uint32, entries ...[]byte) []byte {
	pack := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, count)...)
	pack = append(pack, bytes.Join(entries, nil)...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// zeros is a blob of zeros, which takes a thousandth in a pack.
func zeros(size int64) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	io.CopyN(w, zeroReader{}, size)
	w.Close()
	return packEntry(plumbing.BlobObject, uint64(size), b.Bytes())
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// back is the offset of a delta's base.
func back(n int) []byte {
	out := []byte{byte(n & 127)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		out = append([]byte{byte(n&127) | 0x80}, out...)
	}
	return out
}

// chain is a blob and as many deltas of deltas of it, each of which makes the same blob once more.
func chain(size, deltas int) []byte {
	entries := [][]byte{zeros(int64(size))}
	for range deltas {
		delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(size)), uint64(size))
		for at := 0; at < size; at += 0xffffff {
			n := min(size-at, 0xffffff)
			delta = append(delta, 0xff, byte(at), byte(at>>8), byte(at>>16), byte(at>>24), byte(n), byte(n>>8), byte(n>>16))
		}
		entries = append(entries, packEntry(plumbing.OFSDeltaObject, uint64(len(delta)), back(len(entries[len(entries)-1])), deflated(delta)))
	}
	return packOf(uint32(len(entries)), entries...)
}

// serves is a server of version 2 that says that main is at a commit, and sends a pack for it.
func serves(t *testing.T, commit string, pack func(io.Writer)) (url string, asked *int) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		switch {
		case req.Method == http.MethodGet:
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			io.WriteString(w, pktLine("version 2\n")+pktLine("ls-refs\n")+pktLine("fetch\n")+"0000")
		case bytes.Contains(body, []byte("command=ls-refs")):
			io.WriteString(w, pktLine(commit+" refs/heads/main\n")+"0000")
		default:
			*asked++
			io.WriteString(w, pktLine("packfile\n"))
			pack(w)
			io.WriteString(w, "0000")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/repo.git", asked
}

func inBand(w io.Writer, pack []byte) {
	for len(pack) > 0 {
		n := min(len(pack), 60000)
		io.WriteString(w, pktLine("\x01"+string(pack[:n])))
		pack = pack[n:]
	}
}

// peak is the most memory that the process has had from the system, since it was last asked.
func peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestBombs: packs of a few megabytes that stand for gigabytes are refused, with little memory, and not asked for again
// at once.
func TestBombs(t *testing.T) {
	const commit = "1111111111111111111111111111111111111111"
	for _, tt := range []struct {
		name string
		pack func() []byte
		want string
	}{
		{"a large blob", func() []byte { return packOf(1, packEntry(plumbing.BlobObject, 1<<30, deflated(make([]byte, 1<<20)))) }, "an object of 1024 MiB"},
		{"a size that is none", func() []byte { return packOf(1, packEntry(plumbing.BlobObject, 1<<50, deflated(nil))) }, "256 MiB is the most"},
		{"a delta that makes much", func() []byte {
			delta := binary.AppendUvarint(binary.AppendUvarint(nil, 1), 1<<40)
			base := packEntry(plumbing.BlobObject, 1, deflated([]byte("x")))
			return packOf(2, base, packEntry(plumbing.OFSDeltaObject, uint64(len(delta)), back(len(base)), deflated(delta)))
		}, "256 MiB is the most"},
		{"a chain of deltas", func() []byte { return chain(50<<20, 100) }, "takes more than 1024 MiB"},
		{"many objects", func() []byte { return packOf(1<<31, nil) }, "2147483648 objects at once"},
		{"a base that is not there", func() []byte {
			return packOf(1, packEntry(plumbing.OFSDeltaObject, 2, back(5), deflated([]byte{1, 1})))
		}, "base is not in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pack := tt.pack()
			url, asked := serves(t, commit, func(w io.Writer) { inBand(w, pack) })
			s := newSource(t, Options{URL: url})
			runtime.GC()
			peak(t)
			for range 2 {
				_, err := s.Fetch(context.Background())
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("%v, want %q", err, tt.want)
				}
				if errors.Is(err, errTooMuch) && *asked != 1 {
					t.Errorf("asked for %d times", *asked)
				}
			}
			if n := peak(t); n > 400<<20 {
				t.Errorf("it took %d MiB of memory", n>>20)
			}
			if left, _ := filepath.Glob(filepath.Join(s.opt.Dir, "store*", "*", "*", "*.pack")); len(left) > 0 {
				t.Errorf("left on the disk: %v", left)
			}
		})
	}
}

// TestEndlessPack: what is sent without an end ends with the time that a fetch has, and nothing of it stays.
func TestEndlessPack(t *testing.T) {
	url, _ := serves(t, "1111111111111111111111111111111111111111", func(w io.Writer) {
		line := pktLine("\x01" + strings.Repeat("x", 60000))
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	s := newSource(t, Options{URL: url, Timeout: 200 * time.Millisecond})
	if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "not done within") {
		t.Fatal(err)
	}
	if left, _ := usage(t, s.opt.Dir); left > 64<<10 {
		t.Errorf("%d bytes stay", left)
	}
}

// TestManyReferences: a list of references that has no end is left, over whichever transport and version, and what is kept
// of one with an end is what is followed.
func TestManyReferences(t *testing.T) {
	endless := func(w io.Writer) {
		io.WriteString(w, pktLine(fmt.Sprintf("%040x HEAD\x00side-band-64k\n", 1)))
		var b strings.Builder
		for i := range 1000 {
			b.WriteString(pktLine(fmt.Sprintf("%040x refs/heads/main%d\n", i+1, i)))
		}
		for {
			if _, err := io.WriteString(w, b.String()); err != nil {
				return
			}
		}
	}
	capabilities := pktLine("version 2\n") + pktLine("fetch\n") + "0000"
	daemon := func(say func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				say(conn)
				conn.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
		return "git://" + l.Addr().String() + "/repo.git"
	}
	web := func(v2 bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				if v2 {
					io.WriteString(w, capabilities)
					return
				}
				io.WriteString(w, pktLine("# service=git-upload-pack\n")+"0000")
			}
			endless(w)
		}))
		t.Cleanup(server.Close)
		return server.URL + "/repo.git"
	}
	for name, url := range map[string]string{
		"http":           web(true),
		"http version 0": web(false),
		"git":            daemon(func(c net.Conn) { io.WriteString(c, capabilities); endless(c) }),
		"git version 0":  daemon(func(c net.Conn) { endless(c) }),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, Options{URL: url})
			peak(t)
			if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "lists more than 128 MiB of references") {
				t.Fatal(err)
			}
			if n := peak(t); n > 1<<30 {
				t.Errorf("it took %d MiB of memory", n>>20)
			}
		})
	}
}

// TestTreeBombs: a few trees that hold each other many times, or lie very deep, are no revision; the last one stays.
func TestTreeBombs(t *testing.T) {
	deep := strings.Repeat("d/", 3000) + "f"
	for _, tt := range []struct {
		name string
		make func(r *repo)
		want string
	}{
		{"wide", func(r *repo) {
			blob := r.git("rev-parse", "HEAD:web.yaml")
			tree := ""
			for i := range 100 {
				tree += fmt.Sprintf("100644 blob %s\tf%d\n", blob, i)
			}
			for range 4 { // 10^10 files
				hash := feed(t, r.bare, tree, "mktree")
				tree = ""
				for i := range 100 {
					tree += fmt.Sprintf("040000 tree %s\tt%d\n", hash, i)
				}
			}
			top := feed(t, r.bare, tree, "mktree")
			git(t, r.bare, "update-ref", "refs/heads/main", git(t, r.bare, "commit-tree", "-p", "main", "-m", "Bomb", top))
		}, "more than 1000000 files and folders"},
		{"deep", func(r *repo) { r.importCommit("Deep", deep, "x") }, "deeper than 1024 folders"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			overTransports(t, func(t *testing.T, r *repo, opt Options) {
				s := newSource(t, opt)
				last := fetch(t, s)
				tt.make(r)
				for range 2 {
					if snap, err := s.Fetch(context.Background()); snap != nil || err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
						t.Fatalf("%s: %.1500v, want %q", tt.name, err, tt.want)
					}
				}
				if s.Last() != last {
					t.Error("the last snapshot changed")
				}
				checkReadable(t, last)
			}, "path", "http")
		})
	}
}

func feed(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := gitCommand(context.Background(), dir, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}
