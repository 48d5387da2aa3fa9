package policy

import (
	"slices"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

func element(t *testing.T, text string) *domxml.Element {
	t.Helper()
	e, err := domxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAllowing: what a machine uses is allowed, under the narrowest key that there is, and nothing is refused then.
func TestAllowing(t *testing.T) {
	p := Policy{NoUserNetwork: true}
	i := &render.Instance{Name: "web", Domain: element(t, `<domain type='kvm'><os><loader>/usr/share/OVMF/OVMF_CODE.fd</loader></os><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/srv/a.qcow2'/></disk>
<disk type='block' device='disk'><driver name='qemu' type='raw'/><source dev='/dev/sdx'/></disk>
<disk type='volume' device='disk'><driver name='qemu' type='raw'/><source pool='p' volume='v'/></disk>
<interface type='network'><source network='n'/></interface><interface type='bridge'><source bridge='br0'/></interface><interface type='user'/>
<hostdev mode='subsystem' type='pci'><source><address domain='0x0000' bus='0x65' slot='0x00' function='0x1'/></source></hostdev>
<serial type='tcp'/><rng model='virtio'><backend model='random'>/dev/hwrng</backend></rng><emulator>/opt/qemu</emulator></devices></domain>`)}
	next, left := Allowing(p, i, Lexical{})
	if len(left) > 0 || len(Check(next, i, Lexical{}).Refusals) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, tt := range []struct {
		key       string
		got, want []string
	}{
		{"hostPaths", next.HostPaths, []string{"/srv/a.qcow2", "/usr/share/OVMF/OVMF_CODE.fd"}},
		{"networks", next.Networks, []string{"n"}}, {"bridges", next.Bridges, []string{"br0"}}, {"pools", next.Pools, []string{"p", "p/v"}},
		{"hostDevices", next.HostDevices, []string{"/dev/hwrng", "/dev/sdx", "0000:65:00.1"}},
		{"domainXML", next.Elements, []string{"devices/disk/driver@type=qcow2", "devices/emulator", "devices/serial@type=tcp"}},
	} {
		slices.Sort(tt.got)
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.key, tt.got, tt.want)
		}
	}
	if next.NoUserNetwork || len(p.HostPaths) > 0 {
		t.Errorf("the user network is %v, and the policy before has %v", next.NoUserNetwork, p)
	}
	seed := &render.Instance{Name: "web", Domain: element(t, `<domain><devices><disk type='file' device='cdrom'><source file='/srv/db.init-0123456789abcdef.iso'/></disk></devices></domain>`)}
	if _, left := Allowing(Default(), seed, Lexical{}); len(left) != 1 || left[0].Rule != ruleSeed {
		t.Errorf("another machine's seed: %v", left)
	}
}

// TestAllowingSources: images of CDs come under images, volumes under their pools, servers under storage with their ports, and
// the socket of one under hostPaths; what no such key is for, under the words that say it.
func TestAllowingSources(t *testing.T) {
	i := &render.Instance{Name: "web", Domain: element(t, `<domain type='kvm'><devices>
<disk type='file' device='cdrom'><driver name='qemu' type='raw'/><source file='/srv/a.iso'/></disk>
<disk type='volume' device='cdrom'><driver name='qemu' type='raw'/><source pool='isos' volume='b.iso'/></disk>
<disk type='network' device='disk'><source protocol='nbd' name='a'><host name='127.0.0.1' port='10809'/></source></disk>
<disk type='network' device='disk'><source protocol='nbd'><host transport='unix' socket='/run/nbd.sock'/></source></disk>
<disk type='network' device='disk'><auth username='libvirt'><secret type='ceph' usage='ceph'/></auth><source protocol='rbd' name='p/i'><host name='mon1.example.org'/><host name='mon2.example.org' port='6789'/></source></disk>
<disk type='network' device='disk'><source protocol='gluster' name='v/i'><host name='gluster.example.org'/></source></disk></devices></domain>`)}
	i.Volumes = []render.Volume{
		{Name: "a", Kind: render.VolumeFile, Path: "/srv/a.iso", Format: "raw", ReadOnly: true},
		{Name: "b", Kind: render.VolumeThere, Pool: "isos", File: "b.iso", Format: "raw", ReadOnly: true},
	}
	next, left := Allowing(Policy{}, i, Lexical{})
	if len(left) > 0 || len(Check(next, i, Lexical{}).Refusals) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, tt := range []struct {
		key       string
		got, want []string
	}{
		{"images", next.Images, []string{"/srv/a.iso"}}, {"hostPaths", next.HostPaths, []string{"/run/nbd.sock"}},
		{"pools", next.Pools, []string{"isos", "isos/b.iso"}},
		{"storage", next.Storage, []string{"127.0.0.1:10809", "mon1.example.org", "mon2.example.org:6789"}},
		{"domainXML", next.Elements, []string{"devices/disk/auth/secret@usage=ceph", "devices/disk/source/host@name=gluster.example.org", "devices/disk/source@name=v/i", "devices/disk/source@protocol=gluster", "devices/disk@type=network"}},
	} {
		slices.Sort(tt.got)
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.key, tt.got, tt.want)
		}
	}
}

// TestAllowingResource does so for networks and pools.
func TestAllowingResource(t *testing.T) {
	next, why := AllowingResource(Policy{}, resource.Resource{Kind: resource.Network, Name: "lan", XML: element(t,
		`<network><forward mode='bridge'><interface dev='eth0'/></forward><bridge name='br0'/><ip><tftp root='/srv/tftp'/></ip><dnsmasq:options xmlns:dnsmasq='x'/></network>`)}, Lexical{})
	if why != "" || !slices.Equal(next.Networks, []string{"lan"}) || !slices.Contains(next.Bridges, "eth0") || !slices.Equal(next.HostPaths, []string{"/srv/tftp"}) ||
		!slices.Equal(next.Elements, []string{"network/dnsmasq:options"}) {
		t.Errorf("%q: %+v", why, next)
	}
	next, why = AllowingResource(Policy{}, resource.Resource{Kind: resource.Pool, Name: "disks", XML: element(t,
		`<pool type='netfs'><source><host name='nas.example.org'/><dir path='/export'/></source><target><path>/srv/disks</path></target></pool>`)}, Lexical{})
	if why != "" || !slices.Equal(next.Pools, []string{"disks"}) || !slices.Equal(next.HostPaths, []string{"/srv/disks"}) || !slices.Equal(next.Storage, []string{"nas.example.org"}) {
		t.Errorf("%q: %+v", why, next)
	}
}
