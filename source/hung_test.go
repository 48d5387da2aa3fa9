package source

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHungServer: a server that takes the connection and says nothing, or stops in the middle, is left when the
// context ends, and nothing stays behind.
func TestHungServer(t *testing.T) {
	r := newRepo(t)
	r.importCommit("Much", "data.bin", noise(50_000))
	d := startSSHD(t)
	web := httptest.NewServer(gitHTTP(t, filepath.Dir(r.bare)))
	t.Cleanup(web.Close)
	for _, tt := range []struct {
		name string
		to   string
		opt  func(address string) Options
	}{
		{"http", web.Listener.Addr().String(), func(a string) Options { return Options{URL: "http://" + a + "/repo.git"} }},
		{"ssh", d.address(), func(a string) Options {
			auth := d.auth()
			auth.SSHKnownHostsFile = d.knownHostsFor(a, d.host)
			return Options{URL: "ssh://" + d.user + "@" + a + r.bare, Auth: auth}
		}},
		{"git", startDaemon(t, filepath.Dir(r.bare)), func(a string) Options { return Options{URL: "git://" + a + "/repo.git"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, after := range []int64{0, 30, 700, 20_000} {
				hang := newHanger(t, tt.to, after)
				before := runtime.NumGoroutine()
				s := newSource(t, tt.opt(hang))
				ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
				start := time.Now()
				_, err := s.Fetch(ctx)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %d bytes: %v", after, err)
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("after %d bytes: the end took %v", after, took)
				}
				// The limit that the options set is the same, under its own name.
				opt := tt.opt(hang)
				opt.Timeout = 100 * time.Millisecond
				if _, err := newSource(t, opt).Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "not done within 100ms") {
					t.Errorf("after %d bytes: %v", after, err)
				}
				// So is the one for the branch's head, when the connection is not refused but silent.
				if after < 300 {
					quick := newSource(t, tt.opt(hang))
					switch r := quick.remote.(type) {
					case *httpRemote:
						r.poll = 100 * time.Millisecond
					case *streamRemote:
						r.poll = 100 * time.Millisecond
					}
					if _, err := quick.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
						t.Errorf("after %d bytes: %v", after, err)
					}
				}
				s.Close()
				goroutinesSettle(t, before+12) // the hanger's own
			}
		})
	}
}

// newHanger passes on that many bytes of answers and then nothing, with the connection open.
func newHanger(t *testing.T, to string, bytes int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	done.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			done.Go(func() { io.Copy(out, in); out.Close() })
			done.Go(func() {
				io.CopyN(in, out, bytes)
				<-ctx.Done()
			})
		}
	})
	t.Cleanup(func() { stop(); l.Close(); done.Wait() })
	return l.Addr().String()
}

// goroutinesSettle fails when there are more goroutines than that for long.
func goroutinesSettle(t *testing.T, want int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, want %d:\n%s", runtime.NumGoroutine(), want, buf[:runtime.Stack(buf, true)])
}

// TestCancelled: a context that ended is an error everywhere and breaks nothing.
func TestCancelled(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s := newSource(t, opt)
		if _, err := s.Fetch(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch: %v", err)
		}
		last := fetch(t, s)
		r.write("web.yaml", "second\n")
		second := r.commit("Second")
		if _, err := s.Fetch(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch: %v", err)
		}
		if s.Last() != last {
			t.Error("the last snapshot changed")
		}
		checkWhole(t, r, fetch(t, s), second)
		if _, err := s.At(ctx, last.Commit); !errors.Is(err, context.Canceled) {
			t.Errorf("At: %v", err)
		}
		if s.broken.Load() {
			t.Error("the store is thought to be broken")
		}
	}, "path", "http", "ssh")
}
