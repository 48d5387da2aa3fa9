package policy_test

import (
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

func TestResources(t *testing.T) {
	some := policy.Default()
	some.Networks, some.Bridges, some.Pools = []string{"lan*"}, []string{"br0", "eth0"}, []string{"vms*"}
	some.HostPaths, some.HostDevices, some.Storage = []string{"/srv/vms"}, []string{"/dev/sdb"}, []string{"nas.example.org", "127.0.0.1:3260", "*.san.example.org"}
	any := some
	any.Elements, any.HostDevices, any.Storage = []string{"*"}, []string{"*"}, []string{"*"}
	network, pool := "kind: Network\nmetadata: {name: lan}\n", "kind: StoragePool\nmetadata: {name: vms}\n"
	for _, test := range []struct {
		name, doc string
		policy    policy.Policy
		want      string // empty: it is allowed
	}{
		{"a network", network + "spec: {hosts: [a], forward: {}}", some, ""},
		{"another name", network + "spec: {hosts: [a], name: wan}", some, "policy.networks"},
		{"a bridge", network + "spec: {hosts: [a], forward: {mode: bridge}, bridge: {name: br0}}", some, ""},
		{"another bridge", network + "spec: {hosts: [a], forward: {mode: bridge}, bridge: {name: br1}}", some, "policy.bridges"},
		{"macvtap", network + "spec: {hosts: [a], forward: {mode: vepa, devices: [eth0]}}", some, ""},
		{"macvtap on another device", network + "spec: {hosts: [a], forward: {mode: vepa, devices: [eth0, eth1]}}", some, "policy.bridges"},
		{"a device in libvirt's words", network + "spec: {hosts: [a], forward: {}, networkXML: <network><forward dev='eth9'/></network>}", some, "policy.bridges"},
		{"a bridge in libvirt's words", network + "spec: {hosts: [a], networkXML: <network><forward mode='bridge'/><bridge name='br9'/></network>}", some, "policy.bridges"},
		{"functions of a device", network + "spec: {hosts: [a], networkXML: <network><forward mode='hostdev'><pf dev='eth0'/></forward></network>}", some, "policy.hostDevices"},
		{"dnsmasq's own options", network + "spec: {hosts: [a], networkXML: '<network xmlns:dnsmasq=\"x\"><dnsmasq:options><dnsmasq:option value=\"dhcp-script=/x\"/></dnsmasq:options></network>'}",
			some, "policy.domainXML.allow of the agent's file, as network/dnsmasq:options"},
		{"dnsmasq's own options, allowed", network + "spec: {hosts: [a], networkXML: '<network xmlns:dnsmasq=\"x\"><dnsmasq:options/></network>'}", any, ""},
		{"TFTP of the host's files", network + "spec: {hosts: [a], addresses: [{address: 192.0.2.1/24, tftpRoot: /etc}]}", some, "policy.hostPaths"},
		{"a folder", pool + "spec: {hosts: [a], path: /srv/vms/a}", some, ""},
		{"another folder", pool + "spec: {hosts: [a], path: /etc}", some, "policy.hostPaths"},
		{"a folder in libvirt's words", pool + "spec: {hosts: [a], path: /srv/vms/a, poolXML: <pool><target><path>/etc</path></target></pool>}", some, "policy.hostPaths"},
		{"a folder of devices", pool + "spec: {hosts: [a], path: /dev/shm}", some, "policy.hostPaths"},
		{"another pool", pool + "spec: {hosts: [a], name: x, path: /srv/vms/a}", some, "policy.pools"},
		{"a disk", pool + "spec: {hosts: [a], type: disk, source: {devices: [/dev/sdb]}}", some, ""},
		{"another disk", pool + "spec: {hosts: [a], type: fs, path: /srv/vms/a, source: {devices: [/dev/sda1]}}", some, "policy.hostDevices"},
		{"a volume group by its name", pool + "spec: {hosts: [a], type: logical, source: {name: vg0}}", some, "policy.hostDevices"},
		{"an adapter", pool + "spec: {hosts: [a], type: scsi, poolXML: <pool><source><adapter type='scsi_host' name='h'/></source></pool>}", some, "policy.hostDevices"},
		{"a server", pool + "spec: {hosts: [a], type: netfs, path: /srv/vms/n, source: {dir: /x, hosts: [{name: nas.example.org}]}}", some, ""},
		{"another server", pool + "spec: {hosts: [a], type: netfs, path: /srv/vms/n, source: {dir: /x, hosts: [{name: nas2.example.org}]}}", some, "policy.storage"},
		{"a server by pattern", pool + "spec: {hosts: [a], type: rbd, source: {name: x, hosts: [{name: a.san.example.org}]}}", some, ""},
		{"a secret of its own", pool + "spec: {hosts: [a], type: rbd, source: {name: x, hosts: [{name: a.san.example.org}], auth: {username: u, secretRef: {hostFile: f}}}}", some, ""},
		{"another's secret", pool + "spec: {hosts: [a], type: rbd, source: {name: x, hosts: [{name: a.san.example.org}], auth: {username: u, usage: b}}}", some, "pool/source/auth/secret"},
		{"another's secret, in libvirt's words", pool + "spec: {hosts: [a], type: rbd, source: {name: x, hosts: [{name: a.san.example.org}], auth: {username: u, secretRef: {hostFile: f}}}, " +
			"poolXML: <pool><source><auth><secret usage='b'/></auth></source></pool>}", some, "pool/source/auth/secret"},
		{"another's secret, allowed", pool + "spec: {hosts: [a], type: rbd, source: {name: x, hosts: [{name: a.san.example.org}], auth: {username: u, usage: b}}}", any, ""},
		{"the host itself, named", pool + "spec: {hosts: [a], type: iscsi, source: {devices: [iqn.x], hosts: [{name: 127.0.0.1, port: 3260}]}}", some, ""},
		{"the host itself", pool + "spec: {hosts: [a], type: iscsi, source: {devices: [iqn.x], hosts: [{name: 127.0.0.1, port: 3261}]}}", any, "policy.storage"},
		{"the host itself, in another spelling", pool + "spec: {hosts: [a], type: iscsi, source: {devices: [iqn.x], hosts: [{name: LOCALHOST, port: 3261}]}}", any, "policy.storage"},
		{"the host itself, in short", pool + "spec: {hosts: [a], type: iscsi, source: {devices: [iqn.x], hosts: [{name: '127.1', port: 3261}]}}", any, "policy.storage"},
		{"the host's link, by a name", pool + "spec: {hosts: [a], type: iscsi, source: {devices: [iqn.x], hosts: [{name: metadata.internal, port: 3261}]}}", any, "policy.storage"},
	} {
		set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte("apiVersion: gitvirt.io/v1alpha1\n"+test.doc+"\n"))}, nil)
		if len(set.Problems) > 0 {
			t.Fatalf("%s: %v", test.name, set.Problems)
		}
		var r resource.Resource
		var bad *manifest.FieldProblem
		for _, n := range set.Networks {
			r, bad = resource.OfNetwork(n, "lab", nil)
		}
		for _, p := range set.Pools {
			r, bad = resource.OfPool(p, "lab")
		}
		if bad != nil {
			t.Fatalf("%s: %v", test.name, bad)
		}
		got := policy.CheckResource(test.policy, r, policy.Lexical{})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
