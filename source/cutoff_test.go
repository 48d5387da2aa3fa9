package source

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter passes connections on to a server and breaks them all off once it has passed on so many bytes of answers.
type cutter struct {
	listener net.Listener
	left     atomic.Int64
	passed   atomic.Int64
	done     sync.WaitGroup
}

func newCutter(t testing.TB, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l}
	c.done.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.done.Go(func() { c.pass(in, to) })
		}
	})
	t.Cleanup(func() { l.Close(); c.done.Wait() })
	return c
}

func (c *cutter) address() string { return c.listener.Addr().String() }

// allow lets that many bytes through from now on.
func (c *cutter) allow(n int64) { c.passed.Store(0); c.left.Store(n) }

func (c *cutter) pass(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	c.done.Go(func() { io.Copy(out, in); out.Close() })
	buf := make([]byte, 4096)
	for {
		n, err := out.Read(buf)
		left := c.left.Add(-int64(n)) + int64(n)
		c.passed.Add(int64(n))
		in.Write(buf[:max(0, min(int64(n), left))])
		if err != nil || int64(n) >= left {
			return
		}
	}
}

const noLimit = 1 << 40

// TestCutOff: the connection breaks off after every so many bytes of an answer, of the first fetch and of a later
// one. There is an error, the last snapshot stays, and the next fetch is whole. GITVIRT_TIMES=8 and more cuts that much
// more densely.
func TestCutOff(t *testing.T) {
	for _, kind := range []string{"http", "http version 0", "https through a proxy", "ssh", "ssh version 0", "git"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.importCommit("Some", "data.bin", noise(3000))
			first := git(t, r.bare, "rev-parse", "main")
			var cut *cutter
			var opt Options
			step := int64(797)
			switch kind {
			case "git":
				cut = newCutter(t, startDaemon(t, filepath.Dir(r.bare)))
				opt = Options{URL: "git://" + cut.address() + "/repo.git"}
			case "https through a proxy":
				server := httptest.NewTLSServer(gitHTTP(t, filepath.Dir(r.bare)))
				t.Cleanup(server.Close)
				front := httptest.NewServer(&proxy{to: server.Listener.Addr().String()})
				t.Cleanup(front.Close)
				cut = newCutter(t, front.Listener.Addr().String())
				ca := filepath.Join(t.TempDir(), "ca.pem")
				if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
					t.Fatal(err)
				}
				opt = Options{URL: "https://example.com/repo.git", Auth: Auth{Proxy: "http://" + cut.address(), CAFile: ca}}
				step = 1511
			case "ssh", "ssh version 0":
				var lines []string
				if kind == "ssh" {
					lines = []string{"AcceptEnv GIT_PROTOCOL"}
				}
				d := startSSHD(t, lines...)
				cut = newCutter(t, d.address())
				auth := d.auth()
				auth.SSHKnownHostsFile = d.knownHostsFor(cut.address(), d.host)
				opt = Options{URL: "ssh://" + d.user + "@" + cut.address() + r.bare, Auth: auth}
				step = 2399
			default:
				handler := gitHTTP(t, filepath.Dir(r.bare))
				if kind != "http" {
					handler = withoutVersion2(handler)
				}
				server := httptest.NewServer(handler)
				t.Cleanup(server.Close)
				cut = newCutter(t, server.Listener.Addr().String())
				opt = Options{URL: "http://" + cut.address() + "/repo.git"}
			}

			step = max(1, step/int64(times(t)))
			sweep(t, cut, step, func() (*Source, func(*Snapshot)) {
				return newSource(t, opt), func(snap *Snapshot) { checkWhole(t, r, snap, first) }
			})

			// What a store has before the change is copied, so that each round begins alike.
			dir := t.TempDir()
			opt.Dir = dir
			cut.allow(noLimit)
			s := newSource(t, opt)
			fetch(t, s)
			s.Close()
			second := r.importCommit("More", "data2.bin", noise(2500), "web.yaml", "changed\n")
			sweep(t, cut, step, func() (*Source, func(*Snapshot)) {
				opt.Dir = filepath.Join(t.TempDir(), "copy")
				if err := os.CopyFS(opt.Dir, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				s := newSource(t, opt)
				if snap, err := s.Load(context.Background()); err != nil {
					t.Fatal(err)
				} else {
					checkWhole(t, r, snap, first)
				}
				return s, func(snap *Snapshot) { checkWhole(t, r, snap, second) }
			})
		})
	}
}

// sweep cuts off after more and more bytes until a fetch gets through.
func sweep(t *testing.T, cut *cutter, step int64, begin func() (*Source, func(*Snapshot))) {
	t.Helper()
	for n := int64(0); ; n += step {
		s, check := begin()
		cut.allow(n)
		last := s.Last()
		snap, err := s.Fetch(context.Background())
		if err == nil {
			check(snap)
			s.Close()
			if n == 0 {
				t.Fatal("nothing was cut off")
			}
			return
		}
		if snap != nil || s.Last() != last {
			t.Fatalf("after %d bytes: a snapshot beside the error %v", n, err)
		}
		if last != nil {
			checkReadable(t, last)
		}
		cut.allow(noLimit)
		check(fetch(t, s))
		s.Close()
	}
}

// noise is text that does not compress much.
func noise(n int) string {
	var b strings.Builder
	x := uint32(2463534242)
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b.WriteByte(byte('!' + x%90))
	}
	return b.String()
}
