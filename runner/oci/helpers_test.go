package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/oci"
)

const mib = 1 << 20

// hub is a registry on this host, with what a test puts between it and who asks.
type hub struct {
	t      testing.TB
	addr   string
	gets   atomic.Int64 // of blobs
	mu     sync.Mutex
	before meddler
}

func newHub(t testing.TB) *hub {
	t.Helper()
	h := &hub{t: t}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			h.gets.Add(1)
		}
		h.mu.Lock()
		before := h.before
		h.mu.Unlock()
		if before != nil {
			if w = before(w, r); w == nil {
				return
			}
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.addr = strings.TrimPrefix(server.URL, "http://")
	return h
}

// meddler gets a request first. It may answer it itself, and return nil.
type meddler func(http.ResponseWriter, *http.Request) http.ResponseWriter

func (h *hub) meddle(with meddler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = with
}

// push makes a tag of an image, and returns its name and digest.
func (h *hub) push(tag string, img v1.Image) (image, digest string) {
	h.t.Helper()
	image = h.addr + "/" + tag
	ref, err := name.ParseReference(image)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		h.t.Fatal(err)
	}
	d, err := img.Digest()
	if err != nil {
		h.t.Fatal(err)
	}
	return image, d.String()
}

// file is an entry of a layer: a regular file unless it says otherwise.
type file struct {
	name, content string
	kind          byte // tar's
	link          string
}

// archive is a layer's tar.
func archive(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Typeflag: f.kind, Linkname: f.link}
		if f.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// build makes an image of layers, the lowest first.
func build(t testing.TB, layers ...[]file) v1.Image {
	t.Helper()
	var all []v1.Layer
	for _, files := range layers {
		raw := archive(t, files...)
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil },
			tarball.WithCompressionLevel(gzip.BestSpeed))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	img, err := mutate.AppendLayers(empty.Image, all...)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// disk is an image as KubeVirt's containerDisk is made.
func disk(t testing.TB, content string) v1.Image {
	t.Helper()
	return build(t, []file{{name: "disk/", kind: tar.TypeDir}, {name: "disk/disk.img", content: content}})
}

// ociFetcher fetches files of OCI images.
type ociFetcher struct {
	*download.Fetcher
	users *atomic.Int64
}

func newFetcher(opts download.Options) ociFetcher {
	return ociFetcher{download.New(opts), new(atomic.Int64)}
}

func (f ociFetcher) Fetch(ctx context.Context, img, path, to string) (string, error) {
	return f.Fetcher.Fetch(ctx, oci.Source{Image: img, Path: path}, to, fmt.Sprint(f.users.Add(1)))
}

// Waiting is how many wait for the fetch to a place.
func (f ociFetcher) Waiting(to string) int {
	for _, s := range f.States() {
		if s.To == to {
			return len(s.Users)
		}
	}
	return 0
}

func fetcher(t testing.TB, opts download.Options) ociFetcher {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	f := newFetcher(opts)
	t.Cleanup(f.Close)
	return f
}

// qcow2 is an empty qcow2 image's bytes.
func qcow2(t testing.TB, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk.qcow2")
	args = append(append([]string{"create", "-q", "-f", "qcow2"}, args...), path, "4M")
	if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return read(t, path)
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// nothing wants a folder to have no file, or not to be there.
func nothing(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		t.Errorf("in %s there are %v, %v", dir, entries, err)
	}
}

const arch = runtime.GOARCH
