package test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/test/proxy"
)

// quietNetwork is a network without a name server, which starts at once.
func quietNetwork(name, more string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: Network\nmetadata: {name: %s}\nspec: {hosts: [kvm1], bridge: {name: br-%s}%s}\n", name, name, more)
}

// TestNetworksKilledAtEveryStep kills the agent (SIGKILL) before and after each write of a plan that makes a network and a pool,
// changes a network with a machine on it, starts it anew, and removes another. The next passes converge, the machine is on its
// bridge, and then there is nothing more to write.
func TestNetworksKilledAtEveryStep(t *testing.T) {
	h := newHost(t, withNetworks)
	h.allow(fmt.Sprintf("hostPaths: [%q]", h.sandbox.Dir()))
	web := strings.Replace(onNetwork("web", "lan", ""), ", addresses: []", "", 1)
	const let = "\n\nGitvirt-Allow-Removals: 9\n"
	before := []string{quietNetwork("lan", ", portGroups: [{name: a}]"), quietNetwork("gone", ""), web, runDoc("web", "state: Paused")}
	after := []string{quietNetwork("lan", ", mtu: 1400, rollout: Restart, portGroups: [{name: b}]"), quietNetwork("come", ""),
		poolDoc("come", filepath.Join(h.sandbox.Dir(), "come"), ""), web, runDoc("web", "state: Paused")}
	kills := 0
	for at := 1; ; at++ {
		struck := false
		for _, when := range []proxy.Moment{proxy.Before, proxy.After} {
			h.push("Back"+let, before...)
			h.converge()
			h.push("Change"+let, after...)
			fault := h.cut(at, when, true)
			select {
			case <-fault.Fired():
				struck = true
				kills++
			default:
			}
			h.converge()
			names := strings.Fields(h.virsh("net-list", "--name"))
			slices.Sort(names)
			if got := strings.Join(names, " "); got != "come lan" {
				t.Errorf("networks = %s", got)
			}
			if xml := h.virsh("net-dumpxml", "lan"); !strings.Contains(xml, "1400") || !strings.Contains(xml, "name='b'") {
				t.Errorf("lan is\n%s", xml)
			}
			if links, err := h.sandbox.Inside(t.Context(), "bridge", "link"); err != nil || !strings.Contains(links, "master br-lan") {
				t.Errorf("the machine is not on its bridge: %s %v", links, err)
			}
			if t.Failed() {
				t.Fatalf("killed at write %d (%v)", at, fault.Call().Procedure)
			}
			h.proxy.Reset()
			if code := h.once(); code != 0 || len(h.proxy.Writes()) != 0 {
				t.Fatalf("killed at write %d: another pass ended with %d and wrote %v", at, code, proxy.Names(h.proxy.Writes()))
			}
		}
		if !struck {
			break
		}
	}
	if kills < 20 {
		t.Errorf("only %d kills: is the plan what it was?", kills)
	}
	t.Logf("%d kills", kills)
}

// TestManyNetworksCostLittle: a pass in which nothing is to do asks three things of each network, and writes nothing.
func TestManyNetworksCostLittle(t *testing.T) {
	h := newHost(t, withNetworks)
	var all []string
	for n := range 100 {
		all = append(all, quietNetwork(fmt.Sprintf("n%d", n), ", active: false"))
	}
	h.push("Hundred", all...)
	h.converge()
	h.proxy.Reset()
	if code := h.once(); code != 0 || len(h.proxy.Writes()) > 0 {
		t.Errorf("an unchanged pass ended with %d and wrote %v", code, proxy.Names(h.proxy.Writes()))
	}
	if n := len(h.proxy.Calls()); n > 3*100+60 {
		t.Errorf("it made %d calls: %v", n, h.proxy.Counts())
	}
}
