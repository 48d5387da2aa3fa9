package test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestAddressesThatTheGuestSays: what the agent of a guest that boots says of its interface is in the instance's status, in
// the table and on the page, without a new pass being asked for; and gone with the run.
func TestAddressesThatTheGuestSays(t *testing.T) {
	h := newHost(t)
	doc := h.guestDoc(sandboxtest.Guest(t), "web", "", guest.Agent, "")
	doc = strings.Replace(doc, "{disks:", "{interfaces: [{name: lan, macAddress: '52:54:00:12:34:56', masquerade: {}}], disks:", 1)
	doc = strings.Replace(doc, "      volumes:\n", "      networks: [{name: lan, user: {}}]\n      volumes:\n", 1)
	h.push("A guest with an agent", doc, runDoc("web", ""))
	h.agent()
	isKnown := func(i status.Instance) bool {
		nics := i.Status.Devices.Interfaces
		return len(nics) == 1 && slices.Equal(nics[0].IPAddresses, []string{"192.0.2.9"}) && nics[0].InfoSource == plan.FromAgent
	}
	h.instance("web", "has its address", isKnown)
	get := func() string {
		out, err := exec.Command(h.binary, "get", "instances", "-o", "wide", "--agent", "http://"+h.listen).CombinedOutput()
		if err != nil {
			t.Fatalf("get: %v\n%s", err, out)
		}
		return string(out)
	}
	if table := get(); !strings.Contains(table, "ADDRESSES") || !strings.Contains(table, " 192.0.2.9 ") {
		t.Errorf("the table is\n%s", table)
	}
	h.push("Stop it", doc, runDoc("web", "state: Stopped"))
	h.instance("web", "has stopped, and has no address", func(i status.Instance) bool {
		return phase(plan.PhaseStopped)(i) && len(i.Status.Devices.Addresses()) == 0
	})
	if table := get(); strings.Contains(table, "192.0.2.9") {
		t.Errorf("it is off, and the table is\n%s", table)
	}
}
