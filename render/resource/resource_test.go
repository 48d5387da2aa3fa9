package resource_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestRender renders the documents of testdata. That libvirt keeps what comes of them is tested with a real one.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d goldens: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := rendered(t, string(a.Files[0].Data))
			if got := r.XML.String(); *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(a.Files[1].Data) {
				t.Errorf("got:\n%s\nwant:\n%s", got, a.Files[1].Data)
			}
			if d := resource.Compare(r.Kind, r.XML, r.XML, nil); len(d) > 0 {
				t.Errorf("it differs from itself: %v", d)
			}
		})
	}
}

func rendered(t *testing.T, doc string, leases ...resource.Lease) resource.Resource {
	t.Helper()
	set := manifest.Collect([]manifest.File{manifest.Read("doc.yaml", []byte(doc))}, nil)
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	var r resource.Resource
	var bad *manifest.FieldProblem
	for _, n := range set.Networks {
		r, bad = resource.OfNetwork(n, "lab", leases)
	}
	for _, p := range set.Pools {
		r, bad = resource.OfPool(p, "lab")
	}
	if bad != nil {
		t.Fatal(bad)
	}
	return r
}

const some = `apiVersion: gitvirt.io/v1alpha1
kind: Network
metadata: {name: lan}
spec:
  hosts: [kvm1]
`

func TestBadXML(t *testing.T) {
	for xml, want := range map[string]string{
		"<network": "is no XML", "<pool/>": "the root element is <pool>", "<network><name>x</name></network>": "is said by spec.name",
	} {
		set := manifest.Collect([]manifest.File{manifest.Read("doc.yaml", []byte(some+"  networkXML: "+xml+"\n"))}, nil)
		_, bad := resource.OfNetwork(set.Networks["lan"], "lab", nil)
		if bad == nil || bad.Field != "spec.networkXML" || !strings.Contains(bad.Message, want) {
			t.Errorf("%s: %v, want %q", xml, bad, want)
		}
	}
}

// TestCompare finds what differs, and nothing else.
func TestCompare(t *testing.T) {
	const head = "<network><name>lan</name><uuid>u</uuid>"
	for _, test := range []struct{ name, want, have, paths string }{
		{"libvirt's own additions", "<forward mode='nat'/>", "<forward mode='nat'><nat><port start='1024' end='65535'/></nat></forward>" +
			"<bridge name='virbr0' stp='on' delay='0'/><mac address='52:54:00:00:00:01'/>", ""},
		{"a netmask", "<ip address='192.0.2.1' prefix='24'/>", "<ip address='192.0.2.1' netmask='255.255.255.0'/>", ""},
		{"an address of a class", "<ip address='192.0.2.1' prefix='24'/>", "<ip family='ipv4' address='192.0.2.1'/>", ""},
		{"a device of a forward", "<forward mode='route'><interface dev='eth0'/></forward>", "<forward dev='eth0' mode='route'><interface dev='eth0'/></forward>", ""},
		{"hours", "<ip address='192.0.2.1' prefix='24'><dhcp><range start='192.0.2.2' end='192.0.2.3'><lease expiry='3600' unit='seconds'/></range></dhcp></ip>",
			"<ip address='192.0.2.1' prefix='24'><dhcp><range start='192.0.2.2' end='192.0.2.3'><lease expiry='1' unit='hours'/></range></dhcp></ip>", ""},
		{"an order", "<dns><txt name='a' value='b'/><txt name='c' value='d'/></dns>", "<dns><txt value='d' name='c'/><txt name='a' value='b'/></dns>", ""},
		{"a host that is new", "<ip address='192.0.2.1' prefix='24'><dhcp><host mac='a' ip='192.0.2.2'/></dhcp></ip>", "<ip address='192.0.2.1' prefix='24'/>",
			"ip[192.0.2.1]/dhcp/host[a]"},
		{"a host that leaves", "<ip address='192.0.2.1' prefix='24'/>", "<ip address='192.0.2.1' prefix='24'><dhcp><host mac='a' name='web' ip='192.0.2.2'/></dhcp></ip>", ""},
		{"another address", "<ip address='192.0.2.1' prefix='24'/>", "<ip address='192.0.2.9' prefix='24'/>", "ip[192.0.2.1] ip[192.0.2.9]"},
		{"another prefix", "<ip address='192.0.2.1' prefix='25'/>", "<ip address='192.0.2.1' prefix='24'/>", "ip[192.0.2.1]"},
		{"another mode", "<forward mode='route'/>", "<forward mode='nat'/>", "forward"},
		{"a bridge that is named", "<bridge name='a'/>", "<bridge name='b' stp='on' delay='0'/>", "bridge"},
		{"somebody's own", "", "<mtu size='9000'/><dns><host ip='192.0.2.2'><hostname>x</hostname></host></dns>", "mtu dns/host[192.0.2.2]"},
	} {
		parse := func(s string) *domxml.Element {
			e, err := domxml.Parse(head + s + "</network>")
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		var paths []string
		for _, d := range resource.Compare(resource.Network, parse(test.want), parse(test.have), func(name string) bool { return name == "web" }) {
			paths = append(paths, d.Path)
		}
		if got := strings.Join(paths, " "); got != test.paths {
			t.Errorf("%s: %q, want %q", test.name, got, test.paths)
		}
	}
}

// TestIdentity: what is ours is known by its UUID, which nothing but the fleet, the kind and the name is part of.
func TestIdentity(t *testing.T) {
	a := resource.UUID("lab", resource.Network, "lan")
	for _, b := range []string{resource.UUID("lab", resource.Pool, "lan"), resource.UUID("lab2", resource.Network, "lan"), resource.UUID("lab", resource.Network, "lan2")} {
		if a == b {
			t.Errorf("two of them have the UUID %s", a)
		}
	}
	if r := rendered(t, some); r.UUID != a || r.XML.Child("uuid").Text != a {
		t.Errorf("the UUID is %s, want %s", r.UUID, a)
	}
}

// TestLeases: each MAC address and each name is there once, as libvirt wants it, and the document's own words win.
func TestLeases(t *testing.T) {
	lease := func(mac, name, ip string) resource.Lease {
		return resource.Lease{MAC: mac, Name: name, IP: netip.MustParseAddr(ip)}
	}
	r := rendered(t, some+"  addresses: [{address: 192.0.2.1/24, dhcp: {hosts: [{macAddress: \"52:54:00:00:00:0A\", name: db, ip: 192.0.2.2}]}}, {address: 198.51.100.1/24}]\n",
		lease("52:54:00:00:00:0b", "web", "192.0.2.3"), lease("52:54:00:00:00:0b", "web", "192.0.2.4"), lease("52:54:00:00:00:0c", "web", "192.0.2.5"),
		lease("52:54:00:00:00:0a", "old", "192.0.2.6"), lease("52:54:00:00:00:0d", "db", "192.0.2.7"), lease("52:54:00:00:00:0e", "far", "198.51.100.2"))
	var got []string
	for _, h := range r.XML.Child("ip/dhcp").Children {
		got = append(got, resource.Show(h))
	}
	want := "ip=192.0.2.2 mac=52:54:00:00:00:0a name=db; ip=192.0.2.3 mac=52:54:00:00:00:0b name=web; ip=192.0.2.5 mac=52:54:00:00:00:0c; ip=192.0.2.7 mac=52:54:00:00:00:0d"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}
