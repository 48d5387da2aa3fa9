package source

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
// one. There is an error, the last snapshot stays, and the next fetch is whole.
func TestCutOff(t *testing.T) {
	for _, kind := range []string{"http", "http version 0", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			r := newRepo(t)
			r.importCommit("Some", "data.bin", noise(3000))
			first := git(t, r.bare, "rev-parse", "main")
			var cut *cutter
			var opt Options
			step := int64(193)
			switch kind {
			case "ssh":
				d := startSSHD(t)
				cut = newCutter(t, d.address())
				auth := d.auth()
				auth.SSHKnownHostsFile = d.knownHostsFor(cut.address(), d.host)
				opt = Options{URL: "ssh://" + d.user + "@" + cut.address() + r.bare, Auth: auth}
				step = 1511
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
			for _, file := range files {
				for _, running := range []bool{false, true} {
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
			for _, tr := range transports {
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
				s.Close()
				goroutinesSettle(t, before+8) // the hanger's own
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
	for range 200 {
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
	})
}
