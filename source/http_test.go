package source

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestHTTPAuth(t *testing.T) {
	r := newRepo(t)
	backend := gitHTTP(t, filepath.Dir(r.bare))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, pass, _ := req.BasicAuth()
		if user+":"+pass != "git:s3cret" && user+":"+pass != "bot:pa:ss" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	host := strings.TrimPrefix(server.URL, "http://")
	for _, tt := range []struct {
		name, url, token, want string
	}{
		{"token", server.URL, "s3cret\n", ""},
		{"user and password", server.URL, "bot:pa:ss", ""},
		{"user in the URL", "http://bot@" + host, "bot:pa:ss", ""},
		{"password in the URL", "http://git:s3cret@" + host, "", ""},
		{"nothing", server.URL, "", "refuses access (401 Unauthorized): if it wants a token"},
		{"wrong", server.URL, "hush-hush", "refuses access"},
		{"wrong in the URL", "http://git:hush-hush@" + host, "", "refuses access"},
		{"two lines", server.URL, "s3cret\nhush-hush", "write one line"},
		{"empty", server.URL, "\n", "write one line"},
		{"no repository", server.URL + "/else", "s3cret", "no such repository"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := Options{URL: tt.url + "/repo.git"}
			if tt.token != "" {
				opt.Auth.TokenFile = file
				if err := os.WriteFile(file, []byte(tt.token), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := newSource(t, opt)
			_, err := s.Fetch(context.Background())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("the error tells the secret: %v", err)
			}
			if data, _ := os.ReadFile(filepath.Join(s.path(storeDir), recordFile)); strings.Contains(string(data), "s3cret") {
				t.Error("the store tells the secret")
			}
		})
	}

	t.Run("token replaced", func(t *testing.T) {
		os.WriteFile(file, []byte("old"), 0o600)
		s := newSource(t, Options{URL: server.URL + "/repo.git", Auth: Auth{TokenFile: file}})
		if _, err := s.Fetch(context.Background()); err == nil {
			t.Error("the wrong token was taken")
		}
		os.WriteFile(file, []byte("s3cret"), 0o600)
		fetch(t, s)
		os.Remove(file)
		if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "cannot read the token file") {
			t.Errorf("token file gone: %v", err)
		}
	})
	t.Run("unencrypted", func(t *testing.T) {
		_, err := New(Options{URL: "http://git.example.org/x.git", Dir: t.TempDir(), Auth: Auth{TokenFile: file}})
		if err == nil || !strings.Contains(err.Error(), "unencrypted") {
			t.Errorf("a token over plain HTTP: %v", err)
		}
		_, err = New(Options{URL: "http://me:hush-hush@git.example.org/x.git", Dir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), "unencrypted") || strings.Contains(err.Error(), "hush") {
			t.Errorf("a password over plain HTTP: %v", err)
		}
	})
}

func TestHTTPRedirect(t *testing.T) {
	r := newRepo(t)
	backend := gitHTTP(t, filepath.Dir(r.bare))
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		leaked.Store(true)
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.HasPrefix(req.URL.Path, "/moved/"):
			http.Redirect(w, req, "/repo.git"+strings.TrimPrefix(req.URL.Path, "/moved")+"?"+req.URL.RawQuery, http.StatusMovedPermanently)
		case strings.HasPrefix(req.URL.Path, "/away/"):
			http.Redirect(w, req, elsewhere.URL+"/repo.git"+strings.TrimPrefix(req.URL.Path, "/away")+"?"+req.URL.RawQuery, http.StatusFound)
		case strings.HasPrefix(req.URL.Path, "/login/"):
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<html>Please log in"))
		default:
			backend.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)

	s := newSource(t, Options{URL: server.URL + "/moved"})
	checkWhole(t, r, fetch(t, s), r.head())
	fetch(t, s)
	s = newSource(t, Options{URL: server.URL + "/away"})
	_, err := s.Fetch(context.Background())
	if err == nil || !strings.Contains(err.Error(), "redirects to "+elsewhere.URL) || leaked.Load() {
		t.Errorf("a redirect to another host: %v", err)
	}
	s = newSource(t, Options{URL: server.URL + "/login"})
	if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "no git repository over smart HTTP") {
		t.Errorf("a page: %v", err)
	}
}

// TestHTTPVersionChanges: the server behind the URL is replaced by one that speaks the other version, and back.
func TestHTTPVersionChanges(t *testing.T) {
	r := newRepo(t)
	var old atomic.Bool
	backend := gitHTTP(t, filepath.Dir(r.bare))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if old.Load() {
			withoutVersion2(backend).ServeHTTP(w, req)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	s := newSource(t, Options{URL: server.URL + "/repo.git"})
	for _, v0 := range []bool{false, true, false, true} {
		old.Store(v0)
		r.write("web.yaml", r.head())
		r.commit("Change")
		if _, err := s.Fetch(context.Background()); err != nil {
			fetch(t, s) // the first may fail, the next must not
		}
		checkWhole(t, r, s.Last(), r.head())
	}
}

// TestRemoteRefused: repositories that would be read wrongly.
func TestRemoteRefused(t *testing.T) {
	r := newRepo(t)
	r.write("web.yaml", "second\n")
	r.commit("Second")
	root := filepath.Dir(r.bare)
	git(t, root, "clone", "-q", "--bare", "--depth", "1", "file://"+r.bare, filepath.Join(root, "shallow.git"))
	git(t, root, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", filepath.Join(root, "sha256.git"))
	sha := filepath.Join(root, "sha256")
	git(t, root, "init", "-q", "--object-format=sha256", sha)
	git(t, sha, "commit", "-q", "--allow-empty", "-m", "First")
	git(t, sha, "push", "-q", filepath.Join(root, "sha256.git"), "HEAD:main")
	git(t, root, "init", "-q", "--bare", "-b", "main", filepath.Join(root, "empty.git"))
	// A partial clone whose origin cannot be reached any more lacks the files.
	git(t, r.bare, "config", "uploadpack.allowFilter", "true")
	partial := filepath.Join(root, "partial.git")
	git(t, root, "clone", "-q", "--bare", "--filter=blob:none", "file://"+r.bare, partial)
	git(t, partial, "config", "remote.origin.url", filepath.Join(root, "nowhere"))

	v2 := serveHTTP(t, root)
	v0 := httptest.NewServer(withoutVersion2(gitHTTP(t, root)))
	t.Cleanup(v0.Close)
	d := startSSHD(t)
	d2 := startSSHD(t, "AcceptEnv GIT_PROTOCOL")
	for _, base := range []string{v2, v0.URL, d.url(root), d2.url(root), "git://" + startDaemon(t, root), root} {
		for name, want := range map[string]string{"shallow": "shallow clone", "sha256": "SHA-256", "empty": ErrBranchGone.Error(), "partial": ""} {
			if base == root && name == "shallow" {
				continue // read as far as it goes
			}
			auth := d.auth()
			if strings.HasPrefix(base, d2.url("")) {
				auth = d2.auth()
			}
			s := newSource(t, Options{URL: base + "/" + name + ".git", Auth: auth})
			if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s/%s: %v, want %q", base, name, err, want)
			}
		}
	}
}
