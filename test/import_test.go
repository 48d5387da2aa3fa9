package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// imports runs gitvirt import, and returns its exit code and what it says.
func imports(t *testing.T, s *sandbox.Sandbox, args ...string) (code int, out, errs string) {
	t.Helper()
	c := exec.Command(os.Getenv("GITVIRT_UNDER_TEST"), append([]string{"import", "--host", "kvm1", "--libvirt", s.URI()}, args...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// people define the machines of an archive as they would, and have them as its comments say.
func people(t *testing.T, s *sandbox.Sandbox, archive string) []string {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	img := func(args ...string) {
		if out, err := exec.Command("qemu-img", append([]string{"create", "-q"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("qemu-img create %v: %v\n%s", args, err, out)
		}
	}
	at := func(name string) string { return filepath.Join(s.PoolDir(), name) }
	for _, name := range []string{"virt-install.qcow2", "pinned.qcow2", "terraform.vda.qcow2", "debian-root.qcow2", "overlay.qcow2"} {
		img("-f", "qcow2", at(name), "8M")
	}
	for _, name := range []string{"old-pc.img", "pinned-data.img", "install.iso", "drives.img", "drivers.iso", "drives-data.img"} {
		img("-f", "raw", at(name), "8M")
	}
	img("-f", "qcow2", "-b", at("overlay.qcow2"), "-F", "qcow2", at("overlay.snap1"))
	img("-f", "qcow2", "-b", at("overlay.snap1"), "-F", "qcow2", at("overlay.snap2"))
	virsh := func(args ...string) {
		t.Helper()
		if out, err := s.Virsh(t.Context(), args...); err != nil {
			t.Fatalf("virsh %v: %v\n%s", args, err, out)
		}
	}
	virsh("pool-refresh", "default")
	nbd(t, at("drives-data.img"), at("drives.nbd")).start()
	sandboxtest.Wait(t, patience, func() bool {
		_, err := os.Stat(at("drives.nbd"))
		return err == nil
	}, "the NBD server has its socket")
	var names []string
	for _, f := range a.Files {
		name := strings.TrimSuffix(f.Name, ".xml")
		file := filepath.Join(t.TempDir(), f.Name)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(f.Data), "POOL", s.PoolDir())), 0o600); err != nil {
			t.Fatal(err)
		}
		virsh("define", file)
		how, _, _ := strings.Cut(string(f.Data), "-->")
		if strings.Contains(how, "running") || strings.Contains(how, "paused") {
			virsh("start", "--paused", name)
		}
		if strings.Contains(how, "running") {
			virsh("resume", name)
		}
		if strings.Contains(how, "autostart") {
			virsh("autostart", name)
		}
		names = append(names, name)
	}
	return names
}

// ours is gitvirt's record in a domain, and the metadata around it where there is nothing else.
var ours = regexp.MustCompile(`(?s)\n\s*<gitvirt:domain.*</gitvirt:domain>`)

// machines are all that there is to know of domains, but for gitvirt's record.
func machines(t *testing.T, s *sandbox.Sandbox, names []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range names {
		for _, args := range [][]string{{"dumpxml", "--inactive", "--security-info"}, {"dumpxml", "--security-info"}, {"dominfo"}} {
			out, err := s.Virsh(t.Context(), append(args, name)...)
			if err != nil {
				t.Fatalf("virsh %v %s: %v\n%s", args, name, err, out)
			}
			out = regexp.MustCompile(`CPU time:.*`).ReplaceAllString(out, "")
			out = ours.ReplaceAllString(out, "")
			all[name+" "+strings.Join(args, " ")] = regexp.MustCompile(`\n\s*<metadata>\s*</metadata>`).ReplaceAllString(out, "")
		}
	}
	processes, err := s.QEMUs()
	if err != nil {
		t.Fatal(err)
	}
	all["processes"] = fmt.Sprint(processes)
	return all
}

// TestImportedHostIsAdopted: the machines that people's tools made are imported, one and all; the documents are pushed, and an
// agent takes the machines over. Nothing of them changes but gitvirt's record: not a byte of the definitions, nor of what
// runs, and no QEMU is another one.
func TestImportedHostIsAdopted(t *testing.T) {
	h := newHost(t)
	names := people(t, h.sandbox, "testdata/import.txtar")
	before := machines(t, h.sandbox, names)
	allowed := filepath.Join(t.TempDir(), "policy.yaml")
	code, out, errs := imports(t, h.sandbox, "--domain-type", "qemu", "--dir", h.clone, "--policy-out", allowed)
	if code != 0 {
		t.Fatalf("import ended with %d:\n%s%s", code, out, errs)
	}
	for _, name := range names {
		if !strings.Contains(out, name+".yaml") {
			t.Errorf("%s is not among what was written:\n%s", name, out)
		}
	}
	var documents strings.Builder
	err := filepath.WalkDir(h.clone, func(p string, e os.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(p)
		documents.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "hunter3"} {
		if strings.Contains(documents.String(), secret) {
			t.Errorf("a password is in the documents")
		}
	}
	if !strings.Contains(errs, "virt-manager: its documents do not say the password") {
		t.Errorf("nothing is said of the password:\n%s", errs)
	}
	drives, err := os.ReadFile(filepath.Join(h.clone, "drives.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"iso:\n            path: " + h.sandbox.PoolDir() + "/install.iso", "iso:\n            name: drivers.iso", "protocol: nbd\n            name: data",
		"- socket: " + h.sandbox.PoolDir() + "/drives.nbd"} {
		if !strings.Contains(string(drives), words) {
			t.Errorf("the template does not say %q:\n%s", words, drives)
		}
	}
	if strings.Contains(string(drives), "<source") {
		t.Errorf("libvirt's language says where a disk is:\n%s", drives)
	}
	if diff := cmp.Diff(before, machines(t, h.sandbox, names)); diff != "" {
		t.Fatalf("the import has changed something:\n%s", diff)
	}

	h.config = allowed
	h.git(h.clone, "add", "--all")
	h.git(h.clone, "commit", "--quiet", "-m", "Import kvm1")
	h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
	h.converge()
	if diff := cmp.Diff(before, machines(t, h.sandbox, names)); diff != "" {
		t.Errorf("the adoption has changed something:\n%s", diff)
	}
	if code, out := h.plans(); code != 0 {
		t.Errorf("something is left to do:\n%s", out)
	}
	adopted := regexp.MustCompile(`(?m)^ *adopt: true\n`)
	for _, name := range names {
		file := filepath.Join(h.clone, name+".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, adopted.ReplaceAll(text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.git(h.clone, "commit", "--quiet", "--all", "-m", "They are adopted")
	h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
	if code, out := h.plans(); code != 0 {
		t.Errorf("without adopt something is to be done:\n%s", out)
	}
	agent := h.agent()
	for _, name := range names {
		i := h.instance(name, "is in sync", func(i status.Instance) bool { return condition(i, status.Synced).Status == "True" })
		if len(i.Status.Staged) > 0 {
			t.Errorf("%s is behind with %v", name, i.Status.Staged)
		}
		if want := map[string]plan.Phase{"virt-install": plan.PhaseRunning, "old-pc": plan.PhasePaused}[name]; want != "" && i.Status.Phase != want {
			t.Errorf("%s is %s", name, i.Status.Phase)
		}
	}
	if diff := cmp.Diff(before, machines(t, h.sandbox, names)); diff != "" {
		t.Errorf("the agent has changed something:\n%s", diff)
	}
	agent.kill()

	// What is edited later is a change like any other: the rest stays, and the devices are still known.
	file := filepath.Join(h.clone, "virt-manager.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "serial: WD-1", "serial: WD-2", 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil || edited == string(text) {
		t.Fatalf("cannot edit the serial: %v\n%s", err, text)
	}
	h.git(h.clone, "commit", "--quiet", "--all", "-m", "Another serial")
	h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
	h.converge()
	after := machines(t, h.sandbox, []string{"virt-manager"})
	for key, was := range before {
		if strings.HasPrefix(key, "virt-manager ") {
			// libvirt may write its controllers in another order the second time; nothing moves by that.
			if diff := cmp.Diff(sorted(strings.Replace(was, "WD-1", "WD-2", 1)), sorted(after[key])); diff != "" {
				t.Errorf("an edit of the serial makes of %s:\n%s", key, diff)
			}
		}
	}
}

// sorted is a text's lines in order.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// plans runs gitvirt plan.
func (h *host) plans() (int, string) {
	h.t.Helper()
	c := exec.Command(h.binary, append([]string{"plan", "--repo", h.bare, "--host", "kvm1", "--libvirt", h.proxy.URI(), "--domain-type", "qemu",
		"--state-dir", h.state}, h.configFlag()...)...)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// TestImportSaysWhatItCannot: a name that no document can have, a transient domain, a name that is taken and a file that is
// there are said, with what to do, and the others go on.
func TestImportSaysWhatItCannot(t *testing.T) {
	s := sandboxtest.Start(t)
	define := func(how, name string) {
		file := filepath.Join(t.TempDir(), "domain.xml")
		text := "<domain type='qemu'><name>" + name + "</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Virsh(t.Context(), how, file); err != nil {
			t.Fatalf("virsh %s: %v\n%s", how, err, out)
		}
	}
	define("define", "Old_Name")
	define("create", "passing")
	define("define", "taken")
	define("define", "there")
	define("define", "good")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	vms := filepath.Join(dir, "vms")
	for name, text := range map[string]string{
		"other/x.yaml": machineDoc("taken", "restartPolicy: Never", "16Mi"), "vms/there.yaml": "mine: true\n", ".gitvirtignore": "vms/there.yaml\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := imports(t, s, "--dir", vms)
	if code != 2 || strings.TrimSpace(out) != filepath.Join(vms, "good.yaml") {
		t.Errorf("exit %d, and wrote %s", code, out)
	}
	for _, words := range []string{
		"cannot import Old_Name: ", `virsh domrename "Old_Name"`, "cannot import passing: it is transient", "virsh define",
		"cannot import taken: the VirtualMachineInstanceConfig in other/x.yaml has this name already",
		"cannot import there: there is a file " + filepath.Join(vms, "there.yaml") + " already: say --overwrite",
	} {
		if !strings.Contains(errs, words) {
			t.Errorf("it does not say %q:\n%s", words, errs)
		}
	}
	first, err := os.ReadFile(filepath.Join(vms, "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(vms, "there.yaml")); err != nil || string(text) != "mine: true\n" {
		t.Errorf("there.yaml has become %q: %v", text, err)
	}
	if code, out, errs = imports(t, s, "--dir", vms, "--overwrite", "good", "none"); code != 2 || !strings.Contains(errs, "cannot import none: libvirt has no domain of this name") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	second, err := os.ReadFile(filepath.Join(vms, "good.yaml"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the second time it is %s, and was %s: %v", second, first, err)
	}
	if code, out, errs = imports(t, s, "--repo-dir", vms, "taken", "good"); code != 2 || out != "" || !strings.Contains(errs, "in vms/good.yaml has this name already") ||
		!strings.Contains(errs, "in other/x.yaml has this name already") {
		t.Errorf("exit %d beside the repository: %s%s", code, out, errs)
	}
	if code, out, errs = imports(t, s, "good"); code != 0 || out != string(first) {
		t.Errorf("exit %d, printed %s%s", code, out, errs)
	}
}

// TestImportedNetworksAndPools: the networks and pools that imported machines use come along, and an agent that takes them over
// changes nothing of them; those that no machine uses are left alone.
func TestImportedNetworksAndPools(t *testing.T) {
	s := sandboxtest.Start(t, func(o *sandbox.Options) { o.Networks = true })
	virsh := func(args ...string) string {
		t.Helper()
		out, err := s.Virsh(t.Context(), args...)
		if err != nil {
			t.Fatalf("virsh %v: %v\n%s", args, err, out)
		}
		return out
	}
	define := func(how, text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.xml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		virsh(how, file)
	}
	define("net-define", `<network><name>default</name><forward mode='nat'/><bridge name='virbr0' stp='on' delay='0'/><mac address='52:54:00:6d:72:90'/>
<ip address='192.0.2.1' netmask='255.255.255.0'><dhcp><range start='192.0.2.2' end='192.0.2.254'/><host mac='52:54:00:00:00:01' name='a' ip='192.0.2.10'/></dhcp></ip></network>`)
	virsh("net-start", "default")
	virsh("net-autostart", "default")
	define("net-define", `<network><name>Lab_1</name><bridge name='virbr9'/><domain name='lab.example.org' localOnly='yes'/>
<dns><txt name='x' value='y'/></dns><ip family='ipv6' address='2001:db8::1' prefix='64'/>
<portgroup name='slow' default='yes'><bandwidth><inbound average='1000'/></bandwidth></portgroup></network>`)
	define("net-define", `<network><name>idle</name><forward mode='bridge'/><bridge name='br0'/></network>`)
	disks := t.TempDir()
	define("pool-define", `<pool type='dir'><name>disks</name><target><path>`+disks+`</path><permissions><mode>0755</mode></permissions></target></pool>`)
	virsh("pool-start", "disks")
	define("define", `<domain type='qemu'><name>web</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='`+disks+`/web.img'/><target dev='vda' bus='virtio'/></disk>
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='default'/><model type='virtio'/></interface>
<interface type='network'><mac address='52:54:00:00:00:02'/><source network='Lab_1' portgroup='slow'/><model type='virtio'/></interface></devices></domain>`)
	look := func() string {
		return ours.ReplaceAllString(strings.Join([]string{virsh("net-dumpxml", "--inactive", "default"), virsh("net-dumpxml", "default"), virsh("net-dumpxml", "--inactive", "Lab_1"),
			virsh("net-list", "--all"), virsh("pool-list", "--all"), virsh("pool-dumpxml", "--inactive", "disks")}, "\n"), "")
	}
	before := look()
	h := newHost(t)
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	code, out, errs := imports(t, s, "--domain-type", "qemu", "--dir", h.clone, "--policy-out", policy)
	if code != 0 {
		t.Fatalf("import ended with %d:\n%s%s", code, out, errs)
	}
	for _, name := range []string{"web.yaml", "networks/default.yaml", "networks/lab-1.yaml", "pools/disks.yaml"} {
		if !strings.Contains(out, "/"+name) {
			t.Errorf("%s is not written:\n%s", name, out)
		}
	}
	if strings.Contains(out, "idle") {
		t.Errorf("a network that nothing uses is written:\n%s", out)
	}
	h.git(h.clone, "add", "--all")
	h.git(h.clone, "commit", "--quiet", "-m", "Import kvm1")
	h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
	agent := func(command string, args ...string) (int, string) {
		c := exec.Command(h.binary, append([]string{command, "--repo", h.bare, "--host", "kvm1", "--libvirt", s.URI(), "--domain-type", "qemu", "--state-dir", h.state, "--config", policy}, args...)...)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	for range 3 {
		if code, out = agent("agent", "--once", "--listen", ""); code == 0 {
			break
		}
	}
	if code != 0 {
		t.Errorf("the agent is not in sync (%d):\n%s", code, out)
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("the adoption has changed something:\n%s", diff)
	}
	if code, out = agent("plan"); code != 0 {
		t.Errorf("something is left to do:\n%s", out)
	}
	if code, out, errs = imports(t, s, "--domain-type", "qemu", "--dir", h.clone); code != 0 || out != "" {
		t.Errorf("what is gitvirt's is imported again (%d):\n%s%s", code, out, errs)
	}
}
