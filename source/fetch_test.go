package source

import (
	"path/filepath"
	"testing"
)

func TestSmoke(t *testing.T) {
	for _, kind := range []string{"local", "http"} {
		t.Run(kind, func(t *testing.T) {
			r := newRepo(t)
			url := r.bare
			if kind == "http" {
				url = serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git"
			}
			s := newSource(t, Options{URL: url})
			first := fetch(t, s)
			checkWhole(t, r, first, r.head())
			if again := fetch(t, s); again != first {
				t.Error("another snapshot without a change")
			}
			r.write("web.yaml", "changed")
			c := r.commit("Second")
			checkWhole(t, r, fetch(t, s), c)
			checkReadable(t, first)
		})
	}
}
