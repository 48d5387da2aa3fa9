package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzHead checks that no header makes a file into an image that it is not long enough to be, and that qcow2 images are
// told by their first bytes.
func FuzzHead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "base.qcow2")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", path, "5M").CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	real, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	if h := parseHead(real[:32], int64(len(real))); !h.qcow2 || h.virtual != 5<<20 {
		f.Fatalf("a real image reads as %+v", h)
	}
	f.Add(real[:32])
	f.Add([]byte("QFI\xfb"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := parseHead(b, int64(len(b)))
		if want := len(b) >= 32 && strings.HasPrefix(string(b), "QFI\xfb"); h.qcow2 != want || h.length != int64(len(b)) {
			t.Errorf("%q reads as %+v", b, h)
		}
	})
}

// FuzzOwner checks that what a temporary file's name says is what was written into it, and that no other name reads as
// one's.
func FuzzOwner(f *testing.F) {
	self, err := thisOwner()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tempPrefix + self.String() + "-1.tmp")
	f.Add(".gitvirt-a-1-2-3.tmp")
	f.Add(".gitvirt---.tmp")
	f.Fuzz(func(t *testing.T, name string) {
		o, ok := parseOwner(name)
		if ok && !strings.HasPrefix(name, tempPrefix) {
			t.Errorf("%q reads as %v", name, o)
		}
		if !ok {
			return
		}
		if again, ok := parseOwner(tempPrefix + o.String() + "-1.tmp"); !ok || again != o {
			t.Errorf("%q reads as %v, and that as %v, %v", name, o, again, ok)
		}
	})
}
