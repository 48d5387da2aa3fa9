package runner_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// volumes are a machine's, of every kind that lies in a pool.
func (m machine) volumes(base string) []render.Volume {
	return []render.Volume{
		{Name: "root", Kind: render.VolumeOverlay, Pool: "default", File: m.name + ".root.qcow2", Format: "qcow2",
			Backing: base, BackingFormat: "qcow2"},
		{Name: "data", Kind: render.VolumeBlank, Pool: "default", File: m.name + ".data.img", Format: "raw", Size: 1 << 20},
		{Name: "scratch", Kind: render.VolumeEmpty, Pool: "default", File: m.name + ".scratch.qcow2", Format: "qcow2", Size: 1 << 20},
		{Name: "init", Kind: render.VolumeSeed, Pool: "default", File: m.name + ".init-0.iso", Format: "raw", Label: "cidata",
			Seed: map[string][]byte{"user-data": []byte("#cloud-config\n"), "meta-data": []byte("instance-id: " + m.name)}},
	}
}

func (m machine) makeVolumes(volumes ...render.Volume) plan.Step {
	s := m.step(plan.OpVolumes)
	s.Volumes = volumes
	return s
}

// disks are the devices for volumes, which libvirt finds by pool and name.
func disks(volumes []render.Volume) []string {
	var all []string
	for i, v := range volumes {
		all = append(all, fmt.Sprintf(`<disk type='volume' device='disk'><driver name='qemu' type='%s'/>
			<source pool='%s' volume='%s'/><target dev='vd%c' bus='virtio'/></disk>`, v.Format, v.Pool, v.File, 'a'+i))
	}
	return all
}

// baseImage makes an image to put overlays on, outside the pool.
func baseImage(t testing.TB, s *sandbox.Sandbox) string {
	t.Helper()
	base := filepath.Join(s.Dir(), "base.qcow2")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", base, "4M").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return base
}

// TestVolumes makes all that a machine needs, starts it with that, grows a volume, and takes it all away again; each
// twice.
func TestVolumes(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	m := newMachine("web")
	all := m.volumes(baseImage(t, s))
	hostDisk := render.Volume{Name: "host", Kind: render.VolumeFile, Path: filepath.Join(s.Dir(), "host.img"), Create: true,
		Format: "raw", Size: 1 << 20}
	make := m.makeVolumes(append(slices.Clone(all), hostDisk)...)
	make.Fresh = true
	for range 2 {
		apply(t, r, make)
	}
	apply(t, r, m.define(nil, disks(all)...), m.startPaused())
	if got := virsh(t, s, "vol-list", "default"); len(strings.Split(got, "\n")) != len(all) {
		t.Errorf("libvirt knows the volumes %s", got)
	}
	if err := r.Apply(t.Context(), []plan.Step{make}); !errors.Is(err, runner.ErrActive) {
		t.Errorf("making volumes anew while the domain runs: %v", err)
	}

	// Nothing to do: no refresh.
	make.Fresh = false
	p.Reset()
	apply(t, r, make)
	if n := p.Counts()["StoragePoolRefresh"]; n != 0 {
		t.Errorf("without a new file the pool is refreshed %d times", n)
	}
	size := func() string { return virsh(t, s, "vol-info", "web.data.img", "default", "--bytes") }
	make.Volumes[1].Size = 2 << 20
	apply(t, r, make)
	if !strings.Contains(size(), "1048576") {
		t.Errorf("a volume grew while the domain runs: %s", size())
	}
	apply(t, r, m.step(plan.OpDestroy), make)
	virsh(t, s, "pool-refresh", "default")
	if !strings.Contains(size(), "2097152") {
		t.Errorf("the volume did not grow: %s", size())
	}

	remove := m.step(plan.OpDeleteVolumes)
	remove.Volumes = all
	apply(t, r, m.startPaused())
	if err := r.Apply(t.Context(), []plan.Step{remove}); !errors.Is(err, runner.ErrActive) {
		t.Errorf("deleting volumes of a domain that runs: %v", err)
	}
	apply(t, r, m.step(plan.OpDestroy), m.step(plan.OpUndefine))
	for range 2 {
		apply(t, r, remove)
	}
	if left, err := os.ReadDir(s.PoolDir()); err != nil || len(left) > 0 || virsh(t, s, "vol-list", "default") != "" {
		t.Errorf("after deleting all volumes there are %v, %v", left, err)
	}
	remove.Volumes = []render.Volume{hostDisk}
	if err := r.Apply(t.Context(), []plan.Step{remove}); !errors.Is(err, runner.ErrImage) {
		t.Errorf("deleting a file of the host: %v", err)
	}
	if _, err := os.Stat(hostDisk.Path); err != nil {
		t.Error(err)
	}
}

// TestKilledBeforeRefresh has a file that an earlier run made, and of which libvirt was not told before that run was
// killed.
func TestKilledBeforeRefresh(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	v := render.Volume{Name: "data", Kind: render.VolumeBlank, Pool: "default", File: "web.data.img", Format: "raw", Size: 1 << 20}
	if err := os.WriteFile(filepath.Join(s.PoolDir(), v.File), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.PoolDir(), v.File), v.Size); err != nil {
		t.Fatal(err)
	}
	apply(t, r, m.makeVolumes(v), m.define(nil, disks([]render.Volume{v})...), m.startPaused())
	if content, err := os.ReadFile(filepath.Join(s.PoolDir(), v.File)); err != nil || !strings.HasPrefix(string(content), "precious") {
		t.Errorf("the file has %.8q, %v", content, err)
	}
}

// TestSharedRefresh makes volumes for many machines at once: all of them start, and refreshes were shared.
func TestSharedRefresh(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	base := baseImage(t, s)
	// A refresh that takes its time lets others come together.
	p.Inject(proxy.Fault{Match: proxy.Procedure("StoragePoolRefresh"), When: proxy.After, Delay: 200 * time.Millisecond, Repeat: true})
	const machines = 24
	var all sync.WaitGroup
	for i := range machines {
		m := newMachine(fmt.Sprintf("m%02d", i))
		all.Go(func() {
			v := m.volumes(base)[1:2]
			if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(v...)}); err != nil {
				t.Error(err)
			}
			// It is known to libvirt as soon as the step has ended.
			if _, err := s.Virsh(t.Context(), "vol-path", v[0].File, "--pool", "default"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := p.Counts()["StoragePoolRefresh"]; n < 1 || n > machines/2 {
		t.Errorf("%d machines made %d refreshes", machines, n)
	}
}

func TestPoolErrors(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	off := t.TempDir()
	virsh(t, s, "pool-define-as", "off", "dir", "--target", off)
	v := render.Volume{Name: "data", Kind: render.VolumeBlank, Pool: "default", File: "f", Format: "raw", Size: 1 << 20}
	for _, test := range []struct {
		name  string
		edit  func(*render.Volume)
		class error
		want  string
	}{
		{"no pool", func(v *render.Volume) { v.Pool = "none" }, runner.ErrPool, `no storage pool "none"; define and start it`},
		{"inactive pool", func(v *render.Volume) { v.Pool = "off" }, runner.ErrPool, `"off" is not active; start it`},
		{"a path for a name", func(v *render.Volume) { v.File = "../f" }, runner.ErrImage, "no name for a file"},
		{"no image", func(v *render.Volume) { v.Kind, v.Format, v.Backing = render.VolumeOverlay, "qcow2", "/nowhere" }, runner.ErrImage,
			"cannot make the volumes of web: volume data: cannot make"},
	} {
		for _, op := range []plan.Op{plan.OpVolumes, plan.OpDeleteVolumes} {
			if test.name == "no image" && op == plan.OpDeleteVolumes {
				continue
			}
			v := v
			test.edit(&v)
			step := m.step(op)
			step.Volumes = []render.Volume{v}
			err := r.Apply(t.Context(), []plan.Step{step})
			if !errors.Is(err, test.class) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("%s: %s gives %v", op, test.name, err)
			}
		}
	}
	if left, err := os.ReadDir(s.PoolDir()); err != nil || len(left) > 0 {
		t.Errorf("the errors left %v, %v", left, err)
	}
}

// TestSweepsPool checks that what a killed run left in a pool goes when the pool is used for the first time.
func TestSweepsPool(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	left := filepath.Join(s.PoolDir(), ".gitvirt-0123456789abcdef-1-1-1.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	m := newMachine("web")
	apply(t, r, m.makeVolumes(m.volumes("")[1]))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old temporary file: %v", err)
	}
}
