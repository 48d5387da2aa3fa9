package runner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/secret"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// tokens are a host's secrets.
type tokens map[string]string

func (s tokens) Value(token string) (secret.Value, bool) {
	v, ok := s[token]
	return secret.NewValue([]byte(v)), ok
}

func (s tokens) Token(v secret.Value) string {
	token := fmt.Sprint("token", len(s))
	s[token] = string(v.Bytes())
	return token
}

// shelf is a server of images by their paths, which wants a password.
type shelf struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	gets  int
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gets++
		if _, password, _ := r.BasicAuth(); password != "geheim" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(s.files[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s
}

// volume is one of a machine's that begins as an image of the shelf.
func (s *shelf) volume(m machine, cache, path string, content []byte) render.Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
	f := render.Fetch{URL: s.URL + path, Sum: fmt.Sprintf("sha256:%x", sha256.Sum256(content)), Login: "token"}
	return render.Volume{Name: "root", Kind: render.VolumeOverlay, Pool: "default", File: m.name + ".root.qcow2", Format: "qcow2",
		Backing: render.Fetched(cache, f, "disk"), Fetch: &f}
}

// TestImagesAtURLs: what a machine has is kept on the image that it began as, whatever its documents say later and however little
// room there is; what nothing lies on goes, and comes back when it is wanted.
func TestImagesAtURLs(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	at := newShelf(t)
	opts := options(t, s)
	opts.Secrets = tokens{"token": "me:geheim"}
	opts.Images = runner.Images{CacheDir: filepath.Join(t.TempDir(), "cache"), CacheSize: 1 << 20}
	r := start(t, opts)
	one, two := bytes.Repeat([]byte{1}, 1<<20), bytes.Repeat([]byte{2}, 1<<20)
	web, other := newMachine("web"), newMachine("other")
	first := at.volume(web, opts.Images.CacheDir, "/one", one)
	second := at.volume(web, opts.Images.CacheDir, "/two", two)
	apply(t, r, web.makeVolumes(first))
	if got, want := r.Digest(first.Backing), first.Fetch.Sum; got != want {
		t.Errorf("its digest is %q, want %q", got, want)
	}
	// The documents have another image now, and the machine is there.
	apply(t, r, web.makeVolumes(second))
	overlay := filepath.Join(s.PoolDir(), first.File)
	if backing, err := image.Backing(overlay); err != nil || backing != first.Backing {
		t.Errorf("it lies on %s, %v", backing, err)
	}
	if _, err := os.Stat(second.Backing); !errors.Is(err, os.ErrNotExist) || at.gets != 1 {
		t.Errorf("an image was fetched that nobody needs: %v, %d", err, at.gets)
	}
	// Another machine begins as that one: both are in use, though there is room for one.
	second.File = other.name + ".root.qcow2"
	apply(t, r, other.makeVolumes(second))
	for _, v := range []render.Volume{first, second} {
		if _, err := os.Stat(v.Backing); err != nil {
			t.Error(err)
		}
	}
	if st := r.ImageCache(); st.Stuck == 0 {
		t.Errorf("the cache is %+v", st)
	}
	// Its disk goes; a third image has the other's room.
	apply(t, r, plan.Step{Op: plan.OpDeleteVolumes, Domain: other.name, UUID: other.uuid, Volumes: []render.Volume{second}})
	third := at.volume(newMachine("third"), opts.Images.CacheDir, "/three", bytes.Repeat([]byte{3}, 1<<20))
	apply(t, r, newMachine("third").makeVolumes(third))
	gone := func() bool { _, err := os.Stat(second.Backing); return errors.Is(err, os.ErrNotExist) }
	for n := 0; n < 20 && !gone(); n++ { // a process that is being started holds its lock for a moment
		m := newMachine(fmt.Sprint("more", n))
		apply(t, r, m.makeVolumes(at.volume(m, opts.Images.CacheDir, fmt.Sprint("/more", n), []byte(m.name))))
	}
	if !gone() {
		t.Error("the image that nobody needs is there")
	}
	if got, err := qemuIO(t, overlay, "read -P 1 0 64k"); err != nil || strings.Contains(got, "failed") {
		t.Errorf("the first machine reads %s, %v", got, err)
	}
	gets := at.gets
	apply(t, r, other.makeVolumes(second))
	if _, err := os.Stat(second.Backing); err != nil || at.gets != gets+1 {
		t.Errorf("it is not back: %v", err)
	}
	// The image of an overlay is lost, and the documents name another: that one would be a disk of garbage.
	if err := os.Remove(first.Backing); err != nil {
		t.Fatal(err)
	}
	second.File = first.File
	if err := r.Apply(t.Context(), []plan.Step{web.makeVolumes(second)}); !errors.Is(err, runner.ErrImage) || !strings.Contains(err.Error(), "which is gone, and not of") {
		t.Errorf("it gives %v", err)
	}
	apply(t, r, web.makeVolumes(first))
	if got, err := qemuIO(t, overlay, "read -P 1 0 64k"); err != nil || strings.Contains(got, "failed") {
		t.Errorf("with its image back the first machine reads %s, %v", got, err)
	}
	// Secrets that are not known, or are none, are told of without what is in them.
	for token, want := range map[string]string{"none": "is not known", "word": "is not USER:PASSWORD"} {
		opts.Secrets.(tokens)["word"] = "geheim"
		v := at.volume(newMachine("locked"), opts.Images.CacheDir, "/"+token, []byte(token))
		v.Fetch.Login = token
		err := r.Apply(t.Context(), []plan.Step{newMachine("locked").makeVolumes(v)})
		if !errors.Is(err, runner.ErrImage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("with the token %s it gives %v", token, err)
		}
	}
}
