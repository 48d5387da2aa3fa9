package test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// bootSector copies itself into the disk's second sector, and stops. So the disk shows that a machine has booted from it.
func bootSector() []byte {
	code := []byte{
		0x31, 0xc0, // xor ax, ax
		0x8e, 0xd8, // mov ds, ax
		0x8e, 0xd0, // mov ss, ax
		0xbc, 0x00, 0x7c, // mov sp, 0x7c00
		0xbe, 0x14, 0x7c, // mov si, packet; the drive is in dl, as the BIOS left it
		0xb8, 0x00, 0x43, // mov ax, 0x4300: extended write, without verifying
		0xcd, 0x13, // int 0x13
		0xf4,       // hlt
		0xeb, 0xfd, // jmp to it
		// packet: 16 bytes, one sector, from 0000:7c00, to the sector with the number 1
		0x10, 0x00, 0x01, 0x00, 0x00, 0x7c, 0x00, 0x00, 1, 0, 0, 0, 0, 0, 0, 0,
	}
	sector := make([]byte, 512)
	copy(sector, code)
	sector[510], sector[511] = 0x55, 0xaa
	return sector
}

// startTarget runs an iSCSI target of its own on loopback, with a disk as the unit 2, and returns its port.
func startTarget(t *testing.T, iqn, disk string) string {
	t.Helper()
	port, _ := startTargetAdmin(t, iqn, disk)
	return port
}

// startTargetWithAccount is a target that asks for a user and a password. It returns what administers it, too.
func startTargetWithAccount(t *testing.T, iqn, disk, user, password string) (port string, admin func(...string) error) {
	t.Helper()
	port, admin = startTargetAdmin(t, iqn, disk)
	for _, args := range accountArgs(user, password) {
		if err := admin(args...); err != nil {
			t.Fatal(err)
		}
	}
	return port, admin
}

func startTargetAdmin(t *testing.T, iqn, disk string) (port string, admin func(...string) error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "TGT_IPC_SOCKET="+filepath.Join(t.TempDir(), "tgtd"))
	var log bytes.Buffer
	target := exec.Command(systemProgram("tgtd"), "-f", "--iscsi", "portal=127.0.0.1:"+port)
	target.Env, target.Stdout, target.Stderr = env, &log, &log
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := target.Process.Signal(syscall.SIGKILL) // it ends on no other signal while somebody is logged in
		if err2 := target.Wait(); err != nil {
			t.Errorf("the iSCSI target had ended: %v, %v\n%s", err, err2, log.String())
		}
	})
	admin = func(args ...string) error {
		c := exec.Command(systemProgram("tgtadm"), append([]string{"--lld", "iscsi"}, args...)...)
		c.Env = env
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("tgtadm %v: %w: %s", args, err, out)
		}
		return nil
	}
	sandboxtest.Wait(t, patience, func() bool {
		return admin("--op", "new", "--mode", "target", "--tid", "1", "-T", iqn) == nil
	}, "the iSCSI target answers")
	for _, args := range [][]string{
		{"--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "2", "-b", disk},
		{"--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"},
	} {
		if err := admin(args...); err != nil {
			t.Fatal(err)
		}
	}
	return port, admin
}

// systemProgram is where a program of the administrator's is: only root has /usr/sbin in PATH.
func systemProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// TestMachineOf2017BootsFromISCSI takes a document as it stood in KubeVirt's glossary in 2017, with libvirt's structure in
// YAML and without an apiVersion. Only the target's name and port are others.
func TestMachineOf2017BootsFromISCSI(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk.img")
	image := make([]byte, 4<<20)
	copy(image, bootSector())
	if err := os.WriteFile(disk, image, 0o600); err != nil {
		t.Fatal(err)
	}
	const iqn = "iqn.2017-01.io.kubevirt:sn.42"
	port := startTarget(t, iqn, disk)
	document := `kind: VirtualMachine
metadata: {name: testvm}
spec: {domain: {devices: {disks: [{type: network, snapshot: external, device: disk, driver: {name: qemu, type: raw, cache: none},
  source: {host: {name: iscsi-demo-target.default, port: "3260"}, protocol: iscsi, name: "` + iqn + `/2"}, target: {dev: vda}}]},
  memory: {unit: MB, value: 64}, os: {type: {os: hvm}}, type: qemu}}
`
	document = strings.NewReplacer("iscsi-demo-target.default", "127.0.0.1", "3260", port).Replace(document)
	h := newHost(t)
	h.flags = []string{"--default-host", "kvm1"}
	h.allow(remoteDisks)
	h.push("A machine of 2017", document)
	h.converge()
	sandboxtest.Wait(t, patience, func() bool {
		f, err := os.Open(disk)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		second := make([]byte, 512)
		_, err = f.ReadAt(second, 512)
		return err == nil && bytes.Equal(second, bootSector())
	}, "the machine boots from the iSCSI disk and writes to it")
	if code := h.once(); code != 0 {
		t.Errorf("another pass ends with %d: libvirt's answer differs from what was declared", code)
	}
	before := h.virsh("dominfo", "testvm")
	h.push("Nothing of the machine's", document, "apiVersion: gitvirt.io/v1alpha1\nkind: Host\nmetadata: {name: kvm1}\n")
	h.converge()
	if after := h.virsh("dominfo", "testvm"); after != before && !sameButTime(before, after) {
		t.Errorf("a commit that does not touch it touched it:\n%s\n%s", before, after)
	}
}

// sameButTime compares what virsh says of a domain without the time that its CPU took.
func sameButTime(a, b string) bool {
	strip := func(s string) string {
		var kept []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "CPU time") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	return strip(a) == strip(b)
}
