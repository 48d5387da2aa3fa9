package runner_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// settle observes until an observation reads no XML: files are old enough to be told from later ones, and all events
// have come.
func settle(t testing.TB, r *runner.Runner, p *proxy.Proxy) plan.World {
	t.Helper()
	var world plan.World
	sandboxtest.Wait(t, soon, func() bool {
		time.Sleep(20 * time.Millisecond)
		p.Reset()
		world = observe(t, r)
		return p.Counts()["DomainGetXMLDesc"] == 0
	}, "an observation read no XML")
	return world
}

// TestNothingMoved checks that an observation asks for lists only when libvirt's files and events say that nothing
// has moved, and that it has everything all the same.
func TestNothingMoved(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	off, on := newMachine("off"), newMachine("on")
	auto := off.step(plan.OpAutostart)
	auto.On = true
	apply(t, r, off.define(&metadata.Metadata{Config: "off", Outcome: metadata.OutcomeStarted}), auto)
	apply(t, r, on.define(nil), on.startPaused())
	read := observe(t, r)
	cached := settle(t, r, p)
	for i, d := range cached.Domains {
		if d != read.Domains[i] {
			t.Errorf("%s is %+v from the cache, and was read as %+v", d.Name, d, read.Domains[i])
		}
	}
	// The lists are of all domains, the transient ones, and those with a saved state.
	if want := map[string]int{"ConnectListAllDomains": 3}; !maps.Equal(p.Counts(), want) {
		t.Errorf("an observation of what has not moved asks for %v, want %v", p.Counts(), want)
	}

	opts.RereadInterval = time.Nanosecond
	impatient := start(t, opts)
	observe(t, impatient)
	time.Sleep(200 * time.Millisecond)
	p.Reset()
	observe(t, impatient)
	if p.Counts()["DomainGetXMLDesc"] != 3 {
		t.Errorf("an old observation was used again: %v", p.Counts())
	}
}

// TestEditIsSeen makes one edit at a time behind the runner's back, after it has settled, and checks that the next
// observation has it. Many of these make no event.
func TestEditIsSeen(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	virsh(t, s, "vol-create-as", "default", "root.qcow2", "1M", "--format", "qcow2")
	virsh(t, s, "vol-create-as", "default", "more.img", "1M", "--format", "raw")
	root := `<disk type='volume' device='disk'><driver name='qemu' type='qcow2'/><source pool='default' volume='root.qcow2'/>
		<target dev='vda' bus='virtio'/></disk><controller type='pci' index='0' model='pcie-root'/>
		<controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/>`
	m, still := newMachine("web"), newMachine("still")
	apply(t, r, m.define(nil, root), still.define(nil), still.startPaused())
	more := filepath.Join(s.PoolDir(), "more.img")

	for _, edit := range [][]string{
		{"setmem", "web", "12M", "--config"},
		{"setvcpus", "web", "2", "--config", "--maximum"},
		{"autostart", "web"},
		{"autostart", "web", "--disable"},
		{"attach-disk", "web", more, "vdb", "--config", "--targetbus", "virtio"},
		{"domif-setlink", "web", "52:54:00:12:34:56", "down", "--config"},
		{"blkdeviotune", "web", "vda", "--total-bytes-sec", "1000000", "--config"},
		{"detach-disk", "web", "vdb", "--config"},
		{"desc", "web", "--config", "--title", "one"},
		{"start", "web", "--paused"},
		{"domif-setlink", "web", "52:54:00:12:34:56", "up"},
		{"setvcpus", "web", "2", "--live"},
		{"domif-setlink", "web", "52:54:00:12:34:56", "up", "--config"},
		{"blkdeviotune", "web", "vda", "--total-bytes-sec", "2000000", "--live"},
		{"desc", "web", "--live", "--title", "two"},
		{"dommemstat", "web", "--period", "5", "--live"},
		{"vcpupin", "web", "0", "0", "--live"},
		{"iothreadadd", "web", "1", "--live"},
		{"attach-disk", "web", more, "vdb", "--live", "--targetbus", "virtio"},
		{"metadata", "web", "https://x.invalid/", "--key", "x", "--set", "<note/>", "--live"},
		{"resume", "web"},
		{"suspend", "web"},
		{"snapshot-create-as", "web", "s1", "--disk-only", "--diskspec", "vda,file=" + filepath.Join(s.PoolDir(), "top"),
			"--diskspec", "vdb,snapshot=no"},
		{"undefine", "web", "--snapshots-metadata"},
		{"destroy", "web"},
	} {
		before := settle(t, r, p)
		virsh(t, s, edit...)
		p.Reset()
		after := observe(t, r)
		if same(before, after) {
			t.Errorf("virsh %v is not seen", edit)
		}
		// Nothing of the other machine moved: only the one that was edited is read again.
		if n := p.Counts()["DomainGetXMLDesc"]; n > 2 {
			t.Errorf("after virsh %v XML is read %d times", edit, n)
		}
	}
	if d := find(t, r, "web"); d != nil {
		t.Errorf("a destroyed transient domain is there: %+v", d)
	}
}

func same(a, b plan.World) bool {
	if len(a.Domains) != len(b.Domains) {
		return false
	}
	for i := range a.Domains {
		if a.Domains[i] != b.Domains[i] {
			return false
		}
	}
	return true
}

// TestQuickEdits makes edits as fast as it can, several within a tick of the file system's clock, and checks that the
// observation after each has it.
func TestQuickEdits(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	apply(t, r, m.define(nil))
	for i := range int64(200) {
		record := &metadata.Metadata{Config: "web", Run: i%9 + 1} // the file's size stays the same
		step := m.step(plan.OpMetadata)
		step.Metadata, step.Config = record, true
		apply(t, r, step)
		if got := find(t, r, "web").Inactive.Meta; got == nil || got.Run != record.Run {
			t.Fatalf("edit %d is not seen: %+v", i, got)
		}
	}
}

// TestForeignFolders checks that folders of another libvirt, with files of the same names, are found out.
func TestForeignFolders(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	opts.ConfigDir, opts.StateDir = t.TempDir(), t.TempDir()
	for _, name := range []string{"web.xml", "other.xml"} {
		if err := os.WriteFile(filepath.Join(opts.ConfigDir, name), []byte("<domain/>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, opts)
	m := newMachine("web")
	apply(t, r, m.define(nil))
	for range 5 {
		observe(t, r)
		time.Sleep(60 * time.Millisecond)
		virsh(t, s, "setmem", "web", "12M", "--config")
		p.Reset()
		observe(t, r)
		if p.Counts()["DomainGetXMLDesc"] == 0 {
			t.Fatal("files of another libvirt are believed")
		}
	}
}

// TestReasons checks that how a run ended is told apart, as libvirt names it.
func TestReasons(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	apply(t, r, m.define(&metadata.Metadata{Config: "web", Outcome: metadata.OutcomeStarted}))
	for _, test := range []struct {
		name, reason string
		end          func(t testing.TB, s *sandbox.Sandbox)
	}{
		{"destroyed", "destroyed", func(t testing.TB, s *sandbox.Sandbox) { virsh(t, s, "destroy", "web") }},
		{"crashed", "crashed", func(t testing.TB, s *sandbox.Sandbox) { kill(t, s, "web") }},
		{"saved", "saved", func(t testing.TB, s *sandbox.Sandbox) { virsh(t, s, "managedsave", "web") }},
		{"daemon restarted", "unknown", func(t testing.TB, s *sandbox.Sandbox) {
			virsh(t, s, "managedsave-remove", "web")
			if err := s.RestartDaemon(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		if test.name != "daemon restarted" {
			apply(t, r, m.startPaused())
		}
		test.end(t, s)
		var d *plan.Domain
		sandboxtest.Wait(t, soon, func() bool {
			world, err := r.Observe(t.Context())
			if err != nil || len(world.Domains) != 1 {
				return false
			}
			d = &world.Domains[0]
			return d.State == plan.DomainShutoff && d.Reason == test.reason
		}, "the reason was "+test.reason)
		if d.ManagedSave != (test.name == "saved") {
			t.Errorf("%s: managed save is %v", test.name, d.ManagedSave)
		}
	}
}
