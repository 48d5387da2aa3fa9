package runner_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// registryWith is a registry on this host that has one image, with files by path. Layers wait for gate, if there is one.
func registryWith(t *testing.T, gate <-chan struct{}, files map[string][]byte) (image string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for path, content := range files {
		err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
		if _, err2 := w.Write(content); errors.Join(err, err2) != nil {
			t.Fatal(err, err2)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gate != nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	image = strings.TrimPrefix(server.URL, "http://") + "/disks/it:v1"
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return image
}

// containerDisk is a machine's volume that is fresh at every run.
func (m machine) containerDisk(cache, image string) render.Volume {
	return render.Volume{Name: "root", Kind: render.VolumeEmpty, Pool: "default", File: m.name + ".root.qcow2", Format: "qcow2",
		Backing: filepath.Join(cache, "oci", "0123456789abcdef", "disk"), Fetch: &render.Fetch{Image: image, Path: "disk/disk.img"}}
}

func qemuIO(t *testing.T, path, command string) (string, error) {
	t.Helper()
	out, err := exec.Command("qemu-io", "-f", "qcow2", "-c", command, path).CombinedOutput()
	return string(out), err
}

// TestContainerDisk runs two machines on one image, twice each: what one writes is gone after its run, and the image is
// shared and stays as it was.
func TestContainerDisk(t *testing.T) {
	t.Parallel()
	for format, base := range map[string][]byte{"raw": bytes.Repeat([]byte{0x11}, 2<<20), "qcow2": nil} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := sandboxtest.Start(t)
			pattern := "0x11"
			if format == "qcow2" {
				var err error
				if base, err = os.ReadFile(baseImage(t, s)); err != nil {
					t.Fatal(err)
				}
				pattern = "0"
			}
			image := registryWith(t, nil, map[string][]byte{"disk/disk.img": base, "boot/vmlinuz": []byte("linux")})
			r := start(t, options(t, s))
			cache := t.TempDir()
			kernel := render.Volume{Name: "kernel", Kind: render.VolumeFetched, Path: filepath.Join(cache, "oci", "fedcba9876543210", "vmlinuz"),
				Fetch: &render.Fetch{Image: image, Path: "/boot/vmlinuz"}}
			for _, m := range []machine{newMachine("a"), newMachine("b")} {
				v := m.containerDisk(cache, image)
				fresh := m.makeVolumes(v, kernel)
				fresh.Fresh = true
				overlay := filepath.Join(s.PoolDir(), v.File)
				early := m.makeVolumes(v, kernel)
				apply(t, r, early)
				if _, err := os.Stat(overlay); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("before the run there is an overlay: %v", err)
				}
				apply(t, r, m.define(nil, disks([]render.Volume{v})...))
				for run := range 2 {
					apply(t, r, fresh, m.startPaused())
					if live := virsh(t, s, "dumpxml", m.name); !strings.Contains(live, v.Backing) {
						t.Errorf("libvirt does not know the backing file:\n%s", live)
					}
					apply(t, r, m.step(plan.OpDestroy))
					if out, err := qemuIO(t, overlay, "read -P "+pattern+" 0 64k"); err != nil || strings.Contains(out, "Pattern verification failed") {
						t.Errorf("run %d of %s begins with %s, %v", run, m.name, out, err)
					}
					// As a guest would have.
					if out, err := qemuIO(t, overlay, "write -P 0x22 0 64k"); err != nil {
						t.Fatal(out, err)
					}
				}
				if got, err := os.ReadFile(v.Backing); err != nil || !bytes.Equal(got, base) {
					t.Errorf("the image has changed: %v", err)
				}
			}
			if got, err := os.ReadFile(kernel.Path); err != nil || string(got) != "linux" {
				t.Errorf("the kernel is %q, %v", got, err)
			}
		})
	}
}

// TestDownloadHoldsUpNoOther: while one machine waits for its image, others are made, and the runner can end.
func TestDownloadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	gate := make(chan struct{})
	image := registryWith(t, gate, map[string][]byte{"disk/disk.img": bytes.Repeat([]byte("x"), 4096)})
	r := start(t, options(t, s))
	cache := t.TempDir()
	waiting := make(chan error, 8)
	for n := range 8 {
		m := newMachine("waits" + string(rune('0'+n)))
		v := m.containerDisk(filepath.Join(cache, m.name), image)
		go func() { waiting <- r.Apply(t.Context(), []plan.Step{m.makeVolumes(v)}) }()
	}
	m := newMachine("web")
	v := m.volumes(baseImage(t, s))
	for range 2 {
		apply(t, r, m.makeVolumes(v[:2]...), m.define(nil, disks(v[:2])...), m.startPaused(), m.step(plan.OpDestroy))
	}
	select {
	case err := <-waiting:
		t.Errorf("one did not wait: %v", err)
	default:
	}
	close(gate)
	for range 8 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
}

// TestLostImage: an overlay that keeps its content is put on nothing but what it was made on.
func TestLostImage(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	content := bytes.Repeat([]byte("x"), 1<<20)
	image := registryWith(t, nil, map[string][]byte{"disk/disk.img": content})
	r := start(t, options(t, s))
	m := newMachine("web")
	v := m.containerDisk(t.TempDir(), image)
	v.Kind = render.VolumeOverlay
	apply(t, r, m.makeVolumes(v))
	lose := func(names ...string) {
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	lose(v.Backing)
	apply(t, r, m.makeVolumes(v)) // the record says which it was
	if got, err := os.ReadFile(v.Backing); err != nil || !bytes.Equal(got, content) {
		t.Errorf("it is not back: %v", err)
	}
	lose(v.Backing, v.Backing+".digest")
	err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(v)})
	if !errors.Is(err, runner.ErrImage) || !strings.Contains(err.Error(), "name the image with its digest") {
		t.Errorf("it gives %v", err)
	}
}
