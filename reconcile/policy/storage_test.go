package policy_test

import (
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/policy"
)

// TestStorage: which servers a machine's disks may be on.
func TestStorage(t *testing.T) {
	remote := func(volume string) string {
		return "domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a}]}}\nvolumes: [{name: a, network: {" + volume + "}}]\n"
	}
	const iqn = "protocol: iscsi, name: \"iqn.2026-01.org.example:a\", "
	for _, test := range []struct {
		name, volume string
		storage      []string
		why          string // empty when it may
	}{
		{"none", iqn + "hosts: [{name: san.example.org}]", nil, "not in policy.storage"},
		{"named", iqn + "hosts: [{name: san.example.org}]", []string{"san.example.org"}, ""},
		{"pattern", iqn + "hosts: [{name: san.example.org}]", []string{"*.example.org"}, ""},
		{"with its port", iqn + "hosts: [{name: san.example.org, port: 3260}]", []string{"san.example.org:3260"}, ""},
		{"another port", iqn + "hosts: [{name: san.example.org, port: 22}]", []string{"san.example.org:3260"}, "not in policy.storage"},
		{"no port said", iqn + "hosts: [{name: san.example.org}]", []string{"san.example.org:3260"}, "not in policy.storage"},
		{"all", iqn + "hosts: [{name: 192.0.2.1}]", []string{"*"}, ""},
		{"all, and loopback", iqn + "hosts: [{name: 127.0.0.1}]", []string{"*"}, "has to be named"},
		{"all, and IPv6's loopback", iqn + "hosts: [{name: \"::1\"}]", []string{"*"}, "has to be named"},
		{"all, and the cloud's own", "protocol: http, name: latest, hosts: [{name: 169.254.169.254}]", []string{"*"}, "has to be named"},
		{"loopback named", iqn + "hosts: [{name: localhost}]", []string{"localhost"}, ""},
		{"one of two", "protocol: rbd, name: a/b, hosts: [{name: a}, {name: b}]", []string{"a"}, "not in policy.storage"},
		{"a socket below the host's paths", "protocol: nbd, hosts: [{socket: /allowed/x}]", nil, ""},
		{"a socket elsewhere", "protocol: nbd, hosts: [{socket: /run/libvirt/libvirt-sock}]", []string{"*"}, "policy.hostPaths"},
		{"a link to elsewhere", "protocol: nbd, hosts: [{socket: /allowed/link}]", []string{"*"}, "leads to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := strict()
			p.Storage = test.storage
			found := policy.Check(p, machine(t, remote(test.volume)), files).Refusals
			if (len(found) == 0) != (test.why == "") || len(found) > 0 && (found[0].Rule != "remote-disk" || !strings.Contains(found[0].Message, test.why)) {
				t.Errorf("%v, want %q", found, test.why)
			}
		})
	}
	// What the host's own configuration says, and what a disk of the machine lies on, are no servers of the file's.
	for _, xml := range []string{
		`<disk type='network'><source protocol='rbd' name='a/b'/><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='network'><source protocol='ssh' name='a'><host name='san'/></source><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='network'><source protocol='nbd'><host name='san'/><config file='/etc/ceph/ceph.conf'/></source><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='network'><source protocol='nbd'><host name='san' transport='rdma'/></source><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='volume'><source pool='default' volume='web.a.img'/><backingStore type='network'><source protocol='nbd'><host name='san'/></source></backingStore><target dev='vda' bus='virtio'/></disk>`,
	} {
		p := strict()
		p.Storage = []string{"*"}
		i := machine(t, "domain: {memory: {guest: 1Gi}}\ndomainXML: \""+"<domain><devices>"+xml+"</devices></domain>\"\n")
		found := policy.Check(p, i, files).Refusals
		if !strings.Contains(strings.Join(rulesOf(found), " "), "remote-disk") {
			t.Errorf("%s: %v", xml, found)
		}
	}
}

func rulesOf(found []policy.Refusal) []string {
	var rules []string
	for _, r := range found {
		rules = append(rules, r.Rule)
	}
	return rules
}

// TestImagesOfCDs: they are only read, so that they may be where images are; another machine's disk is none.
func TestImagesOfCDs(t *testing.T) {
	iso := func(words string) string {
		return "domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a, cdrom: {}}]}}\nvolumes: [{name: a, iso: {" + words + "}}]\n"
	}
	for _, test := range []struct {
		iso   string
		pools []string
		rule  string // empty when it may be
	}{
		{"path: /allowed/a.iso", nil, ""},
		{"path: /var/lib/libvirt/images/a.iso", nil, ""},
		{"path: /etc/shadow", nil, "image"},
		{"path: /allowed/link", nil, "image"},
		{"path: /allowed/db.init-0123456789abcdef.iso", nil, "seed"},
		{"path: /allowed/db.init-0123456789abcdef-01234567.iso", nil, "seed"},
		{"path: /var/lib/libvirt/images/db.first-0123456789abcdef.ign", nil, "seed"},
		{"name: db.root.qcow2", []string{"*"}, "pool-volume"},
		{"name: a.iso, pool: isos", []string{"isos", "isos/*"}, ""},
		{"name: a.iso, pool: isos", []string{"isos/*"}, "pool"},
		{"name: db.init-0123456789abcdef.iso", []string{"*", "*/*"}, "seed"},
		{"image: {container: registry.example.org/a}", nil, ""},
		{"image: {container: localhost/a}", nil, "image"},
	} {
		p := strict()
		if test.pools != nil {
			p.Pools = test.pools
		}
		found := policy.Check(p, machine(t, iso(test.iso)), files).Refusals
		if (len(found) == 0) != (test.rule == "") || len(found) > 0 && !strings.Contains(strings.Join(rulesOf(found), " "), test.rule) {
			t.Errorf("%s: %v, want %q", test.iso, found, test.rule)
		}
	}
}

// TestIgnition: a machine has its own configuration, and no other's.
func TestIgnition(t *testing.T) {
	own := machine(t, "domain: {memory: {guest: 1Gi}}\nvolumes: [{name: first, ignition: {config: \"{}\"}}]\n")
	if found := policy.Check(strict(), own, files).Refusals; len(found) > 0 {
		t.Errorf("its own: %v", found)
	}
	p := strict()
	p.HostPaths = []string{"/"}
	other := machine(t, "domain: {memory: {guest: 1Gi}}\ndomainXML: \"<domain><sysinfo type='fwcfg'><entry name='opt/a' file='/var/lib/gitvirt/cache/ignition/db.first-0123456789abcdef.ign'/></sysinfo></domain>\"\n")
	if found := policy.Check(p, other, files).Refusals; !strings.Contains(strings.Join(rulesOf(found), " "), "seed") {
		t.Errorf("another's: %v", found)
	}
}
