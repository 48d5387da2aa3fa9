package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/image"
)

// TestFormat finds out what an image is, and refuses one that would show the guest files of the host.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.raw")
	if err := os.WriteFile(base, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		create []string
		want   string // empty: refused
	}{
		"qcow2":            {[]string{"-f", "qcow2", "-o", "compat=1.1"}, "qcow2"},
		"old qcow2":        {[]string{"-f", "qcow2", "-o", "compat=0.10"}, "qcow2"},
		"raw":              {[]string{"-f", "raw"}, "raw"},
		"vmdk":             {[]string{"-f", "vmdk"}, "raw"},
		"backing file":     {[]string{"-f", "qcow2", "-b", base, "-F", "raw"}, ""},
		"old backing file": {[]string{"-f", "qcow2", "-o", "compat=0.10", "-b", base, "-F", "raw"}, ""},
		"data file":        {[]string{"-f", "qcow2", "-o", "data_file=" + filepath.Join(dir, "data")}, ""},
	} {
		path := filepath.Join(dir, "disk")
		qemuImg(t, append(append([]string{"create", "-q"}, test.create...), path, "1M")...)
		got, err := image.Format(path)
		if got != test.want || (test.want == "") != errors.Is(err, image.ErrUnusable) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		v := render.Volume{Name: "root", Kind: render.VolumeEmpty, Format: "qcow2", Backing: path, Fetch: &render.Fetch{}}
		made, err := (image.Maker{}).Ensure(t.Context(), filepath.Join(dir, name), v, image.Use{Fresh: true})
		if made != (test.want != "") {
			t.Errorf("%s: an overlay is made: %v, %v", name, made, err)
		}
	}
}
