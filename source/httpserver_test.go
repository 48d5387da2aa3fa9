package source

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// gitHTTP is git http-backend for the repositories under root.
func gitHTTP(t testing.TB, root string) http.Handler {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Fatal(err)
	}
	env := append(gitEnv(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		e := env
		if v := req.Header.Get("Git-Protocol"); v != "" {
			e = append(e[:len(e):len(e)], "GIT_PROTOCOL="+v)
		}
		h := &cgi.Handler{Path: backend, Env: e, Stderr: testWriter{t}}
		h.ServeHTTP(w, req)
	})
}

func serveHTTP(t testing.TB, root string) string {
	t.Helper()
	server := httptest.NewServer(gitHTTP(t, root))
	t.Cleanup(server.Close)
	return server.URL
}

// withoutVersion2 makes a server of one that knows version 0 of the protocol only.
func withoutVersion2(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Del("Git-Protocol")
		h.ServeHTTP(w, req)
	})
}

// withVersion1 makes a server of one that answers with version 1 of the protocol, whatever it is asked for.
func withVersion1(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Set("Git-Protocol", "version=1")
		h.ServeHTTP(w, req)
	})
}

// countRequests serves a handler and counts.
func countRequests(t testing.TB, h http.Handler) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}
