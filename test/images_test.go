package test

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// countingSector is a program of 16-bit code that a BIOS boots from a disk. It reads the byte behind itself (at 512), writes to the
// serial port "this disk has booted before, times: " and that byte, adds one to it, writes it back to the disk, and says so.
const countingSector = "+jHAjtiOwI7QvAB8+4gWpny0Qr6ofM0Tciy+aHzoLgCgAIDoMwCwCuguAP4GAIC4AEOKFqZ8vqh8zRNyCb6NfOgLAPTr/b6WfOgCAOv1rITAdAXo" +
	"AwDr9sNQuv0D7KggdPtYuvgD7sN0aGlzIGRpc2sgaGFzIGJvb3RlZCBiZWZvcmUsIHRpbWVzOiAAd3JpdHRlbgoAdGhlIGRpc2sgZmFpbHMKAACQEAABAACAAAAB"

// countingDisk is a raw disk that boots, and counts how often. Its serial number tells one from another.
func countingDisk(t *testing.T, serial string) []byte {
	t.Helper()
	raw := make([]byte, 1<<20)
	code, err := base64.StdEncoding.DecodeString(countingSector)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw, code)
	copy(raw[510:], []byte{0x55, 0xaa, '0'})
	copy(raw[4096:], serial)
	return raw
}

// convert makes an image of a raw disk with qemu-img.
func convert(t *testing.T, raw []byte, args ...string) []byte {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "raw"), filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(from, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-img", append(append([]string{"convert", "-f", "raw"}, args...), from, to)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fileServer is a server of files, which counts what was asked for.
type fileServer struct {
	mu    sync.Mutex
	files map[string][]byte
	gets  map[string]int
	hold  chan struct{} // what is asked for waits for it half way
}

func (f *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	content, ok := f.files[r.URL.Path]
	f.gets[r.URL.Path]++
	hold := f.hold
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content[:len(content)/2])
	if hold != nil {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	_, _ = w.Write(content[len(content)/2:])
}

// bootDoc is a machine that boots from its disk, as a volume says it.
func (h *host) bootDoc(name, volume string) string {
	console := html.EscapeString(h.console(name))
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  restartPolicy: Never
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: 64Mi}, devices: {disks: [{name: root, bootOrder: 1}]}}
      volumes: [{name: root, %s}]
      domainXML: |
        <domain><devices><serial type='file'><source path='%s' append='on'/><target port='0'/></serial>
        <console type='file'><source path='%s' append='on'/><target type='serial' port='0'/></console></devices></domain>
`, name, volume, console, console)
}

// TestGuestsBootFromImages: guests that boot from images of every kind, from a commit to what their own code writes. What they
// write is kept where it is to be kept, and another image takes nothing from those who are there.
func TestGuestsBootFromImages(t *testing.T) {
	h := newHost(t)
	h.allow(fmt.Sprintf(`hostPaths: [%q], images: ["127.0.0.1:*"]`, h.sandbox.PoolDir()))
	qcow2 := convert(t, countingDisk(t, "qcow2"), "-O", "qcow2")
	xz := exec.Command("xz", "-c")
	xz.Stdin = bytes.NewReader(countingDisk(t, "xz"))
	packed, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	vmdk := convert(t, countingDisk(t, "vmdk"), "-O", "vmdk", "-o", "subformat=streamOptimized")
	other := convert(t, countingDisk(t, "other"), "-O", "qcow2")
	f := &fileServer{gets: map[string]int{}, files: map[string][]byte{
		"/disk.qcow2": qcow2, "/disk.raw.xz": packed, "/disk.vmdk": vmdk, "/other.qcow2": other,
		"/SHA256SUMS": fmt.Appendf(nil, "%x  disk.raw.xz\n", sha256.Sum256(packed)),
	}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	at := func(file, sum string) string {
		return fmt.Sprintf("volume: {image: {url: %q, %s}}", server.URL+file, sum)
	}
	oci := pushDisk(t, countingDisk(t, "oci"))
	machines := map[string]string{
		"qcow2":      at("/disk.qcow2", fmt.Sprintf("sha256: %q", fmt.Sprintf("%x", sha256.Sum256(qcow2)))),
		"same":       at("/disk.qcow2", fmt.Sprintf("sha256: %q", fmt.Sprintf("%x", sha256.Sum256(qcow2)))),
		"packed":     at("/disk.raw.xz", fmt.Sprintf("checksums: %q", server.URL+"/SHA256SUMS")),
		"vmdk":       at("/disk.vmdk", fmt.Sprintf("sha512: %q, format: vmdk", fmt.Sprintf("%x", sha512.Sum512(vmdk)))),
		"persistent": fmt.Sprintf("containerDisk: {image: %q, persistent: true}", oci),
		"ephemeral":  fmt.Sprintf("containerDisk: {image: %q}", oci),
	}
	docs := func(run string) []string {
		var all []string
		for name, volume := range machines {
			all = append(all, h.bootDoc(name, volume), runDoc(name, run))
		}
		return all
	}
	booted := func(name string, times int, before string) {
		t.Helper()
		sandboxtest.Wait(t, patience, func() bool {
			said := strings.Split(h.read(name), "times: ")
			return len(said) == times+1 && strings.Contains(said[times], "written")
		}, fmt.Sprintf("%s has booted %d times", name, times))
		if said := strings.Split(h.read(name), "times: ")[times]; !strings.HasPrefix(said, before) {
			t.Errorf("at boot %d of %s its disk has been booted %.1s times before, want %s", times, name, said, before)
		}
	}
	h.push("First", docs("run: 1")...)
	h.converge()
	for name := range machines {
		booted(name, 1, "0")
	}
	// Another image for one of them: it keeps its own, and is told so.
	machines["qcow2"] = at("/other.qcow2", fmt.Sprintf("sha256: %q", fmt.Sprintf("%x", sha256.Sum256(other))))
	h.push("Second", docs("run: 2")...)
	h.converge()
	for name := range machines {
		before := "1"
		if name == "ephemeral" {
			before = "0"
		}
		booted(name, 2, before)
	}
	agent := h.agent()
	i := h.instance("qcow2", "is told of the new image", func(i status.Instance) bool {
		return len(i.Status.Conditions) > 1 && i.Status.Conditions[1].Reason == "NewImage"
	})
	if got := i.Status.Conditions[1].Message; !strings.Contains(got, "it has to be made anew") || !strings.Contains(got, server.URL+"/other.qcow2") {
		t.Errorf("it is told %s", got)
	}
	for name, want := range map[string]string{"packed": fmt.Sprintf("sha256:%x", sha256.Sum256(packed)), "vmdk": fmt.Sprintf("sha512:%x", sha512.Sum512(vmdk)), "persistent": "sha256:"} {
		i := h.instance(name, "is reported", func(i status.Instance) bool { return len(i.Status.Images) == 1 })
		if !strings.HasPrefix(i.Status.Images[0].Digest, want) {
			t.Errorf("the image of %s is %+v", name, i.Status.Images)
		}
	}
	agent.kill()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gets["/disk.qcow2"] != 1 || f.gets["/disk.raw.xz"] != 1 || f.gets["/other.qcow2"] != 0 {
		t.Errorf("fetched were %v", f.gets)
	}
}

// TestAFetchIsSeen: while an image is being fetched, the instance, the page and a list of their own say how far it is; others
// are made meanwhile; and a checksum that is wrong is its own machine's trouble alone.
func TestAFetchIsSeen(t *testing.T) {
	h := newHost(t)
	h.allow(fmt.Sprintf(`hostPaths: [%q], images: ["127.0.0.1:*"]`, h.sandbox.PoolDir()))
	disk := countingDisk(t, "it")
	f := &fileServer{gets: map[string]int{}, files: map[string][]byte{"/disk.raw": disk}, hold: make(chan struct{})}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	image := func(sum string) string {
		return fmt.Sprintf("volume: {image: {url: %q, sha256: %q}}", server.URL+"/disk.raw", sum)
	}
	right := fmt.Sprintf("%x", sha256.Sum256(disk))
	h.push("All", h.bootDoc("good", image(right)), runDoc("good", ""), h.bootDoc("bad", image(strings.Repeat("0", 64))), runDoc("bad", ""),
		machineDoc("other", "", "16Mi", "root"), runDoc("other", "state: Paused"))
	agent := h.agent()
	const far = "50% of 1.0 MiB"
	i := h.instance("good", "is being fetched for", func(i status.Instance) bool {
		return len(i.Status.Conditions) > 1 && strings.Contains(i.Status.Conditions[1].Message, far)
	})
	if c := i.Status.Conditions[1]; c.Type != status.Synced || c.Status != "False" || c.Reason != "Fetching" || !strings.Contains(c.Message, server.URL+"/disk.raw") {
		t.Errorf("it says %+v", c)
	}
	var list struct{ Items []status.Download }
	sandboxtest.Wait(t, patience, func() bool {
		_, err := h.get("/api/v1alpha1/downloads", &list)
		return err == nil && len(list.Items) == 2 && list.Items[0].Received == 1<<19 && list.Items[1].Received == 1<<19 && list.Items[1].Total == 1<<20
	}, "both are half there")
	answer, err := http.Get("http://" + h.listen + "/")
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	_, err = page.ReadFrom(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(page.String(), "Images that are being fetched") || !strings.Contains(page.String(), far) {
		t.Errorf("the page is\n%s\n%v", &page, err)
	}
	h.instance("other", "is made meanwhile", func(i status.Instance) bool { return i.Status.Phase == "Paused" })
	close(f.hold)
	sandboxtest.Wait(t, patience, func() bool { return strings.Contains(h.read("good"), "written") }, "good boots")
	i = h.instance("bad", "fails", func(i status.Instance) bool { return i.Status.Failure != nil })
	if m := i.Status.Failure.Message; !strings.Contains(m, "what the server sent is not what it must be: it has sha256:"+right) {
		t.Errorf("it fails with %s", m)
	}
	agent.kill()
}
