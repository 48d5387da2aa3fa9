package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/image"
)

func TestBacking(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.qcow2")
	qemuImg(t, "create", "-q", "-f", "qcow2", base, "1M")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("QFI"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		base: base, "base.qcow2": base, "file:" + base: base, "sub/../base.qcow2": base,
		`json:{"driver":"qcow2","file":{"driver":"file","filename":"` + base + `"}}`: "json:",
	} {
		top := filepath.Join(dir, "top.qcow2")
		qemuImg(t, "create", "-q", "-u", "-f", "qcow2", "-b", name, "-F", "qcow2", top, "1M")
		if got, err := image.Backing(top); err != nil || got != want && !(want == "json:" && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	for _, path := range []string{base, text, dir} {
		if got, err := image.Backing(path); err != nil || got != "" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := image.Backing(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func FuzzBacking(f *testing.F) {
	f.Add(append([]byte("QFI\xfb\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x05"), []byte("\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00/base")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := image.Backing(path); err != nil && !errors.Is(err, image.ErrUnusable) || len(got) > 1023+len(path) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk.img")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, want := range []bool{false, true} {
		if got, err := image.Locked(path); err != nil || got != want {
			t.Errorf("locked %v, %v", got, err)
		}
		// QEMU locks single bytes far from the start.
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: 100, Len: 1}); err != nil {
			t.Fatal(err)
		}
	}
}
