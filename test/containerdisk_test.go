package test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log/slog"
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
)

// pushDisk serves a registry with an image as KubeVirt's containerDisk is made, and returns its name.
func pushDisk(t *testing.T, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "disk/disk.img", Mode: 0o440, Size: int64(len(content)), Typeflag: tar.TypeReg})
	_, err2 := w.Write(content)
	err3 := w.Close()
	layer, err4 := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/disks/tiny:v1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return ref.Name()
}

// thisRegistry is a policy by which machines may begin as what a registry on this host has.
const thisRegistry = `images: ["127.0.0.1:*"]`

// TestContainerDiskIsFreshAtEveryRun, from a commit to the bytes: two machines share one image, and what one writes is
// gone at its next run.
func TestContainerDiskIsFreshAtEveryRun(t *testing.T) {
	h := newHost(t)
	h.allow(thisRegistry)
	base := bytes.Repeat([]byte{0x11}, 1<<20)
	image := pushDisk(t, base)
	doc := func(name string) string {
		return strings.Replace(machineDoc(name, "", "16Mi", "root"), "{name: root, volume: {size: 1Mi}}",
			"{name: root, containerDisk: {image: \""+image+"\"}}", 1)
	}
	overlay := filepath.Join(h.sandbox.PoolDir(), "a.root.qcow2")
	qemuIO := func(command string) string {
		out, err := exec.Command("qemu-io", "-f", "qcow2", "-c", command, overlay).CombinedOutput()
		if err != nil {
			t.Fatalf("qemu-io: %v: %s", err, out)
		}
		return string(out)
	}
	for _, run := range []string{"run: 1", "run: 2"} {
		h.push("Run", doc("a"), runDoc("a", "state: Paused, "+run), doc("b"), runDoc("b", "state: Paused"))
		h.converge()
		if got := h.virsh("domstate", "a"); !strings.Contains(got, "paused") {
			t.Errorf("at %s it is %s", run, got)
		}
		h.push("Stop", doc("a"), runDoc("a", "state: Stopped, "+run), doc("b"), runDoc("b", "state: Paused"))
		h.converge()
		if got := qemuIO("read -P 0x11 0 64k"); strings.Contains(got, "failed") {
			t.Errorf("at %s it begins with what was written before: %s", run, got)
		}
		qemuIO("write -P 0x22 0 64k") // as its guest would have
	}
	cached, err := filepath.Glob(filepath.Join(h.state, "cache", "oci", "*", "disk"))
	if err != nil || len(cached) != 1 {
		t.Fatalf("the cache has %v, %v", cached, err)
	}
	if got, err := os.ReadFile(cached[0]); err != nil || !bytes.Equal(got, base) {
		t.Errorf("the image has changed: %v", err)
	}
	if n := strings.Count(h.log.String(), "fetched an image"); n != 1 {
		t.Errorf("it was fetched %d times", n)
	}
}
