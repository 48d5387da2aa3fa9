package image

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/secret"
)

type passphrases map[string]string

func (p passphrases) Value(token string) (secret.Value, bool) {
	v, ok := p[token]
	return secret.NewValue([]byte(v)), ok
}

// TestEncryptedVolume makes one, on an image and without; grows it; and tells whether a passphrase opens it.
func TestEncryptedVolume(t *testing.T) {
	m := Maker{Secrets: passphrases{"good": "canary ü a,b=c", "bad": "other"}, TryTime: 10 * time.Millisecond}
	dir := t.TempDir()
	idle := Use{InUse: func() (bool, error) { return false, nil }}
	volume := func(token string, size int64, check bool) render.Volume {
		return render.Volume{Name: "root", Kind: render.VolumeBlank, Format: "qcow2", Size: size, Encryption: &render.Encryption{Token: token, Check: check}}
	}
	path := filepath.Join(dir, "with,comma.qcow2")
	for _, step := range []struct {
		name string
		v    render.Volume
		made bool
		err  string
	}{
		{"made", volume("good", 1<<20, false), true, ""},
		{"checked", volume("good", 1<<20, true), false, ""},
		{"grown", volume("good", 2<<20, false), false, ""},
		{"another passphrase", volume("bad", 2<<20, true), false, "the passphrase does not open volume root"},
		{"grown with another passphrase", volume("bad", 3<<20, false), false, "qemu-img resize"},
		{"an unknown one", volume("none", 3<<20, true), false, "passphrase is not known"},
	} {
		made, err := m.Ensure(t.Context(), path, step.v, idle)
		if made != step.made || (step.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%s: %v, %v", step.name, made, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error tells the passphrase: %v", step.name, err)
		}
	}
	if h, err := readHead(path); err != nil || h.virtual != 2<<20 {
		t.Errorf("%+v, %v", h, err)
	}
	base := filepath.Join(dir, "base.qcow2")
	if _, err := m.Ensure(t.Context(), base, render.Volume{Name: "base", Kind: render.VolumeBlank, Format: "qcow2", Size: 1 << 20}, idle); err != nil {
		t.Fatal(err)
	}
	over := volume("good", 0, false)
	over.Kind, over.Backing, over.BackingFormat = render.VolumeOverlay, base, "qcow2"
	overlay := filepath.Join(dir, "overlay.qcow2")
	if made, err := m.Ensure(t.Context(), overlay, over, idle); !made || err != nil {
		t.Errorf("an overlay: %v, %v", made, err)
	}
	for _, file := range []string{path, overlay} {
		if info, err := exec.Command("qemu-img", "info", file).CombinedOutput(); err != nil || !strings.Contains(string(info), "format: luks") {
			t.Errorf("%s: %v\n%s", file, err, info)
		}
	}
	if _, err := (Maker{}).Ensure(t.Context(), filepath.Join(dir, "x"), volume("good", 1<<20, false), idle); err == nil {
		t.Error("it makes an encrypted volume without a passphrase")
	}
}
