package source

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
)

// transports lists the ways to reach a repository; each serves a real one.
var transports = []struct {
	name    string
	options func(t testing.TB, r *repo) Options
}{
	{"path", func(t testing.TB, r *repo) Options { return Options{URL: r.bare} }},
	{"file", func(t testing.TB, r *repo) Options { return Options{URL: "file://" + r.bare} }},
	{"http", func(t testing.TB, r *repo) Options {
		return Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git"}
	}},
	{"http version 0", func(t testing.TB, r *repo) Options {
		server := httptest.NewServer(withoutVersion2(gitHTTP(t, filepath.Dir(r.bare))))
		t.Cleanup(server.Close)
		return Options{URL: server.URL + "/repo.git/"}
	}},
	{"ssh", func(t testing.TB, r *repo) Options {
		d := startSSHD(t, "AcceptEnv GIT_PROTOCOL")
		return Options{URL: d.url(r.bare), Auth: d.auth()}
	}},
	{"ssh version 0", func(t testing.TB, r *repo) Options {
		d := startSSHD(t)
		return Options{URL: d.url(r.bare), Auth: d.auth()}
	}},
	{"git", func(t testing.TB, r *repo) Options {
		return Options{URL: "git://" + startDaemon(t, filepath.Dir(r.bare)) + "/repo.git"}
	}},
}

// overTransports runs a test against each of them, or those that are named, side by side, each with a repository of its
// own: most of the time goes into waiting for git's processes.
func overTransports(t *testing.T, test func(t *testing.T, r *repo, opt Options), names ...string) {
	for _, tr := range transports {
		if len(names) > 0 && !slices.Contains(names, tr.name) {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			opt := tr.options(t, r)
			opt.Dir = t.TempDir()
			test(t, r, opt)
		})
	}
}
