package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestStored lists a pool's volumes, and who uses them, whichever way they come to them.
func TestStored(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	var volumes []render.Volume
	for _, name := range []string{"byname", "bypath", "bylink", "byhard", "base", "middle", "kernel", "live", "orphan"} {
		volumes = append(volumes, render.Volume{Name: name, Kind: render.VolumeBlank, Pool: "default", File: "web." + name + ".qcow2", Format: "qcow2", Size: mib})
	}
	step := m.makeVolumes(volumes...)
	step.Of = "webs"
	apply(t, r, step)
	at := func(name string) string { return filepath.Join(s.PoolDir(), "web."+name+".qcow2") }
	elsewhere := t.TempDir()
	link, hard, top := filepath.Join(elsewhere, "link"), filepath.Join(s.Dir(), "hard"), filepath.Join(elsewhere, "top.qcow2")
	if err := os.Symlink(at("bylink"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(at("byhard"), hard); err != nil {
		t.Fatal(err)
	}
	img := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	img("rebase", "-u", "-f", "qcow2", "-b", "web.base.qcow2", "-F", "qcow2", at("middle"))
	img("create", "-q", "-f", "qcow2", "-b", at("middle"), "-F", "qcow2", top)
	for _, file := range []string{"theirs.img", "web.unmarked.img"} {
		if err := os.WriteFile(filepath.Join(s.PoolDir(), file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := newMachine("other")
	disk := func(dev, file string) string {
		return fmt.Sprintf(`<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='%s' bus='virtio'/></disk>`, file, dev)
	}
	define := other.define(nil, append(disks(volumes[:1]), disk("vdb", at("bypath")), disk("vdc", link), disk("vdd", hard), disk("vde", top))...)
	define.XML = strings.Replace(define.XML, "hvm</type>", "hvm</type><kernel>"+at("kernel")+"</kernel>", 1)
	apply(t, r, define)
	// One that runs with a disk that its next start does not have.
	running := newMachine("running")
	apply(t, r, running.define(nil, disk("vda", at("live"))), running.startPaused(), running.define(nil))

	storage, err := r.Stored(t.Context(), observe(t, r))
	if err != nil || len(storage.Unread) > 0 {
		t.Fatal(err, storage.Unread)
	}
	got := map[string]plan.Stored{}
	for _, v := range storage.Volumes {
		got[v.Name] = v
	}
	for name, users := range map[string][]string{
		"byname": {"domain other"}, "bypath": {"domain other"}, "bylink": {"domain other"}, "byhard": {"domain other"}, "kernel": {"domain other"},
		"base": {"domain other", "image default/web.middle.qcow2"}, "middle": {"domain other"}, "live": {"domain running"}, "orphan": nil,
	} {
		v := got["web."+name+".qcow2"]
		if !slices.Equal(v.UsedBy, users) {
			t.Errorf("%s is used by %q, want %q", name, v.UsedBy, users)
		}
		if v.Pool != "default" || v.Path != at(name) || v.Format != "qcow2" || v.Capacity != mib || v.Allocation == 0 || v.Made != plan.MadeHere ||
			v.Instance != "web" || v.Config != "webs" || v.Volume != name {
			t.Errorf("%+v", v)
		}
	}
	if v := got["theirs.img"]; v.Made != plan.MadeOther || v.Instance != "" {
		t.Errorf("%+v", v)
	}
	if v := got["web.unmarked.img"]; v.Made != plan.MadePerhaps || v.Instance != "web" || v.Volume != "unmarked" {
		t.Errorf("%+v", v)
	}

	orphan := got["web.orphan.qcow2"]
	f, err := os.Open(orphan.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: 100, Len: 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.DeleteStored(t.Context(), orphan); err == nil || !strings.Contains(err.Error(), "a process has") {
		t.Errorf("deleting what a process has locked: %v", err)
	}
	f.Close()
	// While it is being deleted, nobody makes it.
	release, err := r.Claim("default", orphan.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(volumes[8])}); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("making what is being deleted: %v", err)
	}
	if _, err := r.Claim("default", orphan.Name); err == nil {
		t.Error("it is claimed twice")
	}
	for range 2 {
		if err := r.DeleteStored(t.Context(), orphan); err != nil {
			t.Error(err)
		}
	}
	release()
	if list := virsh(t, s, "vol-list", "default"); strings.Contains(list, "orphan") {
		t.Errorf("libvirt knows it: %s", list)
	}
	if err := r.DeleteStored(t.Context(), plan.Stored{Pool: "default", Name: "../x"}); err == nil {
		t.Error("a path is deleted")
	}
	if err := r.DeleteStored(t.Context(), plan.Stored{Pool: "none", Name: "x"}); err == nil {
		t.Error("a volume of no pool is deleted")
	}
}
