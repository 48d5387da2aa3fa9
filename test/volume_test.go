package test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// volumeDoc is a config of a machine with one volume, which its RunState pauses.
func volumeDoc(name, volume string) []string {
	return []string{fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: 16Mi}, devices: {disks: [{name: root}]}}
      volumes: [{name: root, volume: {%s}}]
`, name, volume), runDoc(name, "state: Paused")}
}

// qemuIO reads or writes a volume as a guest would.
func (h *host) qemuIO(format, file, command string) {
	h.t.Helper()
	out, err := exec.Command("qemu-io", "-f", format, "-c", command, filepath.Join(h.sandbox.PoolDir(), file)).CombinedOutput()
	if err != nil || strings.Contains(string(out), "failed") {
		h.t.Fatalf("qemu-io %s: %v\n%s", command, err, out)
	}
}

// orphans waits until the agent lists as many.
func (h *host) orphans(n int) []plan.Stored {
	h.t.Helper()
	var list struct{ Items []plan.Stored }
	sandboxtest.Wait(h.t, patience, func() bool {
		list.Items = nil
		_, err := h.get("/api/v1alpha1/volumes?orphans=true", &list)
		return err == nil && len(list.Items) == n
	}, fmt.Sprintf("there are %d orphans", n))
	return list.Items
}

// volumeDelete runs the command, and says what it says and its code.
func (h *host) volumeDelete(args ...string) (string, int) {
	h.t.Helper()
	out, err := exec.Command(h.binary, append([]string{"volume", "delete", "--state-dir", h.state}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return string(out), 0
}

// TestVolumeOutlivesItsMachine has a full copy of an image outlive its machine, the image and the agent: what was written to it
// is an orphan, whose machine comes back to it. A smaller size, and another format, are refused. Only a person deletes it, and
// never while anybody uses it.
func TestVolumeOutlivesItsMachine(t *testing.T) {
	h := newHost(t)
	image := filepath.Join(t.TempDir(), "image.img")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h.allow(fmt.Sprintf("images: [%q]", filepath.Dir(image)))
	copied := fmt.Sprintf("size: 4Mi, image: {path: %s, format: raw, copy: true}", image)
	web, db := volumeDoc("web", copied), volumeDoc("db", "size: 2Mi, format: raw")
	agent := h.agent()
	h.settled(h.push("Run", append(web, db...)...))
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	h.settled(h.push("Only db", db...))
	h.qemuIO("qcow2", "web.root.qcow2", "write -P 0x5a 64k 64k")
	o := h.orphans(1)[0]
	if o.Pool != "default" || o.Name != "web.root.qcow2" || o.Made != plan.MadeHere || o.Instance != "web" || o.Config != "web" || o.Volume != "root" ||
		o.Capacity != 4<<20 || o.Allocation == 0 || o.OrphanedSince == nil || len(o.UsedBy) > 0 {
		t.Errorf("%+v", o)
	}
	out, err := exec.Command(h.binary, "get", "volumes", "--orphans", "--agent", "http://"+h.listen).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "default/web.root.qcow2") || strings.Contains(string(out), "db.root") {
		t.Errorf("%v: %s", err, out)
	}
	var metrics string
	if _, err := h.get("/metrics", &metrics); err != nil || !strings.Contains(metrics, "\ngitvirt_volumes_orphaned 1\n") {
		t.Errorf("the metrics do not say so: %v", err)
	}

	// It is an orphan since the same time for another agent.
	agent.kill()
	h.agent()
	if again := h.orphans(1)[0]; !again.OrphanedSince.Equal(*o.OrphanedSince) {
		t.Errorf("it is an orphan since %v, and was since %v", again.OrphanedSince, o.OrphanedSince)
	}

	refused := func(volume, why string) {
		t.Helper()
		h.push("Come back wrong", append(volumeDoc("web", volume), db...)...)
		i := h.instance("web", "is refused", func(i status.Instance) bool { return i.Status.Failure != nil })
		if !strings.Contains(i.Status.Failure.Message, why) {
			t.Errorf("%s: %s", volume, i.Status.Failure.Message)
		}
		if d := h.virsh("list", "--all", "--name"); strings.Contains(d, "web") {
			t.Errorf("%s: it is defined", volume)
		}
		h.instance("db", "goes on", phase(plan.PhasePaused))
		h.settled(h.push("Only db", db...))
	}
	refused("size: 2Mi", "a disk never shrinks: say at least 4Mi")
	refused("size: 4Mi, format: raw", "which is this volume in another format than raw")

	// It comes back, larger, and without its image.
	h.settled(h.push("Come back", append(volumeDoc("web", strings.Replace(copied, "4Mi", "8Mi", 1)), db...)...))
	h.instance("web", "is back", phase(plan.PhasePaused))
	if out, code := h.volumeDelete("--yes", "default/web.root.qcow2"); code != 2 || !strings.Contains(out, "it is used by domain web") {
		t.Errorf("deleting what a machine has: %d %s", code, out)
	}
	h.settled(h.push("Only db again", db...))
	h.orphans(1)
	h.qemuIO("qcow2", "web.root.qcow2", "read -P 0x5a 64k 64k")

	// A domain of somebody else's, with an image of his on it, keeps it from being deleted.
	top := filepath.Join(t.TempDir(), "top.qcow2")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", filepath.Join(h.sandbox.PoolDir(), "web.root.qcow2"), "-F", "qcow2", top).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.xml")
	xml := fmt.Sprintf(`<domain type='qemu'><name>foreign</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
		<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, top)
	if err := os.WriteFile(foreign, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	h.virsh("define", foreign)
	if out, code := h.volumeDelete("--yes", "--foreign", "default/web.root.qcow2"); code != 2 || !strings.Contains(out, "it is used by domain foreign") {
		t.Errorf("deleting what another's image lies on: %d %s", code, out)
	}
	h.virsh("undefine", "foreign")
	for _, wrong := range []struct{ volume, why string }{
		{"default/db.root.img", "it is used by domain db"}, {"default/none", "there is no such volume"}, {"none", "say POOL/NAME"},
	} {
		if out, code := h.volumeDelete("--yes", "default/web.root.qcow2", wrong.volume); code != 2 || !strings.Contains(out, wrong.why) {
			t.Errorf("deleting %s: %d %s", wrong.volume, code, out)
		}
	}
	if out, code := h.volumeDelete("default/web.root.qcow2"); code != 2 || !strings.Contains(out, "there is nobody to ask here; say --yes") {
		t.Errorf("deleting without an answer: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), "web.root.qcow2")); err != nil {
		t.Fatal(err)
	}
	if out, code := h.volumeDelete("--yes", "default/web.root.qcow2"); code != 0 || !strings.Contains(out, "deleted default/web.root.qcow2") {
		t.Errorf("deleting an orphan: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), "web.root.qcow2")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	h.orphans(0)
}
