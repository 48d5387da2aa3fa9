package test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestRule1BadCommitChangesNothing: a document that cannot be read leaves what it described as it was.
func TestRule1BadCommitChangesNothing(t *testing.T) {
	h := newHost(t)
	good := []string{machineDoc("web", "", "16Mi", "root"), runDoc("web", "state: Paused")}
	commit := h.push("Good", good...)
	h.agent()
	h.settled(commit)
	for _, bad := range [][]string{
		{"kind: [", good[1]}, {strings.Replace(good[0], "memory", "memroy", 1), good[1]}, {"kind: ["}, {strings.Replace(good[0], "v1alpha1", "v1alpha2", 1), good[1]},
	} {
		h.proxy.Reset()
		commit := h.push("Bad", bad...)
		sandboxtest.Wait(t, patience, func() bool {
			var metrics string
			_, err := h.get("/metrics", &metrics)
			return err == nil && strings.Contains(metrics, `revision="`+commit) && !strings.Contains(metrics, `gitvirt_documents{state="invalid"} 0`)
		}, "the bad commit is shown")
		if w := h.proxy.Writes(); len(w) != 0 {
			t.Errorf("a bad commit wrote %v", proxy.Names(w))
		}
	}
	h.settled(h.push("Good again", good...))
}

// TestRule3RemovalsAreBudgeted, on a real libvirtd and with a real trailer.
func TestRule3RemovalsAreBudgeted(t *testing.T) {
	h := newHost(t)
	var all []string
	for n := range 5 {
		name := fmt.Sprintf("m%d", n)
		all = append(all, machineDoc(name, "", "16Mi"), runDoc(name, "state: Stopped"))
	}
	h.push("Five", all...)
	h.converge()
	h.push("One", all[:2]...)
	if code := h.once(); code != 1 {
		t.Errorf("a pass with held removals ended with %d", code)
	}
	if got := len(strings.Fields(h.virsh("list", "--all", "--name"))); got != 5 {
		t.Fatalf("%d domains are left of 5", got)
	}
	h.push("One, really\n\nGitvirt-Allow-Removals: 4\n", all[:2]...)
	h.converge()
	if got := strings.Fields(h.virsh("list", "--all", "--name")); len(got) != 1 || got[0] != "m0" {
		t.Errorf("left: %v", got)
	}
}

// TestRule4VolumesOutliveTheirMachine: the files themselves.
func TestRule4VolumesOutliveTheirMachine(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.sandbox.PoolDir(), "web.root.qcow2")
	h.push("Run", machineDoc("web", "deletionPolicy: Delete", "16Mi", "root"), runDoc("web", "state: Paused"))
	h.converge()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.push("Stop and forget where", machineDoc("web", "deletionPolicy: Delete", "16Mi", "root"))
	h.converge()
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the volume changed: %v", err)
	}
	h.push("Run again", machineDoc("web", "deletionPolicy: Delete", "16Mi", "root"), runDoc("web", "state: Paused"))
	h.converge()
	h.push("Gone", machineDoc("other", "", "16Mi"))
	h.converge()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the config is gone and said Delete, and the volume is there: %v", err)
	}
}

// TestRule7OneHangHoldsUpNoOther: a QEMU that is frozen, and a guest that hears nothing.
func TestRule7OneHangHoldsUpNoOther(t *testing.T) {
	h := newHost(t)
	machines := func(state string, others ...string) []string {
		docs := []string{strings.Replace(machineDoc("frozen", "", "16Mi"), "Seconds: 0", "Seconds: 600", 1), runDoc("frozen", state)}
		for _, name := range others {
			docs = append(docs, machineDoc(name, "", "16Mi"), runDoc(name, "state: Paused"))
		}
		return docs
	}
	h.push("One", machines("state: Running")...)
	h.agent()
	h.instance("frozen", "runs", phase(plan.PhaseRunning))
	qemus, err := h.sandbox.QEMUs()
	if err != nil || len(qemus) != 1 {
		t.Fatalf("QEMUs = %v, %v", qemus, err)
	}
	if err := syscall.Kill(qemus[0].PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(qemus[0].PID, syscall.SIGCONT)
	h.push("Stop the frozen one, and start others", machines("state: Stopped", "a", "b", "c", "d", "e", "f")...)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		h.instance(name, "is paused", phase(plan.PhasePaused))
	}
	if err := syscall.Kill(qemus[0].PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.push("Go on", machines("state: Running", "a", "b", "c", "d", "e", "f")...)
	h.instance("frozen", "is known again", func(i status.Instance) bool {
		return i.Status.Phase == plan.PhaseRunning && i.Status.Desired == "Running"
	})
}

// TestRule8LibvirtdGoesAway: killed while QEMUs live, and back.
func TestRule8LibvirtdGoesAway(t *testing.T) {
	h := newHost(t)
	h.push("One", machineDoc("web", "", "16Mi", "root"), runDoc("web", "state: Paused"))
	h.agent()
	h.instance("web", "is paused", phase(plan.PhasePaused))
	if err := h.sandbox.KillDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Wait(t, patience, func() bool {
		var metrics string
		_, err := h.get("/metrics", &metrics)
		return err == nil && strings.Contains(metrics, "gitvirt_libvirt_up 0")
	}, "libvirt is seen to be away")
	if code, err := h.get("/readyz", nil); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("readyz = %d, %v", code, err)
	}
	commit := h.push("Two", machineDoc("web", "", "16Mi", "root"), runDoc("web", "state: Paused"), machineDoc("db", "", "16Mi"), runDoc("db", "state: Paused"))
	if err := h.sandbox.StartDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.instance("db", "is paused", phase(plan.PhasePaused))
	h.settled(commit)
	h.instance("web", "is what it was", func(i status.Instance) bool { return i.Status.Phase == plan.PhasePaused && i.Status.Restarts == 0 })
}

// TestRule11TheBranchIsOnlyRead: after all the work the repository is what it was.
func TestRule11TheBranchIsOnlyRead(t *testing.T) {
	h := newHost(t)
	h.push("One", machineDoc("web", "", "16Mi"), runDoc("web", "state: Paused"))
	refs := h.git(h.bare, "for-each-ref")
	objects := h.git(h.bare, "count-objects", "-v")
	h.converge()
	h.once()
	if now := h.git(h.bare, "for-each-ref"); now != refs {
		t.Errorf("refs changed from %s to %s", refs, now)
	}
	if now := h.git(h.bare, "count-objects", "-v"); now != objects {
		t.Errorf("objects changed from %s to %s", objects, now)
	}
}

// TestRule12AScrapeWaitsForNobody: libvirtd is frozen and the repository gone, and every page answers without a call.
func TestRule12AScrapeWaitsForNobody(t *testing.T) {
	h := newHost(t)
	h.push("One", machineDoc("web", "", "16Mi"), runDoc("web", "state: Paused"))
	h.agent()
	h.instance("web", "is paused", phase(plan.PhasePaused))
	pid, err := h.sandbox.DaemonPID()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	if err := os.Rename(h.bare, h.bare+".away"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/metrics", "/healthz", "/api/v1alpha1/instances", "/api/v1alpha1/configs", "/api/v1alpha1/plan", "/api/v1alpha1/events"} {
		h.proxy.Reset()
		if code, err := h.get(path, nil); err != nil || code != http.StatusOK {
			t.Errorf("%s = %d, %v", path, code, err)
		}
	}
	h.instance("web", "is shown", phase(plan.PhasePaused))
}

// TestPasswordsAreKeptAndNotShown: a password in domainXML is no perpetual difference, an edit elsewhere does not lose it, and
// nobody sees it.
func TestPasswordsAreKeptAndNotShown(t *testing.T) {
	h := newHost(t)
	with := func(memory, password string) string {
		return machineDoc("web", "", memory) + `      domainXML: "<domain><devices><graphics type='vnc' port='-1' autoport='yes' passwd='` + password + `'/></devices></domain>"` + "\n"
	}
	h.push("One", with("16Mi", "geheim1"), runDoc("web", "state: Paused"))
	h.converge()
	h.proxy.Reset()
	if code := h.once(); code != 0 || len(h.proxy.Writes()) != 0 {
		t.Errorf("another pass ended with %d and wrote %v", code, proxy.Names(h.proxy.Writes()))
	}
	secure := func() string { return h.virsh("dumpxml", "--inactive", "--security-info", "web") }
	h.push("Two", with("20Mi", "geheim1"), runDoc("web", "state: Paused"))
	h.converge()
	if !strings.Contains(secure(), "passwd='geheim1'") {
		t.Errorf("the password is lost:\n%s", secure())
	}
	three := h.push("Three", with("20Mi", "geheim2"), runDoc("web", "state: Paused"))
	h.agent()
	h.settled(three)
	staged := h.instance("web", "has staged changes", func(i status.Instance) bool { return len(i.Status.Staged) > 1 })
	if !strings.Contains(secure(), "passwd='geheim2'") {
		t.Errorf("the password is not changed:\n%s", secure())
	}
	shown := fmt.Sprintf("%+v", staged.Status) + h.log.String() + h.virsh("dumpxml", "--inactive", "web")
	for _, path := range []string{"/", "/metrics", "/api/v1alpha1/plan", "/api/v1alpha1/events", "/api/v1alpha1/instances", "/api/v1alpha1/configs/web/runtime"} {
		var page string
		if _, err := h.get(path, &page); err != nil {
			t.Error(err)
		}
		shown += page
	}
	if strings.Contains(shown, "geheim") {
		t.Errorf("a password is shown")
	}
}
