package test

import (
	"fmt"
	"html"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestGuestGetsItsAddress: a guest that boots asks the network's own DHCP server, gets the address that its document says, and
// reaches the host by it: after an edit of the network, and after its restart, too. The instance says the address, and the host's ARP
// table has the one that the guest has given itself on another network.
func TestGuestGetsItsAddress(t *testing.T) {
	h := newHost(t, withNetworks)
	image := sandboxtest.Guest(t)
	h.allowGuest(image.Kernel)
	userData := strings.Join([]string{
		"#cloud-config",
		`gitvirt-run: printf '#!/bin/sh\n[ "$1" != bound ] || ip addr add $ip/$mask dev $interface\n' >/lease; chmod 755 /lease`,
		"gitvirt-run: ip link set eth0 up; udhcpc -i eth0 -n -q -t 20 -T 1 -s /lease",
		"gitvirt-run: echo LEASE $(ip -4 -o addr show eth0)",
		"gitvirt-run: ip link set eth1 up; ip addr add 198.51.100.5/24 dev eth1",
		"gitvirt-run: while :; do ping -c 1 -W 1 198.51.100.1 >/dev/null; ping -c 1 -W 1 192.0.2.1 >/dev/null && echo ALIVE; sleep 1; done &",
	}, "\n") + "\n"
	guest := fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 128Mi}
        devices: {disks: [{name: init, cdrom: {bus: scsi}}], interfaces: [{name: lan, addresses: [192.0.2.10/24]}, {name: other}]}
      networks: [{name: lan, libvirt: {network: lan}}, {name: other, libvirt: {network: other}}]
      volumes: [{name: init, cloudInitNoCloud: {userData: %q}}]
      domainXML: |
        <domain><os><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
        <devices><serial type='file'><source path='%s' append='on'/><target port='0'/></serial>
        <console type='file'><source path='%s' append='on'/><target type='serial' port='0'/></console></devices></domain>
`, userData, html.EscapeString(image.Kernel), html.EscapeString(image.Initrd), html.EscapeString(image.Cmdline), h.console("web"), h.console("web"))
	push := func(more, dhcp string) {
		other := strings.NewReplacer("192.0.2.1/24", "198.51.100.1/24", "\n    dhcp: {}", "").Replace(networkDoc("other", "", ""))
		h.push("Network", networkDoc("lan", more, dhcp), other, guest, runDoc("web", ""))
	}
	push("", someRange)
	h.converge()
	sandboxtest.Wait(t, patience, func() bool { return strings.Contains(h.read("web"), "LEASE") }, "the guest has a lease")
	if !strings.Contains(h.read("web"), "inet 192.0.2.10/24") {
		t.Fatalf("it has another address:\n%s", h.read("web"))
	}
	reaches := func(when string) {
		t.Helper()
		before := strings.Count(h.read("web"), "ALIVE")
		sandboxtest.Wait(t, patience, func() bool { return strings.Count(h.read("web"), "ALIVE") > before+1 }, "the guest reaches the host "+when)
	}
	reaches("at first")
	push("dns: {hosts: [{ip: 192.0.2.2, names: [ntp]}]}", "ranges: [{start: 192.0.2.50, end: 192.0.2.60}]")
	h.converge()
	reaches("after an edit")
	push("mtu: 1400\n  rollout: Restart", someRange)
	h.converge()
	reaches("after a restart of the network")

	h.agent()
	h.instance("web", "says the address that it was leased", func(i status.Instance) bool {
		nics := i.Status.Devices.Interfaces
		return len(nics) == 2 && slices.Equal(nics[0].IPAddresses, []string{"192.0.2.10"}) && nics[0].InfoSource == plan.FromLease
	})
	// The agent is on another network than the libvirtd of this test, so its own table has nothing of the guest.
	pid, err := h.sandbox.DaemonPID()
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{URI: h.sandbox.URI(), ARPTable: fmt.Sprintf("/proc/%d/net/arp", pid)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	live := h.virsh("dumpxml", "web")
	macs := strings.Fields(plan.MACs(live))
	sandboxtest.Wait(t, patience, func() bool {
		found, err := r.HostAddresses(t.Context(), strings.TrimSpace(h.virsh("domuuid", "web")), macs)
		return err == nil && len(macs) == 2 && slices.Contains(found, plan.Address{MAC: macs[0], IP: netip.MustParseAddr("192.0.2.10"), Source: plan.FromLease}) &&
			slices.Contains(found, plan.Address{MAC: macs[1], IP: netip.MustParseAddr("198.51.100.5"), Source: plan.FromARP})
	}, "both of its addresses are known to the host")
}
