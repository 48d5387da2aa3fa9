package test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestTheDefaultFile: the agent's file that packages bring is sound, and so is each of its keys that is commented out: the files
// that examples name may be missing, and nothing else.
func TestTheDefaultFile(t *testing.T) {
	binary := os.Getenv("GITVIRT_UNDER_TEST")
	text, err := os.ReadFile("../deploy/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "agent.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary, "agent", "--check-config", "--config", file).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "no such file or directory") {
			t.Errorf("%v: %s\n%s", err, out, text)
		}
		return string(out)
	}
	if out := check(string(text)); !strings.Contains(out, "is sound") {
		t.Errorf("it says %s", out)
	}
	keys := regexp.MustCompile(`(?m)^# ([a-zA-Z]+:.*(?:\n#   .*)*)`).FindAllStringSubmatch(string(text), -1)
	if len(keys) < 12 {
		t.Fatalf("%d keys are commented out", len(keys))
	}
	for _, key := range keys {
		check("repo: /srv/vms.git\n" + strings.ReplaceAll(key[1], "\n# ", "\n") + "\n")
	}
	if out := check("repo: /srv/vms.git\nlogFormat: xml no such file or directory\n"); !strings.Contains(out, "say text or json") {
		t.Errorf("a bad file: %s", out)
	}
}

// TestTheUnit: systemd takes the unit, and finds it no more exposed than it was made to be.
func TestTheUnit(t *testing.T) {
	text, err := os.ReadFile("../deploy/systemd/gitvirt.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := strings.ReplaceAll(string(text), "/usr/bin/gitvirt", os.Getenv("GITVIRT_UNDER_TEST"))
	unit = strings.Replace(unit, " man:gitvirt(1)", "", 1) // it looks for the page
	file := filepath.Join(t.TempDir(), "gitvirt.service")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), "gitvirt.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=32", file).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// TestPackages: what is built for both architectures can be installed, and the program that is in it runs.
func TestPackages(t *testing.T) {
	dist := t.TempDir()
	if out, err := exec.Command("../deploy/package", "v1.2.3", dist).CombinedOutput(); err != nil {
		t.Fatalf("deploy/package: %v\n%s", err, out)
	}
	want := []string{"/usr/bin/gitvirt", "/usr/lib/systemd/system/gitvirt.service", "/usr/share/doc/gitvirt/agent.yaml", "/etc/gitvirt"}
	for name, list := range map[string][]string{
		"gitvirt_1.2.3_amd64.deb":     {"dpkg-deb", "--contents"},
		"gitvirt_1.2.3_arm64.deb":     {"dpkg-deb", "--contents"},
		"gitvirt-1.2.3-1.x86_64.rpm":  {"rpm", "-qlp"},
		"gitvirt-1.2.3-1.aarch64.rpm": {"rpm", "-qlp"},
	} {
		out, err := exec.Command(list[0], append(list[1:], filepath.Join(dist, name))...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		for _, file := range want {
			if !strings.Contains(string(out), file) {
				t.Errorf("%s has no %s:\n%s", name, file, out)
			}
		}
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", filepath.Join(dist, "gitvirt_1.2.3_amd64.deb"), root).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		head, err := os.ReadFile(filepath.Join(dist, arch, "gitvirt"))
		if err != nil || !bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.Contains(head, []byte("/lib64/ld-linux")) || bytes.Contains(head, []byte("/lib/ld-linux-aarch64")) {
			t.Errorf("the program for %s is not static: %v", arch, err)
		}
	}
	out, err := exec.Command(filepath.Join(root, "usr/bin/gitvirt"), "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "gitvirt version ") {
		t.Errorf("it says %q, %v", out, err)
	}
}

// TestServiceManager: the agent says that it is ready, and goes on saying that it lives.
func TestServiceManager(t *testing.T) {
	h := newHost(t)
	h.push("Nothing", "# nothing\n")
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "600000")
	h.agent()
	said := map[string]int{}
	if err := l.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for said["WATCHDOG=1"] < 3 {
		buffer := make([]byte, 1024)
		n, err := l.Read(buffer)
		if err != nil {
			t.Fatalf("%v; it has said %v", err, said)
		}
		said[string(buffer[:n])]++
	}
	if said["READY=1"] != 1 {
		t.Errorf("it has said %v", said)
	}
}

// TestUpgradeUnderRunningMachines: the program is replaced by one of another build while machines run, and back again. It takes
// them over as they are: nothing is started, stopped or defined anew.
func TestUpgradeUnderRunningMachines(t *testing.T) {
	h := newHost(t)
	old := h.binary
	other := filepath.Join(t.TempDir(), "gitvirt")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", other, "../cmd/gitvirt").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	h.push("Two machines", machineDoc("web", "", "16Mi", "root"), machineDoc("db", "", "16Mi", "root"), runDoc("web", ""), runDoc("db", "state: Paused"))
	a := h.agent()
	h.instance("web", "runs", phase(plan.PhaseRunning))
	h.instance("db", "is paused", phase(plan.PhasePaused))
	is := func() string {
		text := ""
		for _, name := range []string{"web", "db"} {
			text += h.virsh("domid", name) + h.virsh("domstate", name) + h.virsh("dumpxml", name) + h.virsh("dumpxml", "--inactive", name)
		}
		return text
	}
	before := is()
	for _, binary := range []string{other, old} {
		if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		sandboxtest.Wait(t, 20*time.Second, func() bool { return len(a.done) > 0 }, "the old agent has ended")
		h.binary = binary
		mark := len(h.log.String())
		a = h.agent()
		h.instance("web", "is known to the new agent", func(i status.Instance) bool {
			return phase(plan.PhaseRunning)(i) && condition(i, status.Synced).Status == "True"
		})
		if log := h.log.String()[mark:]; strings.Contains(log, "msg=action") {
			t.Errorf("the new agent has done something:\n%s", log)
		}
		if after := is(); after != before {
			t.Errorf("the machines are not as they were:\n%s\n%s", before, after)
		}
	}
}
