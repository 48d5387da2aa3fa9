package resource

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// normal is a resource's XML as it is compared: what says the same in several ways is said in one, and what libvirt fills in
// where nothing is said is left out. (The defaults are those of formatnetwork and formatstorage, and what libvirt 9.0 was
// seen to write.)
func normal(kind Kind, e *domxml.Element) *domxml.Element {
	e = e.Clone()
	drop(e, "uuid", "capacity", "allocation", "available", "title", "description")
	if kind == Pool {
		normalPool(e)
		return e
	}
	e.RemoveAttr("connections")
	dropAttrs(e, "ipv6", "no", "trustGuestRxFilters", "no")
	for _, c := range e.Children {
		switch c.Name {
		case "forward":
			normalForward(c)
		case "bridge":
			dropAttrs(c, "stp", "on", "delay", "0", "macTableManager", "kernel")
		case "mac":
			c.SetAttr("address", mac(c.Attr("address")))
		case "domain":
			dropAttrs(c, "localOnly", "no")
		case "dns":
			dropAttrs(c, "enable", "yes", "forwardPlainNames", "yes")
			for _, s := range c.All("srv") {
				dropAttrs(s, "port", "0", "priority", "0", "weight", "0")
			}
		case "ip":
			normalIP(c)
		case "route":
			dropAttrs(c, "family", "ipv4", "metric", "0")
			normalPrefix(c)
		case "port":
			dropAttrs(c, "isolated", "no")
		case "vlan":
			normalVLAN(c)
		case "portgroup":
			dropAttrs(c, "default", "no", "trustGuestRxFilters", "no")
			for _, v := range c.All("vlan") {
				normalVLAN(v)
			}
		}
	}
	prune(e)
	return e
}

// prune takes out what says nothing.
func prune(e *domxml.Element) {
	for _, c := range append([]*domxml.Element(nil), e.Children...) {
		prune(c)
		switch c.Name {
		case "bridge", "dns", "dhcp", "nat", "port", "source", "target", "permissions", "parameters", "bandwidth":
			if len(c.Attrs)+len(c.Children) == 0 && c.Text == "" {
				e.Remove(c)
			}
		}
	}
}

func normalForward(f *domxml.Element) {
	if f.Attr("mode") == "" {
		f.SetAttr("mode", "nat")
	}
	dropAttrs(f, "managed", "no")
	if dev := f.Attr("dev"); dev != "" {
		if len(f.All("interface")) == 0 {
			f.Append(domxml.New("interface", "dev", dev))
		}
		f.RemoveAttr("dev")
	}
	for _, i := range f.All("interface") {
		i.RemoveAttr("connections")
	}
	for _, nat := range f.All("nat") {
		dropAttrs(nat, "ipv6", "no")
		if p := nat.Child("port"); p != nil && p.Attr("start") == "1024" && p.Attr("end") == "65535" {
			nat.Remove(p)
		}
	}
}

func normalIP(ip *domxml.Element) {
	dropAttrs(ip, "family", "ipv4", "localPtr", "no")
	normalPrefix(ip)
	for _, c := range childrenOf(ip.Child("dhcp")) {
		normalAddress(c, "start", "end", "ip")
		if m := c.Attr("mac"); m != "" {
			c.SetAttr("mac", mac(m))
		}
		for _, l := range c.All("lease") {
			n, err := strconv.ParseUint(l.Attr("expiry"), 10, 32)
			if err != nil {
				continue
			}
			// Minutes are what a lease is in when it does not say (formatnetwork).
			by := map[string]uint64{"seconds": 1, "hours": 3600}[l.Attr("unit")]
			if by == 0 {
				by = 60
			}
			l.SetAttr("expiry", strconv.FormatUint(n*by, 10))
			l.SetAttr("unit", "seconds")
		}
	}
}

// normalPrefix says a netmask as the length of a prefix. Without either, the length is that of the address's old class.
func normalPrefix(e *domxml.Element) {
	normalAddress(e, "address", "gateway")
	a, err := netip.ParseAddr(e.Attr("address"))
	if err != nil {
		return
	}
	if mask, err := netip.ParseAddr(e.Attr("netmask")); err == nil {
		ones := 0
		for _, b := range mask.AsSlice() {
			for ; b&0x80 != 0; b <<= 1 {
				ones++
			}
		}
		e.RemoveAttr("netmask")
		e.SetAttr("prefix", strconv.Itoa(ones))
	}
	if e.Attr("prefix") == "" {
		bits := 64
		if a.Is4() {
			switch b := a.As4()[0]; {
			case b < 128:
				bits = 8
			case b < 192:
				bits = 16
			default:
				bits = 24
			}
		}
		e.SetAttr("prefix", strconv.Itoa(bits))
	}
}

func normalAddress(e *domxml.Element, attrs ...string) {
	for _, name := range attrs {
		if a, err := netip.ParseAddr(e.Attr(name)); err == nil {
			e.SetAttr(name, a.String())
		}
	}
}

func normalVLAN(v *domxml.Element) {
	dropAttrs(v, "trunk", "no")
	if len(v.All("tag")) > 1 {
		v.SetAttr("trunk", "yes")
	}
}

func normalPool(e *domxml.Element) {
	for _, path := range []string{"target/path", "source/name"} {
		if p := e.Child(path); p != nil && len(p.Text) > 1 {
			p.Text = strings.TrimRight(p.Text, "/")
		}
	}
	if m := e.Child("target/permissions/mode"); m != nil {
		m.Text = "0" + strings.TrimLeft(m.Text, "0")
	}
	if p := e.Child("target/permissions"); p != nil {
		drop(p, "label")
	}
	if f := e.Child("source/format"); f != nil && (f.Attr("type") == "auto" || e.Attr("type") == "logical") {
		e.Child("source").Remove(f)
	}
	if d := e.Child("source/dir"); d != nil && len(d.Attr("path")) > 1 {
		d.SetAttr("path", strings.TrimRight(d.Attr("path"), "/"))
	}
	for _, d := range e.Child("source").All("device") {
		d.Children = nil // libvirt lists the extents of a disk's free room there
		d.RemoveAttr("part_separator")
	}
	prune(e)
}

// dropAttrs removes attributes that have the value which they have anyway: name, value, name, value …
func dropAttrs(e *domxml.Element, defaults ...string) {
	for i := 0; i+1 < len(defaults); i += 2 {
		if e.Attr(defaults[i]) == defaults[i+1] {
			e.RemoveAttr(defaults[i])
		}
	}
}

func drop(e *domxml.Element, names ...string) {
	for _, name := range names {
		for _, c := range e.All(name) {
			e.Remove(c)
		}
	}
}

func childrenOf(e *domxml.Element) []*domxml.Element {
	if e == nil {
		return nil
	}
	return e.Children
}
