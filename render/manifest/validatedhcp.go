package manifest

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseTime checks libvirt's bounds of a lease (formatnetwork, lease).
func (c *checker) leaseTime(field string, d *metav1.Duration) {
	if d != nil && d.Duration != 0 && (d.Seconds() < 120 || d.Seconds() > 1<<32-1 || d.Duration%1e9 != 0) {
		c.add(field, "must be whole seconds, 2m at least, or 0s for ever")
	}
}

// idForm is a DHCPv6 client's identifier (RFC 8415, section 11): of the types 1 to 4, as libvirt's schema has them.
var idForm = regexp.MustCompile(`^0{1,2}:0?(1:0{1,2}:0?[1-9a-fA-F](:[0-9a-fA-F]{1,2}){10,12}|2(:[0-9a-fA-F]{1,2}){5,128}|` +
	`3:0{1,2}:0?[1-9a-fA-F](:[0-9a-fA-F]{1,2}){6,8}|4(:[0-9a-fA-F]{1,2}){16})$`)

// span is a range of addresses that is taken.
type span struct {
	start, end netip.Addr
	field      string
}

func (c *checker) networkAddresses(n *HostNetwork) {
	var subnets []netip.Prefix
	served := map[bool]string{} // by whether it is IPv4: the field that has a DHCP server
	for i, a := range n.Spec.Addresses {
		at := fmt.Sprintf("spec.addresses[%d]", i)
		subnet, err := netip.ParsePrefix(a.Address)
		if err != nil || subnet.Addr().Is4In6() {
			c.add(at+".address", quoted(a.Address)+" is not an address with the length of its prefix, such as 192.0.2.1/24")
			continue
		}
		if subnet.Addr() == subnet.Masked().Addr() && subnet.Bits() < subnet.Addr().BitLen()-1 {
			c.add(at+".address", quoted(a.Address)+" is the subnet itself; say the host's address in it, such as "+subnet.Addr().Next().String()+"/"+strconv.Itoa(subnet.Bits()))
		}
		for j, o := range subnets {
			if o.Overlaps(subnet) {
				c.add(at+".address", fmt.Sprintf("%s overlaps with addresses[%d], %s", quoted(a.Address), j, o))
			}
		}
		subnets = append(subnets, subnet)
		if a.TFTPRoot != "" {
			c.hostPath(at+".tftpRoot", a.TFTPRoot)
		}
		if a.DHCP == nil {
			continue
		}
		if other, ok := served[subnet.Addr().Is4()]; ok {
			c.add(at+".dhcp", "cannot be said: "+other+" has one, and libvirt serves one subnet of a family by DHCP")
		}
		served[subnet.Addr().Is4()] = at + ".dhcp"
		c.dhcp(at+".dhcp", a.DHCP, subnet)
	}
	for i, r := range n.Spec.Routes {
		at := fmt.Sprintf("spec.routes[%d]", i)
		to, err := netip.ParsePrefix(r.Address)
		if err != nil {
			c.add(at+".address", quoted(r.Address)+" is not an address with the length of its prefix, such as 198.51.100.0/24")
		} else if to.Masked() != to {
			c.add(at+".address", quoted(r.Address)+" is an address in a network; say the network, "+to.Masked().String())
		}
		if gateway, ok := c.address(at+".gateway", r.Gateway, netip.Prefix{}); ok {
			if !slices.ContainsFunc(subnets, func(s netip.Prefix) bool { return s.Contains(gateway) }) {
				c.add(at+".gateway", quoted(r.Gateway)+" is in none of the network's subnets")
			} else if err == nil && gateway.Is4() != to.Addr().Is4() {
				c.add(at+".gateway", quoted(r.Gateway)+" is not of the family of "+r.Address)
			}
		}
	}
}

// LastOf is the last address of a subnet.
func LastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func (c *checker) dhcp(at string, d *NetworkDHCP, subnet netip.Prefix) {
	var taken []span
	for i, r := range d.Ranges {
		field := fmt.Sprintf("%s.ranges[%d]", at, i)
		c.leaseTime(field+".leaseTime", r.LeaseTime)
		start, end, ok := c.addressRange(field, r.AddressRange, subnet)
		if !ok {
			continue
		}
		if first, last := subnet.Masked().Addr(), LastOf(subnet); start.Is4() && subnet.Bits() < 31 && (start == first || end == last) {
			c.add(field, "has the subnet's first or last address, which no host can have")
		}
		for _, o := range taken {
			if !end.Less(o.start) && !o.end.Less(start) {
				c.add(field, "overlaps with "+o.field)
			}
		}
		taken = append(taken, span{start, end, field})
	}
	macs, ids, names, ips := seen{}, seen{}, seen{}, seen{}
	list := at + ".hosts"
	for i, h := range d.Hosts {
		field := fmt.Sprintf("%s[%d]", list, i)
		c.leaseTime(field+".leaseTime", h.LeaseTime)
		if h.IP != "" {
			if ip, ok := c.address(field+".ip", h.IP, subnet); ok {
				ips.again(c, list, "ip", ip.String(), "address", i)
				if ip == subnet.Addr() {
					c.add(field+".ip", quoted(h.IP)+" is the host's own")
				}
			}
		}
		if h.Name != "" {
			c.plain(field+".name", h.Name)
			names.again(c, list, "name", h.Name, "name", i)
		}
		if subnet.Addr().Is4() {
			c.host4(field, h)
		} else {
			c.host6(field, h)
		}
		macs.again(c, list, "macAddress", strings.ToLower(h.MACAddress), "MAC address", i)
		ids.again(c, list, "id", strings.ToLower(h.ID), "identifier", i)
	}
	if b := d.BootP; b != nil {
		if b.File == "" {
			c.add(at+".bootp.file", "is missing; say the boot loader's file")
		}
		if b.Server != "" {
			c.plain(at+".bootp.server", b.Server)
		}
		if !subnet.Addr().Is4() {
			c.add(at+".bootp", "is of IPv4 only; take it out")
		}
	}
}

func (c *checker) host4(at string, h DHCPHost) {
	if h.MACAddress != "" {
		c.unicast(at+".macAddress", h.MACAddress)
	}
	if h.ID != "" {
		c.add(at+".id", "is of IPv6 only; say macAddress")
	}
	if h.MACAddress == "" && (h.Name == "" || h.IP == "") {
		c.add(at+".macAddress", "is missing; say how the host is known, or its name and its ip")
	} else if h.IP == "" && h.Name == "" {
		c.add(at+".ip", "is missing; say an address, or a name")
	}
}

func (c *checker) host6(at string, h DHCPHost) {
	if h.MACAddress != "" {
		c.add(at+".macAddress", "is of IPv4 only; say id, the client's DUID, or a name")
	}
	if h.ID != "" && !idForm.MatchString(h.ID) {
		c.add(at+".id", quoted(h.ID)+" is not a DUID, such as 0:3:0:1:52:54:0:12:34:56")
	}
	if h.ID == "" && h.Name == "" {
		c.add(at+".id", "is missing; say the client's DUID, or a name")
	}
	if h.IP == "" {
		c.add(at+".ip", "is missing; say an address")
	}
}

func (c *checker) networkDNS(d *NetworkDNS) {
	if d == nil {
		return
	}
	for i, f := range d.Forwarders {
		at := fmt.Sprintf("spec.dns.forwarders[%d]", i)
		if f.Domain == "" && f.Address == "" {
			c.add(at, "says nothing; say an address, a domain, or both")
		}
		if f.Domain != "" {
			c.domainName(at+".domain", f.Domain)
		}
		if f.Address != "" {
			c.address(at+".address", f.Address, netip.Prefix{})
		}
	}
	ips := seen{}
	for i, h := range d.Hosts {
		at := fmt.Sprintf("spec.dns.hosts[%d]", i)
		if ip, ok := c.address(at+".ip", h.IP, netip.Prefix{}); ok {
			ips.again(c, "spec.dns.hosts", "ip", ip.String(), "address", i)
		}
		if len(h.Names) == 0 {
			c.add(at+".names", "are missing; say one at least")
		}
		names := map[string]int{}
		for j, name := range h.Names {
			field := fmt.Sprintf("%s.names[%d]", at, j)
			c.plain(field, name)
			if first, ok := names[name]; ok {
				c.add(field, fmt.Sprintf("duplicate name %s; names[%d] is it too", quoted(name), first))
			}
			names[name] = j
		}
	}
	services := seen{}
	for i, s := range d.Services {
		at := fmt.Sprintf("spec.dns.services[%d]", i)
		c.plain(at+".service", s.Service)
		c.plain(at+".protocol", s.Protocol)
		if s.Domain != "" {
			c.domainName(at+".domain", s.Domain)
		}
		if s.Target != "" {
			c.plain(at+".target", s.Target)
			if s.Port == 0 {
				c.add(at+".port", "is missing; say the target's")
			}
		} else if s.Port != 0 || s.Priority != 0 || s.Weight != 0 {
			c.add(at+".target", "is missing; say the host that has the service")
		}
		services.again(c, "spec.dns.services", "service", strings.Join([]string{s.Service, s.Protocol, s.Domain, s.Target, strconv.Itoa(int(s.Port))}, " "), "service", i)
	}
	texts := seen{}
	for i, t := range d.Texts {
		at := fmt.Sprintf("spec.dns.texts[%d]", i)
		c.plain(at+".name", t.Name)
		texts.again(c, "spec.dns.texts", "name", t.Name, "text", i)
		if t.Value == "" {
			c.add(at+".value", "is missing; say the text")
		}
	}
}
