package test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// TestPowerByCommand: a machine is stopped, started and restarted from a clone; each command returns when libvirt has come so
// far, and not before.
func TestPowerByCommand(t *testing.T) {
	h := newHost(t)
	h.push("A machine", machineDoc("web", "", "16Mi", "root"), runDoc("web", ""))
	h.agent()
	h.instance("web", "runs", phase(plan.PhaseRunning))
	do := func(verb string) string {
		t.Helper()
		out, err := exec.Command(h.binary, verb, "web", "--dir", h.clone, "--push", "--wait", "1m", "--agent", "http://"+h.listen).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, out)
		}
		return string(out)
	}
	first := h.virsh("domid", "web")
	if out := do("restart"); !strings.Contains(out, "web: spec.run: 2 in ") || !strings.HasSuffix(out, "web: Running on kvm1\n") {
		t.Errorf("it says\n%s", out)
	}
	if second := h.virsh("domid", "web"); second == first {
		t.Error("it was not restarted")
	}
	if out := do("stop"); !strings.HasSuffix(out, "web: Stopped on kvm1\n") {
		t.Errorf("it says\n%s", out)
	}
	if state := strings.TrimSpace(h.virsh("domstate", "web")); state != "shut off" {
		t.Errorf("it is %s", state)
	}
	do("pause")
	if state := strings.TrimSpace(h.virsh("domstate", "web")); state != "paused" {
		t.Errorf("it is %s", state)
	}
	do("start")
	if state := strings.TrimSpace(h.virsh("domstate", "web")); state != "running" {
		t.Errorf("it is %s", state)
	}
	out, err := exec.Command(h.binary, "stop", "web", "--dir", h.clone, "--push", "--wait", "2s", "--agent", "http://127.0.0.1:1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it is not so after 2s") || !strings.Contains(string(out), "cannot ask the agent") {
		t.Errorf("with no agent there: %v\n%s", err, out)
	}
}
