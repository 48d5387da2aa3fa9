package reconcile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// emulated is a spec whose domain runs a program of the document's choice.
func emulated(spec string) string {
	return spec + `, domainXML: "<domain><devices><emulator>/bin/sh</emulator></devices></domain>"`
}

// says wants the instance blocked by the policy alone, with words in its message.
func (a *agent) says(name string, words ...string) {
	a.t.Helper()
	x := a.assessment(name)
	if got := a.blocked(name); !slices.Equal(got, []string{"Policy"}) {
		a.t.Errorf("%s is blocked for %v, want the policy alone", name, got)
		return
	}
	for _, w := range words {
		if !strings.Contains(x.Blocked[0].Message, w) {
			a.t.Errorf("the message does not say %q: %s", w, x.Blocked[0].Message)
		}
	}
}

func TestRule10TheAgentsFileOutranksTheRepository(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		evil := docs(config("web", "", emulated(small)), run("web", "state: Running"))
		good := docs(config("db", "", small), run("db", "state: Running"))
		a.repo.commit(t, docs(evil, good), 0)
		a.expect("db create NoDomain", "db start Wanted")
		a.says("web", "0.yaml:6:", "VirtualMachineInstanceConfig/web", "spec.template.spec.domainXML", "emulator", `"devices/emulator"`)
		if strings.Contains(l.String(), "/bin/sh") || slices.Contains(l.Volumes(), "default/web.root.qcow2") {
			t.Errorf("something was made of what is refused:\n%s\n%v", l, l.Volumes())
		}

		// What the agent's file allows, comes with the next pass.
		a.policy.Elements = []string{"devices/emulator"}
		a.restart()
		a.expect("web create NoDomain", "web start Wanted")
		a.quiet()

		// And what it allows no more, stays as it is: it is neither stopped nor taken away.
		a.policy.Elements = nil
		a.restart()
		a.expect()
		a.says("web", "emulator")
		if !a.domain("web").Active() || !strings.Contains(a.domain("web").Inactive.Text(), "/bin/sh") {
			t.Error("a stricter policy touched what was there")
		}
		l.GoDown("web", "crashed")
		a.expect() // it is not started: what is defined is what is refused
		a.says("web", "emulator")
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running"), good), 0)
		a.expect("web next-start Edited", "web start RestartPolicy")
	})
}

func TestRefusedEditLeavesTheMachineAsItWas(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "rollout: Restart", small), run("web", "state: Running")), 0)
		a.expect("web create NoDomain", "web start Wanted")
		before := a.domain("web").Inactive.Text()
		for _, edit := range []string{"state: Running", "state: Running, run: 2", "state: Paused", "state: Manual"} {
			a.repo.commit(t, docs(config("web", "rollout: Restart", emulated(memory(small, "128Mi"))), run("web", edit)), 0)
			a.pass()
			a.says("web", "emulator")
			if d := a.domain("web"); d.Inactive.Text() != before || d.State != "running" {
				t.Fatalf("%s: it is %s:\n%s", edit, d.State, d.Inactive.Text())
			}
		}
		// It comes back as it was defined.
		a.repo.commit(t, docs(config("web", "", emulated(small)), run("web", "state: Running")), 0)
		a.pass()
		l.GoDown("web", "crashed")
		a.expect("web start RestartPolicy")
		if !a.domain("web").Active() {
			t.Error("it did not come back")
		}
		// It stops when it is told to, and can be removed.
		a.repo.commit(t, docs(config("web", "", emulated(small)), run("web", "state: Stopped")), 0)
		a.expect("web live Autostart", "web stop Stopped")
		a.says("web", "emulator")
		if a.domain("web").Active() {
			t.Error("it runs on")
		}
		a.repo.commit(t, config("web", "", emulated(small)), 0)
		a.expect("web remove NotWanted")
		a.quiet()
	})
}

// TestRefusedMachineThatIsMadeAnewStaysDown: what an ephemeral disk was made of, only the documents know.
func TestRefusedMachineThatIsMadeAnewStaysDown(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		fresh := "domain: {memory: {guest: 64Mi}, devices: {disks: [{name: root}]}}, volumes: [{name: root, emptyDisk: {capacity: 1Gi}}]"
		a.repo.commit(t, docs(config("web", "", fresh), run("web", "state: Running")), 0)
		a.expect("web create NoDomain", "web start Wanted")
		a.repo.commit(t, docs(config("web", "", emulated(fresh)), run("web", "state: Running")), 0)
		l.GoDown("web", "crashed")
		a.expect()
		a.says("web", "emulator")
	})
}

// TestPolicyHoldsForAllWays: it does not matter in which document something is said, or since when.
func TestPolicyHoldsForAllWays(t *testing.T) {
	const xml = `domainXML: "<domain><devices><emulator>/bin/sh</emulator></devices></domain>"`
	preset := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachinePreset\nmetadata: {name: p}\nspec: {selector: {matchLabels: {a: b}}, " + xml + "}\n"
	flavour := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineFlavour\nmetadata: {name: f}\nspec: {" + xml + "}\n"
	group := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineGroup\nmetadata: {name: web}\nspec: {config: web, replicas: 1, hosts: [kvm1]}\n"
	kubevirt := `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  template: {spec: {nodeSelector: {kubernetes.io/hostname: kvm1}, domain: {memory: {guest: 64Mi}, devices: {filesystems: [{name: f, virtiofs: {}}]}}, volumes: [{name: f, hostPath: {path: /etc}}]}}
`
	tests := map[string]struct{ documents, name, rule string }{
		"preset":  {docs(preset, strings.Replace(config("web", "", small), "name: web", "name: web, labels: {a: b}", 1), run("web", "")), "web", "emulator"},
		"flavour": {docs(flavour, config("web", "flavour: f", small), run("web", "")), "web", "emulator"},
		"group":   {docs(config("web", "", emulated(small)), group), "web-0", "emulator"},
		"attach": {docs(config("web", "", small), run("web", "attach: {disks: [{name: x}], volumes: [{name: x, hostDisk: {path: /etc/shadow, type: Disk}}]}")),
			"web", "host-path"},
		"block":             {docs(config("web", "", strings.Replace(small, "volume: {size: 1Gi}", "block: {path: /dev/sda}", 1)), run("web", "")), "web", "host-device"},
		"disk that is made": {docs(config("web", "", strings.Replace(small, "volume: {size: 1Gi}", "hostDisk: {path: /etc/cron.d/x, type: DiskOrCreate, capacity: 1Mi}", 1)), run("web", "")), "web", "host-path"},
		"image":             {docs(config("web", "", strings.Replace(small, "size: 1Gi", "image: {path: /etc/shadow, format: raw}", 1)), run("web", "")), "web", "image"},
		"registry":          {docs(config("web", "", strings.Replace(small, "size: 1Gi", "image: {container: 169.254.169.254/latest/meta}", 1)), run("web", "")), "web", "image"},
		"bridge":            {docs(config("web", "", strings.Replace(small, "disks:", "interfaces: [{name: lan}], disks:", 1)+", networks: [{name: lan, bridge: br0}]"), run("web", "")), "web", "bridge"},
		"macvtap":           {docs(config("web", "", strings.Replace(small, "disks:", "interfaces: [{name: lan}], disks:", 1)+", networks: [{name: lan, direct: {dev: eth0}}]"), run("web", "")), "web", "bridge"},
		"function":          {docs(config("web", "", strings.Replace(small, "disks:", "interfaces: [{name: lan}], disks:", 1)+`, networks: [{name: lan, pci: "0000:03:10.0"}]`), run("web", "")), "web", "host-device"},
		"KubeVirt":          {kubevirt, "web", "filesystem"},
		"domainXML alone":   {docs(config("web", "", `domainXML: "<domain type='kvm'><memory>65536</memory><os><type>hvm</type><kernel>/etc/shadow</kernel></os></domain>"`), run("web", "")), "web", "kernel"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			with(t, func(a *agent, l *fakevirt.Libvirt) {
				a.repo.commit(t, tt.documents, 0)
				a.expect()
				a.says(tt.name, tt.rule+": ")
				if l.String() != "" || len(l.Volumes()) > 0 {
					t.Errorf("something was made:\n%s%v", l, l.Volumes())
				}
			})
		})
	}
}

func TestPinnedAndGoodRevisionsAreHeldAgainstThePolicyToo(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.policy.Elements = []string{"*"}
		a.restart()
		a.repo.commit(t, docs(config("web", "", emulated(small)), run("web", "state: Stopped")), 0)
		a.expect("web create NoDomain")
		first := a.repo.head.Commit
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Stopped")), 0)
		a.expect("web next-start Edited")

		a.policy.Elements = nil
		a.restart()
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running, "+pinTo(1))), 0)
		a.expect("web live Autostart", "web start Run") // as it is defined
		a.says("web", "of revision "+first[:12], "emulator")

		// A broken document lets the last good revision stand in, which is no way around either.
		a.policy.Elements = []string{"*"}
		a.restart()
		a.repo.commit(t, docs(config("other", "", emulated(small))), 0)
		a.pass()
		a.policy.Elements = nil
		a.restart()
		a.repo.commit(t, docs("kind: [", run("other", "state: Running")), 0)
		a.expect()
		a.says("other", "emulator")
	})
}

func TestAdoptedDomainKeepsWhatItsAdministratorGaveIt(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		const found = `<domain type='kvm'><name>web</name><uuid>c2177883-f1bb-47f0-914d-32a22e3a8804</uuid><memory unit='KiB'>65536</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices><emulator>/opt/qemu</emulator></devices></domain>`
		if err := l.Define(found); err != nil {
			t.Fatal(err)
		}
		plain := "domain: {memory: {guest: 64Mi}}"
		a.repo.commit(t, docs(config("web", "", plain), run("web", "state: Stopped, adopt: true")), 0)
		a.pass()
		if got := a.blocked("web"); len(got) > 0 || !strings.Contains(a.domain("web").Inactive.Text(), "/opt/qemu") {
			t.Errorf("blocked for %v, and has %s", got, a.domain("web").Inactive.Text())
		}
	})
}

// TestCeilingsOfAHost: what runs is never pushed out by what is new, whatever their names are.
func TestCeilingsOfAHost(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.policy.Host = policy.Limits{Memory: 128 << 20}
		a.restart()
		zoe := docs(config("zoe", "", small), run("zoe", "state: Running"))
		a.repo.commit(t, zoe, 0)
		a.expect("zoe create NoDomain", "zoe start Wanted")
		both := docs(zoe, config("abe", "", memory(small, "65Mi")), run("abe", "state: Running"))
		a.repo.commit(t, both, 0)
		a.expect()
		a.says("abe", "host-memory", "129 MiB", "128 MiB")
		if got := a.blocked("zoe"); len(got) > 0 {
			t.Errorf("what runs is blocked for %v", got)
		}
		l.GoDown("zoe", "crashed") // it comes back, though the other one is waiting
		a.expect("zoe start RestartPolicy")
		a.says("abe", "host-memory")

		// One that is stopped takes no memory.
		a.repo.commit(t, docs(config("zoe", "", small), run("zoe", "state: Stopped"), config("abe", "", memory(small, "65Mi")), run("abe", "state: Running")), 0)
		a.pass()
		a.expect("abe create NoDomain", "abe start Wanted")
		a.quiet()

		// Growing is held too, and the machine runs on as it is, and comes back so.
		a.repo.commit(t, docs(config("abe", "", memory(small, "256Mi")), run("abe", "state: Running")), 0)
		a.pass()
		a.pass()
		a.says("abe", "host-memory", "256 MiB")
		l.GoDown("abe", "crashed")
		a.expect("abe start RestartPolicy")
		e, err := domxml.Parse(a.domain("abe").Live.Text())
		if err != nil || policy.DomainSize(e).Memory != 65<<20 {
			t.Errorf("it came back with %v, %v", policy.DomainSize(e).Memory, err)
		}
	})
}

// TestLinksAreFollowedWhenTheyAreUsed: a path that led to an allowed place leads elsewhere later.
func TestLinksAreFollowedWhenTheyAreUsed(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		dir := t.TempDir()
		link := filepath.Join(dir, "vms", "disk.img")
		for _, name := range []string{"vms/real.img", "secret"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		point := func(to string) {
			_ = os.Remove(link)
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
		a.policy.HostPaths = []string{filepath.Join(dir, "vms")}
		a.restart()
		spec := strings.Replace(small, "volume: {size: 1Gi}", "hostDisk: {path: "+link+", type: Disk}", 1)
		point("../secret")
		a.repo.commit(t, docs(config("web", "", spec), run("web", "state: Running")), 0)
		a.expect()
		a.says("web", "host-path", "leads to", filepath.Join(dir, "secret"), "spec.template.spec.volumes[0]")
		point("real.img")
		a.expect("web create NoDomain", "web start Wanted")
		point(filepath.Join(dir, "secret"))
		l.GoDown("web", "crashed")
		a.expect()
		a.says("web", "host-path")
	})
}

func TestHostFilesFollowLinksOfWhatIsNotThere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.MkdirAll(in("real/deep"), 0o755), os.Symlink("real", in("linked")), os.Symlink("/nowhere/x", in("dangling")),
		os.Symlink("dangling", in("twice")), os.Symlink("a", in("b")), os.Symlink("b", in("a")), os.WriteFile(in("real/file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		in("real/file"): in("real/file"), in("linked/file"): in("real/file"), in("linked/new/disk.img"): in("real/new/disk.img"),
		in("dangling"): "/nowhere/x", in("twice/sub"): "/nowhere/x/sub", in("linked/deep/../../new"): in("new"), "/": "/",
	} {
		if got, err := (reconcile.HostFiles{}).Resolve(path); err != nil || got != want {
			t.Errorf("%s leads to %s, %v; want %s", path, got, err, want)
		}
	}
	for _, path := range []string{in("a"), in("a/x"), "relative", in("real/file/x")} {
		if got, err := (reconcile.HostFiles{}).Resolve(path); err == nil {
			t.Errorf("%s leads to %s, and should lead nowhere", path, got)
		}
	}
}
