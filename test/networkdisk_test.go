package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// bootable makes a raw image that shows that a machine has booted from it (bootSector).
func bootable(t *testing.T, path string) string {
	t.Helper()
	image := make([]byte, 1<<20)
	copy(image, bootSector())
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// booted waits until a machine has booted from an image.
func booted(t *testing.T, path, what string) {
	t.Helper()
	sandboxtest.Wait(t, patience, func() bool {
		image, err := os.ReadFile(path)
		return err == nil && bytes.Equal(image[512:1024], bootSector())
	}, "the machine has booted from "+what+" and written to it")
}

// server is an NBD server that a test starts and ends.
type server struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
}

// nbd serves an image, at a port of loopback, or at a socket when the address is a path, until the test ends.
func nbd(t *testing.T, file, address string) *server {
	t.Helper()
	at := []string{"--bind", "127.0.0.1", "--port", address}
	if filepath.IsAbs(address) {
		at = []string{"--socket", address}
	}
	s := &server{t: t, args: append(at, "--persistent", "--shared=0", "--format=raw", "--export-name=data", file)}
	t.Cleanup(s.stop)
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command("qemu-nbd", s.args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	_ = s.cmd.Wait()                          // by the signal
	s.cmd = nil
}

// remoteDoc is a machine that boots from a volume.
func remoteDoc(name, volume string) string {
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  rollout: Live
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: 32Mi}, devices: {disks: [{name: root}]}}
      volumes: [{name: root, %s}]
`, name, volume)
}

// TestMachinesBootFromWhatIsElsewhere: from real servers of iSCSI, with a password, and NBD, at a port and at a socket; from a
// file of the host; and from a block device, where this machine can make one of a file.
func TestMachinesBootFromWhatIsElsewhere(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	dir := t.TempDir()
	h.seal(id.Recipient(), "chap.age", "CanaryChapC1234\n")
	const iqn = "iqn.2026-01.io.gitvirt:disks"
	images := map[string]string{}
	for _, name := range []string{"target", "port", "socket", "file", "device"} {
		images[name] = bootable(t, filepath.Join(dir, name+".img"))
	}
	target, _ := startTargetWithAccount(t, iqn, images["target"], "gitvirt", "CanaryChapC1234")
	port, socket := freePort(t), filepath.Join(dir, "nbd.sock")
	nbd(t, images["port"], port).start()
	nbd(t, images["socket"], socket).start()
	sandboxtest.Wait(t, patience, func() bool { _, err := os.Stat(socket); return err == nil }, "the NBD server has its socket")
	volumes := map[string]string{
		"target": fmt.Sprintf("network: {protocol: iscsi, hosts: [{name: 127.0.0.1, port: %s}], name: %q, auth: {username: gitvirt, secretRef: {name: chap}}}", target, iqn+"/2"),
		"port":   fmt.Sprintf("network: {protocol: nbd, hosts: [{name: 127.0.0.1, port: %s}], name: data}", port),
		"socket": fmt.Sprintf("network: {protocol: nbd, hosts: [{socket: %s}], name: data}", socket),
		"file":   fmt.Sprintf("hostDisk: {path: %s, type: Disk}", images["file"]),
	}
	if device := loopDevice(t, images["device"]); device != "" {
		volumes["device"] = fmt.Sprintf("block: {path: %s}", device)
	}
	h.allow(fmt.Sprintf("storage: [127.0.0.1], hostPaths: [%q], hostDevices: [%q]", dir, "*"))
	var docs []string
	for name, volume := range volumes {
		docs = append(docs, remoteDoc(name, volume), runDoc(name, ""))
	}
	one := h.push("All", docs...)
	h.agent()
	h.settled(one)
	for name := range volumes {
		booted(t, images[name], name)
	}
	if live := h.virsh("dumpxml", "target"); strings.Contains(live, "CanaryChap") || strings.Contains(h.log.String(), "CanaryChap") {
		t.Error("the password is shown")
	}
	h.settled(h.push("Nothing of theirs", append(docs, "apiVersion: gitvirt.io/v1alpha1\nkind: Host\nmetadata: {name: kvm1}\n")...))
	for name := range volumes {
		if i := h.instance(name, "is in sync", phase(plan.PhaseRunning)); len(i.Status.Staged) > 0 {
			t.Errorf("libvirt's answer about %s differs from what was declared: %+v", name, i.Status.Staged)
		}
	}
	// Servers that the file does not name are refused, and nothing else is.
	h.allow(fmt.Sprintf("storage: [\"*\"], hostPaths: [%q], hostDevices: [%q]", dir, "*"))
	h.instance("port", "is refused", func(i status.Instance) bool {
		return strings.Contains(fmt.Sprint(i.Status.Conditions), "remote-disk")
	})
	h.instance("file", "is not refused", func(i status.Instance) bool {
		return i.Status.Phase == plan.PhaseRunning && !strings.Contains(fmt.Sprint(i.Status.Conditions), "remote-disk")
	})
}

// loopDevice makes a block device of a file; empty where only root can, and this is not root.
func loopDevice(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command(systemProgram("losetup"), "--find", "--show", file).Output()
	if err != nil {
		t.Logf("no block device is tried: losetup: %v", err)
		return ""
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if err := exec.Command(systemProgram("losetup"), "--detach", device).Run(); err != nil {
			t.Errorf("cannot detach %s: %v", device, err)
		}
	})
	return device
}

// TestAServerGoesAway: a machine whose server is away does not start, says why, and starts once the server is there again; one
// that runs goes on running; and no other machine meets any of it.
func TestAServerGoesAway(t *testing.T) {
	dir := t.TempDir()
	image, port := bootable(t, filepath.Join(dir, "disk.img")), freePort(t)
	s := nbd(t, image, port)
	goesAway(t, away{
		volume: fmt.Sprintf("network: {protocol: nbd, hosts: [{name: 127.0.0.1, port: %s}], name: data}", port),
		image:  image, says: "refused", start: s.start, stop: s.stop,
	})
}

// away is a server that can be away, and how a machine says that it is.
type away struct {
	volume, image, says string
	start, stop         func()
}

func goesAway(t *testing.T, s away) {
	h := newHost(t)
	h.allow("storage: [127.0.0.1]")
	remote, local := remoteDoc("remote", s.volume), machineDoc("local", "", "16Mi", "root")
	h.push("Both", remote, local, runDoc("remote", ""), runDoc("local", ""))
	h.agent()
	isAway := func(i status.Instance) bool {
		said := fmt.Sprint(i.Status.Conditions)
		return i.Status.Phase != plan.PhaseRunning && strings.Contains(said, "Failing") && strings.Contains(said, s.says)
	}
	h.instance("remote", "says that its server is away", isAway)
	h.instance("local", "runs beside it", phase(plan.PhaseRunning))
	s.start()
	h.instance("remote", "runs once its server is there", phase(plan.PhaseRunning))
	booted(t, s.image, "the server that came")

	// While it runs.
	before := h.instance("remote", "runs", phase(plan.PhaseRunning))
	s.stop()
	two := h.push("Nothing of theirs", remote, local, runDoc("remote", ""), runDoc("local", ""), "apiVersion: gitvirt.io/v1alpha1\nkind: Host\nmetadata: {name: kvm1}\n")
	h.settled(two)
	after := h.instance("remote", "goes on", phase(plan.PhaseRunning))
	if before.Status.Domain.ID != after.Status.Domain.ID {
		t.Error("the machine was started again")
	}
	h.push("Another run", remote, local, runDoc("remote", "run: 2"), runDoc("local", "run: 2"))
	h.instance("remote", "does not start without its server", isAway)
	h.instance("local", "is restarted", ranAgain)
	s.start()
	h.instance("remote", "runs again", ranAgain)
}

// ranAgain is a machine that is in its second run.
func ranAgain(i status.Instance) bool {
	return i.Status.Phase == plan.PhaseRunning && i.Metadata.Annotations["gitvirt.io/run"] == "2"
}

// TestAGuestMeetsItsServerAgain: while an NBD server is away its guest sees errors of the disk, and none once it is back.
func TestAGuestMeetsItsServerAgain(t *testing.T) {
	h := newHost(t)
	image, dir, port := sandboxtest.Guest(t), t.TempDir(), freePort(t)
	s := nbd(t, bootable(t, filepath.Join(dir, "disk.img")), port)
	s.start()
	doc := strings.NewReplacer("{name: root}, {name: init", "{name: root}, {name: data}, {name: init",
		"volumes:\n", fmt.Sprintf("volumes:\n      - {name: data, network: {protocol: nbd, hosts: [{name: 127.0.0.1, port: %s}], name: data}}\n", port),
	).Replace(h.guestDoc(image, "web", "", "gitvirt-run: reads() { while :; do echo 3 >/proc/sys/vm/drop_caches; dd if=/dev/vdb of=/dev/null bs=512 count=1 2>/dev/null && echo DISK-READ || echo DISK-FAILED; sleep 1; done; }\ngitvirt-run: reads &\n", ""))
	h.allow(fmt.Sprintf("storage: [127.0.0.1], hostPaths: [%q, %q]", h.sandbox.PoolDir(), filepath.Dir(image.Kernel)))
	h.push("Run", doc, runDoc("web", ""))
	h.agent()
	h.boots("web", 1)
	last := func(word, before string) func() bool {
		return func() bool {
			text := h.read("web")
			return strings.LastIndex(text, word) > strings.LastIndex(text, before)
		}
	}
	sandboxtest.Wait(t, patience, last("DISK-READ", "DISK-FAILED"), "the guest reads its disk")
	s.stop()
	sandboxtest.Wait(t, patience, last("DISK-FAILED", "DISK-READ"), "the guest sees an error of its disk")
	s.start()
	sandboxtest.Wait(t, patience, last("DISK-READ", "DISK-FAILED"), "the guest reads its disk again")
}

// TestANetworkDiskIsPluggedIn: for good by the config, and for a run by its RunState.
func TestANetworkDiskIsPluggedIn(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	var ports []string
	for _, name := range []string{"good", "run"} {
		ports = append(ports, freePort(t))
		nbd(t, bootable(t, filepath.Join(dir, name+".img")), ports[len(ports)-1]).start()
	}
	h.allow("storage: [127.0.0.1]")
	volume := func(name string, port string) string {
		return fmt.Sprintf("{name: %s, network: {protocol: nbd, hosts: [{name: 127.0.0.1, port: %s}], name: data, readOnly: true}}", name, port)
	}
	doc := func(disks, volumes string) string {
		return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec: {rollout: Live, template: {spec: {domain: {memory: {guest: 16Mi}, devices: {disks: [{name: root, disk: {bus: scsi}}%s]}},
  volumes: [{name: root, volume: {size: 1Mi}}%s]}}}
`, disks, volumes)
	}
	h.push("Run", doc("", ""), runDoc("web", "state: Paused"))
	h.agent()
	before := h.instance("web", "is paused", phase(plan.PhasePaused))
	two := h.push("Plug in", doc(", {name: good, disk: {bus: scsi}}", ", "+volume("good", ports[0])),
		runDoc("web", "state: Paused, attach: {disks: [{name: temp, disk: {bus: scsi}}], volumes: ["+volume("temp", ports[1])+"]}"))
	h.settled(two)
	live, inactive := h.virsh("dumpxml", "web"), h.virsh("dumpxml", "--inactive", "web")
	for _, name := range []string{"ua-good", "ua-temp"} {
		if !strings.Contains(live, name) {
			t.Errorf("%s is not plugged in:\n%s", name, live)
		}
	}
	if !strings.Contains(inactive, "ua-good") || strings.Contains(inactive, "ua-temp") {
		t.Errorf("the definition is\n%s", inactive)
	}
	h.settled(h.push("Unplug", doc("", ""), runDoc("web", "state: Paused")))
	sandboxtest.Wait(t, patience, func() bool { return !strings.Contains(h.virsh("dumpxml", "web"), "protocol='nbd'") }, "both are gone")
	if after := h.instance("web", "is paused", phase(plan.PhasePaused)); after.Status.Domain.ID != before.Status.Domain.ID {
		t.Error("the machine was started again")
	}
}
