package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/runner/sandbox"
)

// withNetworks has the sandbox start networks.
func withNetworks(o *sandbox.Options) { o.Networks = true }

// networkDoc is a network on 192.0.2.0/24.
func networkDoc(name, more, dhcp string) string {
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: Network
metadata: {name: %s}
spec:
  hosts: [kvm1]
  forward: {mode: nat}
  bridge: {name: virbr-%s}
  %s
  addresses:
  - address: 192.0.2.1/24
    dhcp: {%s}
`, name, name, more, dhcp)
}

// onNetwork is a machine without an operating system, and an interface with a fixed address on a network.
func onNetwork(name, network, address string) string {
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 16Mi}
        devices: {interfaces: [{name: lan, addresses: [%s]}]}
      networks: [{name: lan, libvirt: {network: %s}}]
`, name, address, network)
}

const someRange = "ranges: [{start: 192.0.2.100, end: 192.0.2.199}]"

func TestNetworkAndItsMachine(t *testing.T) {
	h := newHost(t, withNetworks)
	web := []string{onNetwork("web", "lan", "192.0.2.10/24"), runDoc("web", "state: Paused")}
	push := func(network string) {
		h.push("Network", append([]string{network}, web...)...)
	}
	push(networkDoc("lan", "", someRange))
	h.converge()
	bridged := func() string {
		out, err := h.sandbox.Inside(t.Context(), "bridge", "link")
		if err != nil {
			t.Fatal(err)
		}
		_, out, _ = strings.Cut(out, "master ")
		return "master " + strings.Split(out, " ")[0]
	}
	live := func() string { return h.virsh("net-dumpxml", "lan") }
	if x := live(); !strings.Contains(x, "name='web' ip='192.0.2.10'") {
		t.Errorf("the machine's address is not in the network:\n%s", x)
	}
	if !strings.Contains(bridged(), "master virbr-lan") {
		t.Errorf("the machine is not on the bridge: %s", bridged())
	}
	up := h.virsh("net-info", "lan")
	if !strings.Contains(up, "Autostart:      yes") {
		t.Error(up)
	}

	// What libvirt can change is changed at once, and the guest stays on its bridge.
	before := bridged()
	h.proxy.Reset()
	push(networkDoc("lan", "dns: {hosts: [{ip: 192.0.2.2, names: [ntp]}], texts: [{name: a, value: b c}]}\n  portGroups: [{name: slow}]",
		"ranges: [{start: 192.0.2.50, end: 192.0.2.60}], hosts: [{macAddress: \"52:54:00:00:00:07\", name: printer, ip: 192.0.2.7}]"))
	h.converge()
	for _, want := range []string{"<hostname>ntp</hostname>", "<txt name='a' value='b c'/>", "<range start='192.0.2.50' end='192.0.2.60'/>", "printer", "portgroup name='slow'"} {
		for _, x := range []string{live(), h.virsh("net-dumpxml", "--inactive", "lan")} {
			if !strings.Contains(x, want) {
				t.Errorf("there is no %s in\n%s", want, x)
			}
		}
	}
	if strings.Contains(live(), "192.0.2.100") {
		t.Errorf("the old range is there: %s", live())
	}
	if after := bridged(); after != before {
		t.Errorf("the bridge was %s, and is %s", before, after)
	}

	// What takes a restart waits; with rollout: Restart it is done, and the machine is connected again.
	mtu := "mtu: 1400\n  "
	push(networkDoc("lan", mtu, someRange))
	h.converge()
	if x := live(); strings.Contains(x, "mtu") || !strings.Contains(h.virsh("net-dumpxml", "--inactive", "lan"), "1400") {
		t.Errorf("it is not staged: %s", x)
	}
	push(networkDoc("lan", mtu+"rollout: Restart", someRange))
	h.converge()
	if x := live(); !strings.Contains(x, "<mtu size='1400'/>") {
		t.Errorf("it was not started anew: %s", x)
	}
	if !strings.Contains(bridged(), "master virbr-lan") {
		t.Errorf("the machine has lost its bridge: %s", bridged())
	}
	if x := h.virsh("net-list", "--all", "--name"); strings.Contains(x, "replug") {
		t.Errorf("left behind: %s", x)
	}

	// Somebody restarts it by hand, and edits it.
	h.virsh("net-destroy", "lan")
	h.virsh("net-start", "lan")
	h.virsh("net-update", "lan", "add", "dns-txt", "<txt name='by' value='hand'/>", "--live", "--config")
	h.converge()
	if !strings.Contains(bridged(), "master virbr-lan") || strings.Contains(live(), "hand") {
		t.Errorf("it was not put back: %s\n%s", bridged(), live())
	}

	// It stays while it is used, and goes then.
	other := filepath.Join(h.sandbox.Dir(), "other.xml")
	if err := os.WriteFile(other, []byte("<domain type='qemu'><name>other</name><memory>16384</memory><os><type>hvm</type></os>"+
		"<devices><interface type='network'><source network='lan'/></interface></devices></domain>"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.virsh("define", other)
	h.push("Nothing")
	for range 3 {
		h.once()
	}
	if code := h.once(); code != 1 || !strings.Contains(h.virsh("net-list", "--name"), "lan") {
		t.Errorf("a network in use was removed, or nothing said of it: %d", code)
	}
	h.virsh("undefine", "other")
	for range 4 {
		h.once()
	}
	if x := strings.TrimSpace(h.virsh("net-list", "--all", "--name")); x != "" {
		t.Errorf("left: %q", x)
	}
}
