package runner_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// group is a volume group that libvirt's test driver believes in: it makes volumes in name only, and what is behind them are
// files of the test's, which hold what an earlier machine left there.
type group struct {
	opts  runner.Options
	proxy *proxy.Proxy
	dir   string
	virsh func(args ...string) (string, error)
}

func startGroup(t *testing.T) group {
	t.Helper()
	s := sandboxtest.Start(t)
	p, err := proxy.Start(s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	opts := options(t, s)
	test := func(uri string) string {
		return strings.Replace(uri, "qemu+unix:///session", "test+unix:///default", 1)
	}
	opts.URI, opts.ConfigDir, opts.StateDir = test(p.URI()), "", ""
	opts.LedgerFile = filepath.Join(s.Dir(), "ledger.json")
	g := group{opts: opts, proxy: p, dir: t.TempDir()}
	g.virsh = func(args ...string) (string, error) {
		out, err := exec.Command("virsh", append([]string{"-q", "-c", test(s.URI())}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	keeper := opts // the driver forgets all when its last connection closes
	keeper.URI = test(s.URI())
	start(t, keeper)
	for name, kind := range map[string]string{"vg": "logical", "luns": "iscsi-direct"} {
		file := filepath.Join(t.TempDir(), name+".xml")
		xml := fmt.Sprintf("<pool type='%s'><name>%s</name><source><host name='localhost'/><device path='/dev/null'/><initiator><iqn name='iqn.2026-01.org.example:i'/></initiator>"+
			"<name>%s</name></source><target><path>%s</path></target></pool>", kind, name, "../"+strings.TrimPrefix(g.dir, "/"), g.dir)
		if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"pool-define", file}, {"pool-start", name}} {
			if out, err := g.virsh(args...); err != nil {
				t.Fatalf("%v: %s", args, out)
			}
		}
	}
	return g
}

// device is what is behind a volume.
func (g group) device(t *testing.T, v render.Volume, size int) string {
	t.Helper()
	path := filepath.Join(g.dir, v.File)
	if err := os.WriteFile(path, bytes.Repeat([]byte("theirs. "), size/8), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (g group) there(name string) bool {
	_, err := g.virsh("vol-info", name, "--pool", "vg")
	return err == nil
}

// rawImage is an image with something in it.
func rawImage(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.img")
	if err := os.WriteFile(path, bytes.Repeat([]byte("an image"), size/8), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const mib = 1 << 20

// TestVolumeGroup makes volumes in a pool that is no folder, fills them, leaves them alone once that is done, has them come
// back, and deletes them.
func TestVolumeGroup(t *testing.T) {
	t.Parallel()
	g := startGroup(t)
	r := start(t, g.opts)
	m := newMachine("web")
	base := rawImage(t, 4*mib)
	root := render.Volume{Name: "root", Kind: render.VolumeCopy, Pool: "vg", File: "web.root.img", Format: "raw", Size: 8 * mib, Backing: base, BackingFormat: "raw"}
	data := render.Volume{Name: "data", Kind: render.VolumeBlank, Pool: "vg", File: "web.data.img", Format: "raw", Size: 2 * mib}
	rootAt, dataAt := g.device(t, root, 8*mib), g.device(t, data, 2*mib)
	make := m.makeVolumes(root, data)
	apply(t, r, make)
	check := func(when string) {
		t.Helper()
		want := append(bytes.Repeat([]byte("an image"), 4*mib/8), bytes.Repeat([]byte{0}, 4*mib)...)
		if got, err := os.ReadFile(rootAt); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the root volume is not the image: %v", when, err)
		}
		if got, err := os.ReadFile(dataAt); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{0}, 2*mib)) {
			t.Errorf("%s: the blank volume is not blank: %v", when, err)
		}
	}
	check("made")

	// The guest writes, even zeroes where the disk begins; the image goes; the agent begins anew and has lost its ledger. The
	// machine comes back to its volumes.
	for _, at := range []string{rootAt, dataAt} {
		if err := os.WriteFile(at, bytes.Repeat([]byte{0}, 512), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{base, g.opts.LedgerFile} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	r = start(t, g.opts)
	apply(t, r, make)
	for _, at := range []string{rootAt, dataAt} {
		if got, err := os.ReadFile(at); err != nil || len(got) != 512 {
			t.Errorf("what the guest wrote is gone: %v", err)
		}
	}
	// Libvirt's test driver cannot resize.
	larger := root
	larger.Size = 200 * mib
	if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(larger)}); err == nil || !strings.Contains(err.Error(), "StorageVolResize") {
		t.Errorf("growing: %v", err)
	}
	remove := m.step(plan.OpDeleteVolumes)
	remove.Volumes = []render.Volume{root, data}
	for range 2 {
		apply(t, r, remove)
	}
	if g.there(root.File) || g.there(data.File) {
		t.Error("the volumes are there after they were deleted")
	}
}

// TestVolumeGroupRefuses has what cannot be in such a pool, each with its reason, and nothing made of it.
func TestVolumeGroupRefuses(t *testing.T) {
	t.Parallel()
	g := startGroup(t)
	r := start(t, g.opts)
	m, other := newMachine("web"), newMachine("other")
	good := render.Volume{Name: "root", Kind: render.VolumeBlank, Pool: "vg", File: "web.root.img", Format: "raw", Size: 2 * mib}
	g.device(t, good, 2*mib)
	for name, test := range map[string]struct {
		edit func(*render.Volume)
		want string
	}{
		"qcow2":       {func(v *render.Volume) { v.Format = "qcow2" }, "whose volumes are raw: say format: raw"},
		"a seed":      {func(v *render.Volume) { v.Kind = render.VolumeSeed }, "its pool has to be a folder"},
		"an empty":    {func(v *render.Volume) { v.Kind = render.VolumeEmpty }, "its pool has to be a folder"},
		"no image":    {func(v *render.Volume) { v.Kind, v.Backing, v.BackingFormat = render.VolumeCopy, "/nowhere", "raw" }, "there is no image /nowhere"},
		"other names": {func(v *render.Volume) { v.Pool = "luns" }, "names its volumes itself"},
	} {
		v := good
		test.edit(&v)
		if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(v)}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if g.there(good.File) {
			t.Errorf("%s: it was made", name)
		}
	}
	apply(t, r, m.makeVolumes(good))
	if err := r.Apply(t.Context(), []plan.Step{other.makeVolumes(good)}); !errors.Is(err, runner.ErrImage) || !strings.Contains(err.Error(), "is of another machine, web") {
		t.Errorf("another machine's: %v", err)
	}
	large := good
	large.Name, large.File, large.Size = "large", "web.large.img", 200*mib
	if out, err := g.virsh("vol-create-as", "vg", large.File, "200M"); err != nil {
		t.Fatal(out)
	}
	g.device(t, large, 2*mib)
	large.Size = mib
	if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(large)}); !errors.Is(err, runner.ErrImage) || !strings.Contains(err.Error(), "a disk never shrinks") {
		t.Errorf("a larger one that comes back: %v", err)
	}
	known := m.makeVolumes(large)
	known.Recorded = []metadata.Volume{{Name: "large", Pool: "vg", File: large.File, Size: mib}}
	apply(t, r, known) // a person grew it
}

// TestVolumeGroupCut loses libvirt just before a volume is made and just after, and the copy in its midst: the next pass, of
// another agent, makes it whole.
func TestVolumeGroupCut(t *testing.T) {
	t.Parallel()
	g := startGroup(t)
	m := newMachine("web")
	v := render.Volume{Name: "root", Kind: render.VolumeCopy, Pool: "vg", File: "web.root.img", Format: "raw", Size: 4 * mib, Backing: rawImage(t, 4*mib), BackingFormat: "raw"}
	for name, cut := range map[string]func(*runner.Options){
		"before it is made": func(*runner.Options) {
			g.proxy.Inject(proxy.Fault{Match: proxy.Procedure("StorageVolCreateXML"), When: proxy.Before, Action: proxy.Always(proxy.Cut)})
		},
		"after it is made": func(*runner.Options) {
			g.proxy.Inject(proxy.Fault{Match: proxy.Procedure("StorageVolCreateXML"), When: proxy.After, Action: proxy.Always(proxy.Cut)})
		},
		"while it is copied": func(o *runner.Options) {
			o.QemuImg = filepath.Join(t.TempDir(), "qemu-img")
			script := "#!/bin/sh\ncase $1 in convert) exit 1;; esac\nexec qemu-img \"$@\"\n"
			if err := os.WriteFile(o.QemuImg, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		at := g.device(t, v, 4*mib)
		opts := g.opts
		cut(&opts)
		if err := start(t, opts).Apply(t.Context(), []plan.Step{m.makeVolumes(v)}); err == nil {
			t.Errorf("%s: no error", name)
		}
		time.Sleep(100 * time.Millisecond)
		r := start(t, g.opts)
		apply(t, r, m.makeVolumes(v))
		if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, bytes.Repeat([]byte("an image"), 4*mib/8)) {
			t.Errorf("%s: the volume is not the image afterwards: %v", name, err)
		}
		remove := m.step(plan.OpDeleteVolumes)
		remove.Volumes = []render.Volume{v}
		apply(t, r, remove)
	}
}
