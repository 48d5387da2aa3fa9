package web_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/runner/web"
)

const mib = 1 << 20

// noise does not compress.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b) // it never fails
	return b
}

// site is a server of files on this host, with what a test puts between it and who asks.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string][]byte
	etag   string // of all files; empty for none
	meddle func(http.ResponseWriter, *http.Request) bool
	gets   atomic.Int64
	ranges []string // that were asked for
	sent   atomic.Int64
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{files: map[string][]byte{}, etag: `"one"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP serves ranges as net/http does.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.gets.Add(1)
	s.mu.Lock()
	content, there := s.files[r.URL.Path]
	etag, meddle := s.etag, s.meddle
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	s.mu.Unlock()
	if !there {
		http.NotFound(w, r)
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if meddle != nil && meddle(w, r) {
		return
	}
	http.ServeContent(&counted{w, s}, r, "", time.Time{}, bytes.NewReader(content))
}

type counted struct {
	http.ResponseWriter
	site *site
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.site.sent.Add(int64(n))
	return n, err
}

func (s *site) put(path string, content []byte, etag string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path], s.etag = content, etag
	return s.URL + path
}

func (s *site) with(meddle func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddle, s.ranges = meddle, nil
	s.gets.Store(0)
	s.sent.Store(0)
}

// asked are the ranges that were asked for since with.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ranges
}

// cutAt sends so many bytes of a file, from where they are asked for, and then breaks the connection.
func cutAt(content []byte, n int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && r.Header.Get("If-Range") != w.Header().Get("ETag") {
			from = 0
		}
		status := http.StatusOK
		if from > 0 {
			status = http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		w.WriteHeader(status)
		_, _ = w.Write(content[from:min(len(content), from+n)])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func fetcher(t testing.TB, opts download.Options) *download.Fetcher {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	f := download.New(opts)
	t.Cleanup(f.Close)
	return f
}

// source is an image whose checksum is that of a content.
func source(at string, content []byte) web.Source {
	return web.Source{URL: at, Sum: digest(content), Convert: image.Maker{}.FromVMDK}
}

func fetch(t testing.TB, f *download.Fetcher, s web.Source, to string) error {
	t.Helper()
	_, err := f.Fetch(t.Context(), s, to, "web")
	return err
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// names are the files of a folder.
func names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// run runs a program, and returns what it writes to its output.
func run(t testing.TB, input []byte, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, said.String())
	}
	return out
}

// disk makes an image with qemu-img, which has a byte at 64 KiB.
func disk(t testing.TB, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	raw := make([]byte, 4*mib)
	copy(raw[64<<10:], bytes.Repeat([]byte{0x5a}, 4096))
	from, to := filepath.Join(dir, "raw"), filepath.Join(dir, "disk")
	if err := os.WriteFile(from, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "qemu-img", append(append([]string{"convert", "-f", "raw"}, args...), from, to)...)
	return read(t, to)
}

func escape(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func newLogin(user, password string) *web.Login { return &web.Login{User: user, Password: password} }

// overwrite spoils the first bytes of a file.
func overwrite(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("spoilt"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
