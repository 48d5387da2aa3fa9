package imagecache_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/imagecache"
)

const mib = 1 << 20

// world is a cache, and a folder for overlays.
type world struct {
	t         *testing.T
	dir, pool string
	log       bytes.Buffer
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "cache"), pool: filepath.Join(t.TempDir(), "pool")}
	if err := os.Mkdir(w.pool, 0o711); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) cache(limit int64) *imagecache.Cache {
	return imagecache.New(w.dir, limit, slog.New(slog.NewTextHandler(&w.log, nil)))
}

// image is one that was fetched and used some hours ago.
func (w *world) image(name string, hours int) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "url", "place-of-"+name, "disk")
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		w.t.Fatal(err)
	}
	release, err := w.cache(0).Lease(path, w.pool)
	if err != nil {
		w.t.Fatal(err)
	}
	release()
	w.fetch(path)
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(path+".users", "lock"), at, at); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) fetch(path string) {
	w.t.Helper()
	if err := os.WriteFile(path, bytes.Repeat([]byte{1}, mib), 0o444); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) overlay(of, at string) {
	w.t.Helper()
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", of, "-F", "raw", at).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// left are the images that are there, by their names.
func (w *world) left() string {
	all, err := filepath.Glob(filepath.Join(w.dir, "*", "*", "disk*"))
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			names = append(names, strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "place-of-")+strings.TrimPrefix(filepath.Base(path), "disk"))
		}
	}
	return strings.Join(names, " ")
}

// TestTrim removes what was used the longest time ago, and no more than it has to.
func TestTrim(t *testing.T) { // alone: a process that is being started holds the locks of this one for a moment
	w := newWorld(t)
	for name, hours := range map[string]int{"a": 3, "b": 1, "c": 4, "d": 2} {
		w.image(name, hours)
	}
	part := filepath.Join(w.dir, "url", "place-of-e")
	if err := os.MkdirAll(part, 0o711); err != nil {
		t.Fatal(err)
	}
	w.fetch(filepath.Join(part, "disk.part"))
	w.fetch(filepath.Join(part, "disk.part.of"))
	if c := w.cache(0); c.State().Bytes != 0 {
		t.Error("it was not looked at")
	}
	c := w.cache(8 * mib)
	if c.Trim(t.Context(), 0); w.left() != "a b c d e.part e.part.of" || c.State().Bytes < 6*mib || c.State().Stuck != 0 {
		t.Errorf("within the limit there are %s, %+v", w.left(), c.State())
	}
	if c.Trim(t.Context(), 4*mib); w.left() != "b d e.part e.part.of" {
		t.Errorf("with room for more there are %s", w.left())
	}
	if w.cache(2*mib).Trim(t.Context(), 0); w.left() != "e.part e.part.of" && w.left() != "" {
		t.Errorf("of two there are %s", w.left())
	}
	if w.cache(1).Trim(t.Context(), 0); w.left() != "" {
		t.Errorf("at last there are %s", w.left())
	}
	for _, gone := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(w.dir, "url", "place-of-"+gone, "disk.users")); err != nil {
			t.Error(err)
		}
	}
}

// TestInUse: no image is removed that a disk is an overlay of, whatever became of the disk's machine, its name and its folder.
func TestInUse(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(w *world, image string) (kept bool){
		"nobody": func(*world, string) bool { return false },
		"an overlay": func(w *world, image string) bool {
			w.overlay(image, filepath.Join(w.pool, "web.root.qcow2"))
			return true
		},
		"one under another name": func(w *world, image string) bool {
			w.overlay(image, filepath.Join(w.pool, "kept by somebody"))
			return true
		},
		"by a relative name": func(w *world, image string) bool {
			link := filepath.Join(w.pool, "..", "link")
			if err := os.Symlink(w.dir, link); err != nil {
				w.t.Fatal(err)
			}
			w.overlay("../link/url/place-of-a/disk", filepath.Join(w.pool, "web.root.qcow2"))
			return true
		},
		"an overlay that is gone": func(w *world, image string) bool {
			at := filepath.Join(w.pool, "web.root.qcow2")
			w.overlay(image, at)
			if err := os.Remove(at); err != nil {
				w.t.Fatal(err)
			}
			return false
		},
		"an overlay that was flattened": func(w *world, image string) bool {
			at := filepath.Join(w.pool, "web.root.qcow2")
			w.overlay(image, at)
			if out, err := exec.Command("qemu-img", "rebase", "-b", "", at).CombinedOutput(); err != nil {
				w.t.Fatalf("%v: %s", err, out)
			}
			return false
		},
		"a folder that is not mounted": func(w *world, image string) bool {
			w.overlay(image, filepath.Join(w.pool, "web.root.qcow2"))
			if err := os.Rename(w.pool, w.pool+" elsewhere"); err != nil {
				w.t.Fatal(err)
			}
			return true
		},
		"another folder in its place": func(w *world, image string) bool {
			w.overlay(image, filepath.Join(w.pool, "web.root.qcow2"))
			if err := os.Rename(w.pool, w.pool+" elsewhere"); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Mkdir(w.pool, 0o711); err != nil {
				w.t.Fatal(err)
			}
			return true
		},
		"a header that lies": func(w *world, _ string) bool {
			at := filepath.Join(w.pool, "web.root.qcow2")
			w.overlay(filepath.Join(w.dir, "url", "place-of-a", "disk"), at)
			f, err := os.OpenFile(at, os.O_WRONLY, 0)
			if err != nil {
				w.t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}, 16); err != nil {
				w.t.Fatal(err)
			}
			return true
		},
		"a record that cannot be read": func(w *world, image string) bool {
			if err := os.WriteFile(filepath.Join(image+".users", "x.json"), []byte("{"), 0o600); err != nil {
				w.t.Fatal(err)
			}
			return true
		},
		"an older agent, without records": func(w *world, image string) bool {
			if err := os.RemoveAll(image + ".users"); err != nil {
				w.t.Fatal(err)
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.t = t
			kept := use(w, w.image("a", 1))
			c := w.cache(1)
			for n := 0; n == 0 || !kept && w.left() != "" && n < 200; n++ {
				c.Trim(t.Context(), 0) // a process that is being started holds the locks of this one for a moment
				time.Sleep(10 * time.Millisecond)
			}
			if (w.left() != "") != kept {
				t.Fatalf("left are %q\n%s", w.left(), &w.log)
			}
			if st := c.State(); (st.Stuck > 0) != kept || kept && !strings.Contains(w.log.String(), "the cache is above its limit") {
				t.Errorf("it is told as %+v\n%s", st, &w.log)
			}
		})
	}
}

// TestLease: an image is kept while its overlay is being made, by another process too, and the record of the overlay's folder is
// there before.
func TestLease(t *testing.T) { // alone: a process that is being started holds the locks of this one for a moment
	w := newWorld(t)
	path := w.image("a", 1)
	c := w.cache(1)
	first, err := c.Lease(path, w.pool)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Lease(path, w.pool)
	if err != nil {
		t.Fatal(err)
	}
	first()
	first() // once is enough
	for _, other := range []*imagecache.Cache{c, w.cache(1)} {
		if other.Trim(t.Context(), 0); w.left() != "a" {
			t.Fatal("a leased image was removed")
		}
	}
	second()
	if c.Trim(t.Context(), 0); w.left() != "" {
		t.Errorf("left are %s", w.left())
	}
	if _, err := c.Lease(path, filepath.Join(w.pool, "none")); err == nil {
		t.Error("a folder that is not there is recorded")
	}
	if release, err := c.Lease("/elsewhere/disk", "/none"); err != nil {
		t.Error(err)
	} else {
		release()
	}
}

// TestRace makes overlays while the cache is trimmed without end: never is there one without its image.
func TestRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.image("a", 1)
	c := w.cache(1)
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				w.cache(1).Trim(t.Context(), 0)
			}
		}
	})
	overlay := filepath.Join(w.pool, "web.root.qcow2")
	for range 30 {
		release, err := c.Lease(path, w.pool)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			w.fetch(path)
		}
		w.overlay(path, overlay)
		release()
		time.Sleep(time.Millisecond)
		if _, err := os.Stat(path); err != nil {
			t.Fatal("an overlay is without its image")
		}
		if err := os.Remove(overlay); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	all.Wait()
}

// TestKilled: a process that is killed between any two steps leaves a record too many, and never one too few.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.image("a", 1)
	// What a kill leaves while the record is written, and what one leaves that comes after.
	if err := os.WriteFile(filepath.Join(path+".users", ".gitvirt-0-1-1-x.tmp"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestHold$")
	c.Env = append(os.Environ(), "GITVIRT_HOLD="+path+"\n"+w.pool+"\n"+w.dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if w.cache(1).Trim(t.Context(), 0); w.left() != "a" {
		t.Error("what another process holds was removed")
	}
	if err := c.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	for n := 0; w.left() != "" && n < 200; n++ {
		w.cache(1).Trim(t.Context(), 0)
		time.Sleep(10 * time.Millisecond)
	}
	if w.left() != "" {
		t.Error("what a killed process held stays for ever")
	}
}

// TestHold is the process that TestKilled kills.
func TestHold(t *testing.T) {
	fields := strings.Split(os.Getenv("GITVIRT_HOLD"), "\n")
	if len(fields) != 3 {
		return
	}
	if _, err := imagecache.New(fields[2], 1, slog.New(slog.DiscardHandler)).Lease(fields[0], fields[1]); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
}
