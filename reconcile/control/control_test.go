package control

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestMain is also an agent that listens until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("GITVIRT_LISTEN"); path != "" {
		l, err := Listen(path)
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("listening\n")
		_, _ = l.Accept() // nobody comes
	}
	os.Exit(m.Run())
}

// socketPath is in a folder of a short name: a socket's has to be.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "state", "gitvirt.sock")
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheSocketIsForThisUserAlone(t *testing.T) {
	path := socketPath(t)
	old := syscall.Umask(0)
	l := listen(t, path)
	syscall.Umask(old)
	for name, want := range map[string]fs.FileMode{path: fs.ModeSocket | 0o600, path + ".lock": 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
	if _, err := os.Lstat(path + newSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket outlives its listener: %v", err)
	}
	if err := listen(t, path).Close(); err != nil {
		t.Error(err)
	}
}

func TestTwoAgentsDoNotShareASocket(t *testing.T) {
	path := socketPath(t)
	first := listen(t, path)
	_, err := Listen(path)
	if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "give each agent a stateDir of its own") {
		t.Errorf("error %v", err)
	}
	// The one that has it keeps it.
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = first.Close()
	second := listen(t, path)
	if err := first.Close(); err == nil {
		t.Error("a second close of the first is no error")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a second close of the first took the second's socket: %v", err)
	}
	_ = second.Close()
}

// TestASocketOfAKilledAgentIsReplaced kills a process that listens.
func TestASocketOfAKilledAgentIsReplaced(t *testing.T) {
	path := socketPath(t)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "GITVIRT_LISTEN="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, _ := out.Read(line)
	if got := string(line[:n]); got != "listening\n" {
		t.Fatalf("it says %q", got)
	}
	if _, err := Listen(path); !errors.Is(err, ErrTaken) {
		t.Errorf("while it runs: %v", err)
	}
	_ = c.Process.Kill()
	_ = c.Wait() // it was killed
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("it left no socket: %v", err)
	}
	l := listen(t, path)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	_ = l.Close()
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	for _, suffix := range []string{"", newSuffix} {
		path := socketPath(t)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+suffix, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "is there and is no socket") {
			t.Errorf("error %v", err)
		}
		if raw, err := os.ReadFile(path + suffix); string(raw) != "precious" {
			t.Errorf("it is %q now, %v", raw, err)
		}
		// And the lock is not kept.
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
		_ = listen(t, path).Close()
	}
}

func TestALongPathIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "a socket's path may have 103 bytes") {
		t.Errorf("error %v", err)
	}
	exact := filepath.Join(filepath.Dir(socketPath(t)), "x")
	exact += strings.Repeat("x", maxPath-len(newSuffix)-len(exact))
	_ = listen(t, exact).Close()
}

// passes is a loop whose passes end at times.
type passes []struct {
	after  time.Duration
	answer Answer
}

func (p passes) reconcile(ctx context.Context, show func(Answer) bool) error {
	for _, one := range p {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(one.after):
		}
		if show(one.answer) {
			return nil
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestReconcile(t *testing.T) {
	busy := Answer{Revision: "a", Message: "converging: web"}
	done := Answer{Revision: "a", InSync: true, Settled: true, Message: "in sync: 1 machine"}
	stuck := Answer{Revision: "a", Settled: true, Message: "blocked: web"}
	failed := Answer{Revision: "a", Error: "no route"}
	for _, tt := range []struct {
		name, query string
		passes      passes
		code        int
		want        Answer
		took        time.Duration
	}{
		{"in sync at once", "", passes{{time.Second, done}}, 200, done, time.Second},
		{"busy", "", passes{{time.Second, busy}, {time.Second, done}}, 200, busy, time.Second},
		{"waited for", "?wait=1m", passes{{time.Second, busy}, {2 * time.Second, busy}, {3 * time.Second, done}}, 200, done, 6 * time.Second},
		{"waited for in vain", "?wait=10s", passes{{time.Minute, busy}, {2 * time.Second, busy}, {time.Hour, done}}, 200, busy, 70 * time.Second},
		{"something stands in the way", "?wait=1m", passes{{time.Second, busy}, {time.Second, stuck}}, 200, stuck, 2 * time.Second},
		{"the repository fails", "?wait=1m", passes{{time.Second, failed}}, 503, failed, time.Second},
		{"no pass", "?wait=1h", nil, 504, Answer{Error: "there was no pass within 5m0s: the agent's log may say why"}, PassTime},
		{"a bad time", "?wait=soon", nil, 400, Answer{Error: `wait="soon": say a time up to 1h0m0s, such as 90s or 2m`}, 0},
		{"too long a time", "?wait=2h", nil, 400, Answer{Error: `wait="2h": say a time up to 1h0m0s, such as 90s or 2m`}, 0},
		{"no time", "?wait=-1s", nil, 400, Answer{Error: `wait="-1s": say a time up to 1h0m0s, such as 90s or 2m`}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				w := httptest.NewRecorder()
				Handler(tt.passes.reconcile, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/reconcile"+tt.query, nil))
				var got Answer
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got != tt.want || w.Code != tt.code || time.Since(begun) != tt.took {
					t.Errorf("%d %+v after %v, %v; want %d %+v after %v", w.Code, got, time.Since(begun), err, tt.code, tt.want, tt.took)
				}
			})
		})
	}
}

func TestAnAgentThatEndsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		begun := time.Now()
		w := httptest.NewRecorder()
		Handler(passes(nil).reconcile, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/reconcile", nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the agent ends") || time.Since(begun) != time.Second {
			t.Errorf("%d %s after %v", w.Code, w.Body, time.Since(begun))
		}
	})
}

func TestOtherRequests(t *testing.T) {
	others := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for request, code := range map[string]int{
		"GET /reconcile": 405, "PUT /reconcile": 405, "GET /api/v1alpha1/plan": 418, "POST /": 418, "GET /reconcile/": 418,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		Handler(passes(nil).reconcile, others).ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != code {
			t.Errorf("%s: %d, want %d", request, w.Code, code)
		}
	}
}
