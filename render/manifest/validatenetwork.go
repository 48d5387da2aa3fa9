package manifest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The forward modes of a Network.
const (
	ForwardNAT         = "nat"
	ForwardRoute       = "route"
	ForwardOpen        = "open"
	ForwardIsolated    = "isolated"
	ForwardBridge      = "bridge"
	ForwardPrivate     = "private"
	ForwardVEPA        = "vepa"
	ForwardPassthrough = "passthrough"
)

// ForwardMode is how the network is connected to others.
func (n *HostNetwork) ForwardMode() string {
	switch f := n.Spec.Forward; {
	case f == nil:
		return ForwardIsolated
	case f.Mode == "":
		return ForwardNAT
	default:
		return f.Mode
	}
}

// OwnBridge says whether libvirt makes a bridge for the network.
func (n *HostNetwork) OwnBridge() bool {
	switch n.ForwardMode() {
	case ForwardNAT, ForwardRoute, ForwardOpen, ForwardIsolated:
		return true
	}
	return false
}

func (n *HostNetwork) check(c *checker) {
	c.meta("metadata", n.Metadata, true)
	c.scope(&n.Spec.HostScope)
	c.ownership(&n.Spec.Ownership)
	c.forward(n)
	if b := n.Spec.Bridge; b != nil && b.Name != "" {
		c.device("spec.bridge.name", b.Name, "a bridge")
	}
	if m := n.Spec.MACAddress; m != "" {
		c.unicast("spec.macAddress", m)
	}
	if m := n.Spec.MTU; m != nil && (*m < 68 || *m > 65535) {
		c.add("spec.mtu", "is not a size of packets: say 68 to 65535 bytes")
	}
	if d := n.Spec.Domain; d != nil {
		c.domainName("spec.domain.name", d.Name)
	}
	c.vlan("spec.vlan", n.Spec.VLAN)
	c.virtualPort("spec.virtualPort", n.Spec.VirtualPort)
	c.bandwidth("spec.bandwidth", n.Spec.Bandwidth)
	groups, defaults := seen{}, 0
	for i, g := range n.Spec.PortGroups {
		at := fmt.Sprintf("spec.portGroups[%d]", i)
		c.plain(at+".name", g.Name)
		groups.again(c, "spec.portGroups", "name", g.Name, "port group", i)
		if g.Default {
			if defaults++; defaults > 1 {
				c.add(at+".default", "is said of another one too; one of them is the default")
			}
		}
		c.vlan(at+".vlan", g.VLAN)
		c.virtualPort(at+".virtualPort", g.VirtualPort)
		c.bandwidth(at+".bandwidth", g.Bandwidth)
	}
	c.networkAddresses(n)
	c.networkDNS(n.Spec.DNS)
}

// forward checks what a mode goes with.
func (c *checker) forward(n *HostNetwork) {
	f, mode := n.Spec.Forward, n.ForwardMode()
	var devices []string
	if f != nil {
		devices = f.Devices
		for i, d := range devices {
			c.device(fmt.Sprintf("spec.forward.devices[%d]", i), d, "a network device of the host")
		}
		if f.NAT != nil && mode != ForwardNAT {
			c.add("spec.forward.nat", "needs mode: nat; take it out")
		}
		c.nat(f.NAT)
	}
	bridge := n.Spec.Bridge != nil && n.Spec.Bridge.Name != ""
	switch mode {
	case ForwardIsolated:
		if len(devices) > 0 {
			c.add("spec.forward.devices", "cannot be said of a network that is connected to nothing; take them out, or say another mode")
		}
	case ForwardNAT, ForwardRoute, ForwardOpen:
		if len(devices) > 1 {
			c.add("spec.forward.devices", fmt.Sprintf("are %d, and mode: %s takes one at most", len(devices), mode))
		}
	case ForwardBridge:
		switch {
		case bridge && len(devices) > 0:
			c.add("spec.forward.devices", "cannot be said together with bridge.name: the guests are on that bridge, or on macvtap devices; take one out")
		case !bridge && len(devices) == 0:
			c.add("spec.forward", "says no bridge of the host; say bridge.name, or devices for macvtap")
		}
	default:
		if bridge {
			c.add("spec.bridge.name", "cannot be said of mode: "+mode+", which is macvtap; say forward.devices")
		}
		if len(devices) == 0 {
			c.add("spec.forward.devices", "is missing; macvtap needs a device of the host")
		}
	}
	if n.OwnBridge() {
		return
	}
	for _, no := range []struct {
		field string
		said  bool
	}{
		{"spec.addresses", len(n.Spec.Addresses) > 0}, {"spec.dns", n.Spec.DNS != nil}, {"spec.domain", n.Spec.Domain != nil},
		{"spec.routes", len(n.Spec.Routes) > 0}, {"spec.macAddress", n.Spec.MACAddress != ""}, {"spec.ipv6", n.Spec.IPv6},
	} {
		if no.said {
			c.add(no.field, "cannot be said of mode: "+mode+": the network is the host's, and libvirt serves nothing on it; take it out")
		}
	}
	const bounds = "cannot be said of macvtap, whose traffic libvirt does not bound; take it out"
	if !bridge && n.Spec.Bandwidth != nil {
		c.add("spec.bandwidth", bounds)
	}
	for i, g := range n.Spec.PortGroups {
		if !bridge && g.Bandwidth != nil {
			c.add(fmt.Sprintf("spec.portGroups[%d].bandwidth", i), bounds)
		}
	}
	if b := n.Spec.Bridge; b != nil && (b.STP != nil || b.DelaySeconds != 0 || b.Zone != "") {
		c.add("spec.bridge", "is the host's with mode: "+mode+"; say its name only")
	}
}

func (c *checker) nat(n *NetworkNAT) {
	if n == nil {
		return
	}
	if r := n.Addresses; r != nil {
		c.addressRange("spec.forward.nat.addresses", *r, netip.Prefix{})
	}
	if p := n.Ports; p != nil && (p.Start == 0 || p.End < p.Start) {
		c.add("spec.forward.nat.ports", "is not a range: say a start from 1, and an end that is no less")
	}
}

// addressRange checks a range, of a subnet where one is known.
func (c *checker) addressRange(at string, r AddressRange, subnet netip.Prefix) (start, end netip.Addr, ok bool) {
	start, ok = c.address(at+".start", r.Start, subnet)
	end, ok2 := c.address(at+".end", r.End, subnet)
	if !ok || !ok2 {
		return start, end, false
	}
	if start.Is4() != end.Is4() || end.Less(start) {
		c.add(at+".end", quoted(r.End)+" is before the start, "+r.Start)
		return start, end, false
	}
	return start, end, true
}

// address checks an address, of a subnet where one is known.
func (c *checker) address(field, text string, subnet netip.Prefix) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	switch {
	case text == "":
		c.add(field, "is missing; say an address")
	case err != nil || a.Zone() != "" || a.Is4In6():
		c.add(field, quoted(text)+" is not an address, such as 192.0.2.10 or 2001:db8::10")
	case subnet.IsValid() && !subnet.Contains(a):
		c.add(field, quoted(text)+" is not in the subnet "+subnet.Masked().String())
	default:
		return a, true
	}
	return a, false
}

// plain checks a word that has no spaces and nothing that XML or a name server would take amiss.
func (c *checker) plain(field, word string) {
	if word == "" {
		c.add(field, "is missing; say a name")
	} else if strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == ',' || r == '"' || r == 0x7f }) {
		c.add(field, quoted(word)+" cannot be a name: no spaces, no commas, no quotation marks")
	}
}

func (c *checker) domainName(field, name string) {
	if name == "" {
		c.add(field, "is missing; say a domain, such as vm.example.org")
	} else if len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(name, ".")))) > 0 {
		c.add(field, quoted(name)+" is not a domain: use letters, digits, \"-\" and \".\"")
	}
}

func (c *checker) unicast(field, mac string) {
	if !macForm.MatchString(mac) {
		c.add(field, quoted(mac)+" is not a MAC address, such as 52:54:00:12:34:56")
	} else if n, _ := strconv.ParseUint(mac[:2], 16, 8); n&1 == 1 {
		c.add(field, quoted(mac)+" is a multicast address; say one whose first byte is even")
	}
}

func (c *checker) vlan(at string, v *VLANTags) {
	if v == nil {
		return
	}
	if len(v.Tags) == 0 {
		c.add(at+".tags", "are missing; say one at least")
	}
	first := map[uint16]int{}
	for i, t := range v.Tags {
		field := fmt.Sprintf("%s.tags[%d].id", at, i)
		if t.ID < 1 || t.ID > 4094 {
			c.add(field, "is not a VLAN's tag: say 1 to 4094")
		}
		if j, ok := first[t.ID]; ok {
			c.add(field, fmt.Sprintf("duplicate tag %d; tags[%d] is it too", t.ID, j))
		}
		first[t.ID] = i
	}
}

// portParameters are those of libvirt's types of virtual ports (formatnetwork, virtual ports).
var portParameters = map[string][]string{
	"openvswitch": {"interfaceid", "profileid"},
	"midonet":     {"interfaceid"},
	"802.1Qbg":    {"managerid", "typeid", "typeidversion", "instanceid"},
	"802.1Qbh":    {"profileid"},
}

func (c *checker) virtualPort(at string, p *VirtualPort) {
	if p == nil {
		return
	}
	if p.Type == "" {
		c.add(at+".type", "is missing; say openvswitch, midonet, 802.1Qbg or 802.1Qbh")
		return
	}
	for name, value := range p.Parameters {
		field := joinField(at, fieldPath{{key: "parameters"}, {key: name}}.String())
		if !slices.Contains(portParameters[p.Type], name) {
			c.add(field, quoted(name)+" is none of "+p.Type+"'s parameters: "+strings.Join(portParameters[p.Type], ", "))
		} else if value == "" {
			c.add(field, "is empty; take it out")
		}
	}
}

func (c *checker) bandwidth(at string, b *Bandwidth) {
	if b == nil {
		return
	}
	for _, r := range []struct {
		field string
		rate  *Rate
	}{{at + ".inbound", b.Inbound}, {at + ".outbound", b.Outbound}} {
		switch {
		case r.rate == nil:
		case r.rate.AverageKBps == 0 && r.rate.FloorKBps == 0:
			c.add(r.field+".averageKBps", "is missing; say how many KiB a second")
		case r.rate.FloorKBps != 0 && r.rate == b.Outbound:
			c.add(r.field+".floorKBps", "can be said of inbound only; take it out")
		}
	}
}
