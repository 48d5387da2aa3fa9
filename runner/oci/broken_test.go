package oci_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// noise does not compress.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b) // it never fails
	return string(b)
}

// editing changes bytes of answers on their way.
type editing struct {
	http.ResponseWriter
	at   int
	edit func(at int, b []byte) []byte
}

func (e *editing) Write(b []byte) (int, error) {
	n := 0
	for part := range slices.Chunk(b, 16<<10) {
		out := e.edit(e.at, bytes.Clone(part))
		e.at += len(part)
		wrote, err := e.ResponseWriter.Write(out)
		if err != nil {
			return n, err
		}
		if wrote < len(part) {
			panic(http.ErrAbortHandler) // the connection is cut
		}
		n += wrote
	}
	return n, nil
}

func isBlob(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }

// TestSpoilt flips a bit at many places of a layer and of the manifest: never is there a file of it.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	// The archive's end is followed by zeroes, which nobody but the check of the digest looks at.
	img, digest := h.push("disks/it", disk(t, noise(20_000)))
	img += "@" + digest
	f := fetcher(t, download.Options{})
	dir := t.TempDir()
	for _, blobs := range []bool{true, false} {
		for at, size := 0, 1; size > 0; at += max(1, size/40) {
			var length atomic.Int64
			h.meddle(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
				if r.Method != http.MethodGet || isBlob(r) != blobs || r.URL.Path == "/v2/" {
					return w
				}
				return &editing{ResponseWriter: w, edit: func(from int, b []byte) []byte {
					length.Store(int64(from + len(b)))
					if i := at - from; i >= 0 && i < len(b) {
						b[i] ^= 0x20
					}
					return b
				}}
			})
			_, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, "disk"))
			size = int(length.Load())
			if at >= size {
				if err != nil {
					t.Fatalf("unspoilt it gives %v", err)
				}
				break
			}
			if err == nil {
				t.Fatalf("with byte %d of %d spoilt (blobs: %v) it is taken", at, size, blobs)
			}
			nothing(t, dir)
		}
		for _, name := range []string{"disk", "disk.digest"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCut cuts the connection after so many bytes of each answer: there is an error that is worth trying again, nothing is
// left, and without the cut the next fetch is well.
func TestCut(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	content := noise(300_000)
	img, _ := h.push("disks/it", disk(t, content))
	var size atomic.Int64
	for _, blobs := range []bool{false, true} {
		for _, share := range []float64{0, 0.1, 0.5, 0.9, 0.999} {
			dir := t.TempDir()
			h.meddle(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
				if r.Method != http.MethodGet || isBlob(r) != blobs || r.URL.Path == "/v2/" {
					return w
				}
				cut := int(share * float64(size.Load()))
				return &editing{ResponseWriter: w, edit: func(from int, b []byte) []byte {
					return b[:max(0, min(len(b), cut-from))]
				}}
			})
			size.Store(300_000)
			if !blobs {
				size.Store(400)
			}
			f := fetcher(t, download.Options{})
			_, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, "disk"))
			if err == nil || errors.Is(err, image.ErrUnusable) {
				t.Errorf("cut at %v (blobs: %v) it gives %v", share, blobs, err)
			}
			nothing(t, dir)
			h.meddle(nil)
			if _, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, "disk")); err != nil || read(t, filepath.Join(dir, "disk")) != content {
				t.Errorf("after the cut it gives %v", err)
			}
		}
	}
}

// TestMissing: a tag that is pushed later is found then.
func TestMissing(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	f := fetcher(t, download.Options{})
	to := filepath.Join(t.TempDir(), "a", "disk")
	_, err := f.Fetch(t.Context(), h.addr+"/disks/it:v2", "", to)
	if err == nil || errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "no such image") {
		t.Errorf("a missing tag gives %v", err)
	}
	img, _ := h.push("disks/it:v2", build(t, []file{{name: "x", content: "x"}}))
	if _, err := f.Fetch(t.Context(), img, "", to); !errors.Is(err, image.ErrUnusable) {
		t.Errorf("an image without a disk gives %v", err)
	}
	h.push("disks/it:v2", disk(t, "content"))
	if _, err := f.Fetch(t.Context(), img, "", to); err != nil || read(t, to) != "content" {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	f := fetcher(t, download.Options{})
	dir := t.TempDir()
	for img, want := range map[string]string{
		"": "names no registry", "debian": "names no registry", "team/debian:12": "names no registry",
		"registry.example/UPPER": "no name of an image", "registry.example/a@sha256:12": "no name of an image",
		"registry.example/a@md5:d41d8cd98f00b204e9800998ecf8427e": "no name of an image",
	} {
		if _, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, "disk")); !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", img, err)
		}
	}
	for _, to := range []string{"disk", dir} {
		if _, err := f.Fetch(t.Context(), "registry.example/a", "", to); !errors.Is(err, image.ErrUnusable) {
			t.Errorf("to %q gives %v", to, err)
		}
	}
	nothing(t, dir)
}

// TestPlainHTTP: a redirect to another host without TLS is not followed.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	img, _ := h.push("disks/it", disk(t, "content"))
	h.meddle(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
		if isBlob(r) {
			http.Redirect(w, r, "http://registry.example"+r.URL.Path, http.StatusTemporaryRedirect)
			return nil
		}
		return w
	})
	_, err := fetcher(t, download.Options{}).Fetch(t.Context(), img, "", filepath.Join(t.TempDir(), "disk"))
	if err == nil || !strings.Contains(err.Error(), "others need TLS") {
		t.Errorf("it gives %v", err)
	}
}

// TestBounds: neither a file that is too large nor a disk that is full leaves anything.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	img, _ := h.push("disks/it", disk(t, noise(mib)))
	dir := t.TempDir()
	_, err := fetcher(t, download.Options{Limit: mib - 1}).Fetch(t.Context(), img, "", filepath.Join(dir, "disk"))
	if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "1048576 bytes, and 1048575 may be fetched") {
		t.Errorf("too large: %v", err)
	}
	nothing(t, dir)
	_, err = fetcher(t, download.Options{Reserve: 1 << 60}).Fetch(t.Context(), img, "", filepath.Join(dir, "disk"))
	if err == nil || errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "is full: it has") {
		t.Errorf("a full disk: %v", err)
	}
	nothing(t, dir)
}

// halting is a hub whose layers stop in the middle until they are let go.
func halting(t *testing.T) (h *hub, img string, halted chan struct{}, letGo func()) {
	h = newHub(t)
	img, _ = h.push("disks/it", disk(t, noise(mib)))
	halted, release := make(chan struct{}, 100), make(chan struct{})
	h.meddle(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
		if r.Method != http.MethodGet || !isBlob(r) {
			return w
		}
		return &editing{ResponseWriter: w, edit: func(from int, b []byte) []byte {
			if from > mib/2 {
				select {
				case halted <- struct{}{}:
				default:
				}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
			return b
		}}
	})
	letGo = sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	return h, img, halted, letGo
}

// TestCancel ends a fetch at once, and cleans up.
func TestCancel(t *testing.T) {
	t.Parallel()
	_, img, halted, _ := halting(t)
	dir := t.TempDir()
	f := fetcher(t, download.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() {
		<-halted
		cancel(enough)
	}()
	if _, err := f.Fetch(ctx, img, "", filepath.Join(dir, "disk")); !errors.Is(err, enough) {
		t.Errorf("it gives %v", err)
	}
	f.Close()
	nothing(t, dir)
	if _, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, "disk")); err == nil {
		t.Error("a closed fetcher fetches")
	}
}

// TestStall gives up on a registry that sends nothing any more.
func TestStall(t *testing.T) {
	t.Parallel()
	_, img, _, _ := halting(t)
	dir := t.TempDir()
	_, err := fetcher(t, download.Options{Patience: 200 * time.Millisecond}).Fetch(t.Context(), img, "", filepath.Join(dir, "disk"))
	if err == nil || errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "nothing has moved for 200ms") {
		t.Errorf("it gives %v", err)
	}
	nothing(t, dir)
}

// TestShared has many fetch one file at once: it is fetched once, and goes on when the first of them gives up.
func TestShared(t *testing.T) {
	t.Parallel()
	h, img, halted, letGo := halting(t)
	to := filepath.Join(t.TempDir(), "disk")
	f := fetcher(t, download.Options{})
	first, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := f.Fetch(first, img, "", to)
		gone <- err
	}()
	<-halted
	var all sync.WaitGroup
	var joined atomic.Int32
	for range 20 {
		all.Go(func() {
			joined.Add(1)
			if _, err := f.Fetch(t.Context(), img, "", to); err != nil {
				t.Error(err)
			}
		})
	}
	for joined.Load() < 20 || f.Waiting(to) < 21 {
		time.Sleep(time.Millisecond)
	}
	if _, err := f.Fetch(t.Context(), img, "other", to); err == nil || !strings.Contains(err.Error(), "another file is being fetched") {
		t.Errorf("another file to the same place: %v", err)
	}
	giveUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up has %v", err)
	}
	letGo()
	all.Wait()
	if n := h.gets.Load(); n != 1 {
		t.Errorf("the layer was fetched %d times", n)
	}
}

// TestTwoAtOnce: more fetches wait for their turn.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	h, img, halted, letGo := halting(t)
	f := fetcher(t, download.Options{})
	var all sync.WaitGroup
	dir := t.TempDir()
	for n := range 6 {
		all.Go(func() {
			if _, err := f.Fetch(t.Context(), img, "", filepath.Join(dir, fmt.Sprint(n), "disk")); err != nil {
				t.Error(err)
			}
		})
	}
	<-halted
	<-halted
	time.Sleep(50 * time.Millisecond) // a third would have come by now
	if n := h.gets.Load(); n != 2 {
		t.Errorf("%d are fetched at once", n)
	}
	letGo()
	all.Wait()
	if n := h.gets.Load(); n != 6 {
		t.Errorf("%d were fetched", n)
	}
}
