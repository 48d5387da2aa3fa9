package source

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// manyRefs gives a repository that many more branches, packed.
func manyRefs(t testing.TB, r *repo, n int) {
	t.Helper()
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	head := r.head()
	for _, name := range numbered("refs/heads/other%06d", n) {
		packed.WriteString(head + " " + name + "\n")
	}
	if err := os.WriteFile(filepath.Join(r.bare, "packed-refs"), []byte(packed.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(git(t, r.bare, "for-each-ref"), "\n"); got < n {
		t.Fatalf("there are %d references only", got)
	}
}

// TestPollCost: an unchanged branch costs one request for one reference, in a repository of 10,000, where the server
// speaks version 2 of the protocol. What is counted are the bytes on the wire, of the transport too.
func TestPollCost(t *testing.T) {
	r := newRepo(t)
	manyRefs(t, r, 10_000)
	for _, tt := range []struct {
		name string
		most int64 // bytes that the server may send for a poll
		opt  func(t *testing.T, r *repo) (server string, options func(address string) Options)
	}{
		{"http", 500, func(t *testing.T, r *repo) (string, func(string) Options) {
			server := httptest.NewServer(gitHTTP(t, filepath.Dir(r.bare)))
			t.Cleanup(server.Close)
			return server.Listener.Addr().String(), func(a string) Options { return Options{URL: "http://" + a + "/repo.git"} }
		}},
		{"git", 500, func(t *testing.T, r *repo) (string, func(string) Options) {
			return startDaemon(t, filepath.Dir(r.bare)), func(a string) Options { return Options{URL: "git://" + a + "/repo.git"} }
		}},
		// Keys are exchanged and everybody is authenticated anew.
		{"ssh", 6000, func(t *testing.T, r *repo) (string, func(string) Options) {
			d := startSSHD(t, "AcceptEnv GIT_PROTOCOL")
			return d.address(), func(a string) Options {
				auth := d.auth()
				auth.SSHKnownHostsFile = d.knownHostsFor(a, d.host)
				return Options{URL: "ssh://" + d.user + "@" + a + r.bare, Auth: auth}
			}
		}},
		// Without version 2 there is no way around.
		{"ssh version 0", 1 << 20, func(t *testing.T, r *repo) (string, func(string) Options) {
			d := startSSHD(t)
			return d.address(), func(a string) Options {
				auth := d.auth()
				auth.SSHKnownHostsFile = d.knownHostsFor(a, d.host)
				return Options{URL: "ssh://" + d.user + "@" + a + r.bare, Auth: auth}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, options := tt.opt(t, r)
			wire := newCutter(t, server)
			wire.allow(noLimit)
			s := newSource(t, options(wire.address()))
			last := fetch(t, s)
			fetch(t, s) // over HTTP the version is known from now on
			wire.allow(noLimit)
			if fetch(t, s) != last {
				t.Error("another snapshot though nothing changed")
			}
			s.Close()
			n := wire.passed.Load()
			t.Logf("%d bytes for a poll", n)
			if n > tt.most || n == 0 {
				t.Errorf("a poll took %d bytes, want at most %d", n, tt.most)
			}
			if tt.name == "ssh version 0" && n < 500_000 {
				t.Error("the repository has few references, so that this test shows nothing")
			}
		})
	}
}

// TestPollRequests counts the requests of a poll and of one new commit, and the connections: those are kept.
func TestPollRequests(t *testing.T) {
	for _, version := range []string{"2", "1", "0"} {
		t.Run("version "+version, func(t *testing.T) {
			r := newRepo(t)
			handler := gitHTTP(t, filepath.Dir(r.bare))
			switch version {
			case "1":
				handler = withVersion1(handler)
			case "0":
				handler = withoutVersion2(handler)
			}
			var requests, connections, sent atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				requests.Add(1)
				handler.ServeHTTP(counted{w, &sent}, req)
			}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			server.Start()
			t.Cleanup(server.Close)
			s := newSource(t, Options{URL: server.URL + "/repo.git"})
			r.importCommit("Much", "data.bin", noise(200_000))
			last := fetch(t, s)
			requests.Store(0)
			for range 5 {
				if fetch(t, s) != last {
					t.Error("another snapshot though nothing changed")
				}
			}
			if n := requests.Load(); n != 5 {
				t.Errorf("5 polls took %d requests", n)
			}
			// One new commit brings its own objects.
			requests.Store(0)
			sent.Store(0)
			hash := r.importCommit("Change", "web.yaml", "changed\n")
			checkWhole(t, r, fetch(t, s), hash)
			if n, b := requests.Load(), sent.Load(); n != 2 || b > 3000 {
				t.Errorf("one new commit took %d requests and %d bytes, want 2 and at most 3000", n, b)
			}
			if n := connections.Load(); n > 2 {
				t.Errorf("%d connections for all of that", n)
			}
		})
	}
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// TestNewCommitCost: over the transports that are no HTTP, too, a new commit brings its own objects.
func TestNewCommitCost(t *testing.T) {
	r := newRepo(t)
	r.importCommit("Much", "data.bin", noise(200_000))
	daemon := startDaemon(t, filepath.Dir(r.bare))
	for _, kind := range []string{"git", "ssh", "ssh version 0"} {
		t.Run(kind, func(t *testing.T) {
			var opt Options
			var wire *cutter
			switch kind {
			case "git":
				wire = newCutter(t, daemon)
				opt.URL = "git://" + wire.address() + "/repo.git"
			default:
				var lines []string
				if kind == "ssh" {
					lines = []string{"AcceptEnv GIT_PROTOCOL"}
				}
				d := startSSHD(t, lines...)
				wire = newCutter(t, d.address())
				opt.Auth = d.auth()
				opt.Auth.SSHKnownHostsFile = d.knownHostsFor(wire.address(), d.host)
				opt.URL = "ssh://" + d.user + "@" + wire.address() + r.bare
			}
			wire.allow(noLimit)
			s := newSource(t, opt)
			fetch(t, s)
			wire.allow(noLimit)
			hash := r.importCommit("Change", "web.yaml", "changed "+kind+"\n")
			checkWhole(t, r, fetch(t, s), hash)
			if n := wire.passed.Load(); n > 10_000 {
				t.Errorf("one new commit took %d bytes", n)
			}
		})
	}
}

// TestOldDaemon: a server that knows nothing of versions overlooks that it is asked for one, and one that answers as
// none is said to.
func TestOldDaemon(t *testing.T) {
	r := newRepo(t)
	root := filepath.Dir(r.bare)
	for name, tt := range map[string]struct {
		answer func(request string, conn net.Conn)
		want   string
	}{
		"version 0": {func(request string, conn net.Conn) {
			cmd := gitCommand(context.Background(), root, "upload-pack", "repo.git")
			cmd.Stdout = conn
			in, err := cmd.StdinPipe()
			if err != nil || cmd.Start() != nil {
				return
			}
			go func() { io.Copy(in, conn); in.Close() }()
			cmd.Wait()
		}, ""},
		"says no":   {func(_ string, conn net.Conn) { io.WriteString(conn, pktLine("ERR access denied")) }, "the server says: access denied"},
		"no git":    {func(_ string, conn net.Conn) { io.WriteString(conn, "HTTP/1.0 400 Bad Request\r\n\r\n") }, "invalid pkt-len"},
		"hangs up":  {func(string, net.Conn) {}, "broke off"},
		"version 3": {func(_ string, conn net.Conn) { io.WriteString(conn, pktLine("version 3\n")+"0000") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			requests := make(chan string, 1)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				buf := make([]byte, 1000)
				n, _ := conn.Read(buf)
				requests <- string(buf[:n])
				tt.answer(string(buf[:n]), conn)
			}()
			s := newSource(t, Options{URL: "git://" + l.Addr().String() + "/repo.git"})
			snap, err := s.Fetch(context.Background())
			l.Close()
			<-ended
			if got, want := <-requests, "git-upload-pack /repo.git\x00host="+l.Addr().String()+"\x00\x00version=2\x00"; got[4:] != want {
				t.Errorf("asked %q, want %q", got[4:], want)
			}
			if name == "version 0" {
				if err != nil {
					t.Fatal(err)
				}
				checkWhole(t, r, snap, r.head())
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if _, err := New(Options{URL: "git://me@git.example.org/x", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "names a user") {
		t.Errorf("a user in a git:// URL: %v", err)
	}
}
