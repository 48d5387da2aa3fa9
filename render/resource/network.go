package resource

import (
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Lease is a fixed address that an interface of an instance is to get.
type Lease struct {
	MAC  string
	Name string // the instance
	IP   netip.Addr
}

// OfNetwork renders a network. Leases become DHCP hosts of the subnets that they are in.
func OfNetwork(n *manifest.HostNetwork, fleet string, leases []Lease) (Resource, *manifest.FieldProblem) {
	s := &n.Spec
	r := made(Network, &n.Header, &s.Ownership, fleet, n.LibvirtName())
	root := domxml.New("network")
	if s.IPv6 {
		root.SetAttr("ipv6", "yes")
	}
	if s.TrustGuestRxFilters {
		root.SetAttr("trustGuestRxFilters", "yes")
	}
	forward(root, n)
	bridge(root, n)
	if s.MTU != nil {
		root.Append(domxml.New("mtu", "size", strconv.Itoa(*s.MTU)))
	}
	switch {
	case s.MACAddress != "":
		root.Append(domxml.New("mac", "address", mac(s.MACAddress)))
	case n.OwnBridge() && !s.Adopt:
		root.Append(domxml.New("mac", "address", bridgeMAC(fleet, r.Name)))
	}
	if s.Domain != nil {
		d := root.Append(domxml.New("domain", "name", s.Domain.Name))
		if s.Domain.LocalOnly {
			d.SetAttr("localOnly", "yes")
		}
	}
	dns(root, s.DNS)
	bandwidth(root, s.Bandwidth)
	vlan(root, s.VLAN)
	if s.IsolatePorts {
		root.Append(domxml.New("port", "isolated", "yes"))
	}
	for _, a := range s.Addresses {
		address(root, a, leases)
	}
	for _, route := range s.Routes {
		to := netip.MustParsePrefix(route.Address) // it was checked when it was read
		e := root.Append(domxml.New("route"))
		family(e, to.Addr())
		e.SetAttr("address", to.Addr().String())
		e.SetAttr("prefix", strconv.Itoa(to.Bits()))
		e.SetAttr("gateway", route.Gateway)
		if route.Metric > 0 {
			e.SetAttr("metric", strconv.FormatUint(uint64(route.Metric), 10))
		}
	}
	virtualPort(root, s.VirtualPort)
	for _, g := range s.PortGroups {
		e := root.Append(domxml.New("portgroup", "name", g.Name))
		if g.Default {
			e.SetAttr("default", "yes")
		}
		if g.TrustGuestRxFilters {
			e.SetAttr("trustGuestRxFilters", "yes")
		}
		vlan(e, g.VLAN)
		virtualPort(e, g.VirtualPort)
		bandwidth(e, g.Bandwidth)
	}
	if bad := r.finish(root, s.NetworkXML, "spec.networkXML"); bad != nil {
		return r, bad
	}
	return r, nil
}

func forward(root *domxml.Element, n *manifest.HostNetwork) {
	mode := n.ForwardMode()
	if mode == manifest.ForwardIsolated {
		return
	}
	e := root.Append(domxml.New("forward", "mode", mode))
	f := n.Spec.Forward
	if nat := f.NAT; nat != nil {
		in := e.Append(domxml.New("nat"))
		if nat.IPv6 {
			in.SetAttr("ipv6", "yes")
		}
		if nat.Addresses != nil {
			in.Append(domxml.New("address", "start", nat.Addresses.Start, "end", nat.Addresses.End))
		}
		if nat.Ports != nil {
			in.Append(domxml.New("port", "start", strconv.Itoa(int(nat.Ports.Start)), "end", strconv.Itoa(int(nat.Ports.End))))
		}
	}
	for _, d := range f.Devices {
		e.Append(domxml.New("interface", "dev", d))
	}
}

func bridge(root *domxml.Element, n *manifest.HostNetwork) {
	b := n.Spec.Bridge
	if b == nil {
		return
	}
	e := root.Append(domxml.New("bridge"))
	if b.Name != "" {
		e.SetAttr("name", b.Name)
	}
	if b.Zone != "" {
		e.SetAttr("zone", b.Zone)
	}
	if n.OwnBridge() {
		e.SetAttr("stp", map[bool]string{true: "on", false: "off"}[b.STP == nil || *b.STP])
		e.SetAttr("delay", strconv.Itoa(b.DelaySeconds))
	}
	if b.MACTableManager != "" {
		e.SetAttr("macTableManager", b.MACTableManager)
	}
	if len(e.Attrs) == 0 {
		root.Remove(e)
	}
}

func family(e *domxml.Element, a netip.Addr) {
	if a.Is6() {
		e.SetAttr("family", "ipv6")
	}
}

// address is <ip>, with the DHCP hosts that leases of its subnet ask for.
func address(root *domxml.Element, a manifest.NetworkAddress, leases []Lease) {
	subnet := netip.MustParsePrefix(a.Address) // it was checked when it was read
	e := root.Append(domxml.New("ip"))
	family(e, subnet.Addr())
	e.SetAttr("address", subnet.Addr().String())
	e.SetAttr("prefix", strconv.Itoa(subnet.Bits()))
	if a.LocalPTR {
		e.SetAttr("localPtr", "yes")
	}
	if a.TFTPRoot != "" {
		e.Append(domxml.New("tftp", "root", a.TFTPRoot))
	}
	d := a.DHCP
	if d == nil {
		return // without a DHCP server there is nobody to give a fixed address
	}
	dhcp := e.Append(domxml.New("dhcp"))
	for _, r := range d.Ranges {
		lease(dhcp.Append(domxml.New("range", "start", r.Start, "end", r.End)), r.LeaseTime)
	}
	for _, h := range d.Hosts {
		host := dhcp.Append(domxml.New("host"))
		for _, attr := range []domxml.Attr{{Name: "id", Value: strings.ToLower(h.ID)}, {Name: "mac", Value: mac(h.MACAddress)}, {Name: "name", Value: h.Name}, {Name: "ip", Value: h.IP}} {
			if attr.Value != "" {
				host.SetAttr(attr.Name, attr.Value)
			}
		}
		lease(host, h.LeaseTime)
	}
	ours(dhcp, d, subnet, leases)
	if b := d.BootP; b != nil {
		boot := dhcp.Append(domxml.New("bootp", "file", b.File))
		if b.Server != "" {
			boot.SetAttr("server", b.Server)
		}
	}
	if len(dhcp.Children) == 0 {
		e.Remove(dhcp) // libvirt keeps no empty one
	}
}

// ours adds the DHCP hosts that leases of a subnet ask for. Libvirt takes each MAC address and each name once: a second address of an
// interface is left to its seed, and a second interface has no name.
func ours(dhcp *domxml.Element, d *manifest.NetworkDHCP, subnet netip.Prefix, leases []Lease) {
	macs, names := map[string]bool{}, map[string]bool{}
	for _, h := range d.Hosts {
		macs[mac(h.MACAddress)], names[h.Name] = true, true
	}
	for _, l := range leases {
		if !subnet.Contains(l.IP) || !l.IP.Is4() || macs[mac(l.MAC)] {
			continue
		}
		host := dhcp.Append(domxml.New("host", "mac", mac(l.MAC)))
		if !names[l.Name] {
			host.SetAttr("name", l.Name)
		}
		host.SetAttr("ip", l.IP.String())
		macs[mac(l.MAC)], names[l.Name] = true, true
	}
}

func lease(e *domxml.Element, d *metav1.Duration) {
	if d != nil {
		e.Append(domxml.New("lease", "expiry", strconv.FormatInt(int64(d.Seconds()), 10), "unit", "seconds"))
	}
}

// mac is a MAC address as libvirt writes it.
func mac(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", ":")) }

func vlan(root *domxml.Element, v *manifest.VLANTags) {
	if v == nil {
		return
	}
	e := root.Append(domxml.New("vlan"))
	if v.Trunk || len(v.Tags) > 1 {
		e.SetAttr("trunk", "yes")
	}
	for _, t := range v.Tags {
		tag := e.Append(domxml.New("tag", "id", strconv.Itoa(int(t.ID))))
		if t.NativeMode != "" {
			tag.SetAttr("nativeMode", t.NativeMode)
		}
	}
}

// portParameters is the order in which libvirt writes them.
func portParameters() []string {
	return []string{"managerid", "typeid", "typeidversion", "instanceid", "interfaceid", "profileid"}
}

func virtualPort(root *domxml.Element, p *manifest.VirtualPort) {
	if p == nil {
		return
	}
	e := root.Append(domxml.New("virtualport", "type", p.Type))
	if len(p.Parameters) == 0 {
		return
	}
	parameters := e.Append(domxml.New("parameters"))
	for _, name := range portParameters() {
		if v := p.Parameters[name]; v != "" {
			parameters.SetAttr(name, v)
		}
	}
}

func bandwidth(root *domxml.Element, b *manifest.Bandwidth) {
	if b == nil || b.Inbound == nil && b.Outbound == nil {
		return
	}
	e := root.Append(domxml.New("bandwidth"))
	rate := func(name string, r *manifest.Rate) {
		if r == nil {
			return
		}
		in := e.Append(domxml.New(name))
		for _, a := range []struct {
			name  string
			value uint32
		}{{"average", r.AverageKBps}, {"peak", r.PeakKBps}, {"floor", r.FloorKBps}, {"burst", r.BurstKB}} {
			if a.value > 0 {
				in.SetAttr(a.name, strconv.FormatUint(uint64(a.value), 10))
			}
		}
	}
	rate("inbound", b.Inbound)
	rate("outbound", b.Outbound)
}

func dns(root *domxml.Element, d *manifest.NetworkDNS) {
	if d == nil {
		return
	}
	e := root.Append(domxml.New("dns"))
	if d.Enabled != nil {
		e.SetAttr("enable", yes(*d.Enabled))
	}
	if d.ForwardPlainNames != nil {
		e.SetAttr("forwardPlainNames", yes(*d.ForwardPlainNames))
	}
	for _, f := range d.Forwarders {
		in := e.Append(domxml.New("forwarder"))
		if f.Domain != "" {
			in.SetAttr("domain", f.Domain)
		}
		if f.Address != "" {
			in.SetAttr("addr", f.Address)
		}
	}
	for _, t := range d.Texts {
		e.Append(domxml.New("txt", "name", t.Name, "value", t.Value))
	}
	for _, h := range d.Hosts {
		in := e.Append(domxml.New("host", "ip", h.IP))
		for _, name := range h.Names {
			in.Append(text("hostname", name))
		}
	}
	for _, s := range d.Services {
		in := e.Append(domxml.New("srv", "service", s.Service, "protocol", s.Protocol))
		if s.Domain != "" {
			in.SetAttr("domain", s.Domain)
		}
		if s.Target == "" {
			continue
		}
		in.SetAttr("target", s.Target)
		for _, n := range []struct {
			name  string
			value uint16
		}{{"port", s.Port}, {"priority", s.Priority}, {"weight", s.Weight}} {
			if n.value > 0 {
				in.SetAttr(n.name, strconv.Itoa(int(n.value)))
			}
		}
	}
	if len(e.Attrs)+len(e.Children) == 0 {
		root.Remove(e)
	}
}
