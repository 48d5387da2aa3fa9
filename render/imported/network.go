package imported

import (
	"net/netip"
	"strconv"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// network is what a Network's own words say of one.
func network(have *domxml.Element) map[string]any {
	spec := map[string]any{}
	if f := have.Child("forward"); f != nil && f.Attr("dev") == "" && len(f.Children) == 0 || f != nil && onlyNAT(f) {
		forward := map[string]any{}
		if mode := f.Attr("mode"); mode != "nat" {
			put(forward, "mode", mode)
		}
		spec["forward"] = forward
	}
	if b := have.Child("bridge"); b != nil {
		bridge := map[string]any{}
		put(bridge, "name", b.Attr("name"))
		if b.Attr("stp") == "off" {
			bridge["stp"] = false
		}
		if n, ok := number(b.Attr("delay")); ok && n > 0 {
			bridge["delaySeconds"] = n
		}
		spec["bridge"] = bridge
	}
	put(spec, "macAddress", have.Child("mac").Attr("address"))
	if d := have.Child("domain"); d != nil {
		domain := map[string]any{"name": d.Attr("name")}
		if d.Attr("localOnly") == "yes" {
			domain["localOnly"] = true
		}
		spec["domain"] = domain
	}
	var addresses []any
	for _, ip := range have.All("ip") {
		if a := subnet(ip); a != nil {
			addresses = append(addresses, a)
		}
	}
	if len(addresses) > 0 && len(addresses) == len(have.All("ip")) {
		spec["addresses"] = addresses
	}
	return spec
}

// onlyNAT says whether a forward says no more than libvirt's default of it.
func onlyNAT(f *domxml.Element) bool {
	nat := f.Child("nat")
	if nat == nil || len(f.Children) != 1 || len(nat.Children) != 1 || len(nat.Attrs) > 0 {
		return false
	}
	port := nat.Child("port")
	return port.Attr("start") == "1024" && port.Attr("end") == "65535"
}

// prefix is the length of a subnet's prefix; false where it is not said.
func prefix(ip *domxml.Element) (int, bool) {
	if mask, err := netip.ParseAddr(ip.Attr("netmask")); err == nil {
		ones := 0
		for _, b := range mask.AsSlice() {
			for ; b&0x80 != 0; b <<= 1 {
				ones++
			}
		}
		return ones, true
	}
	bits, err := strconv.Atoi(ip.Attr("prefix"))
	return bits, err == nil
}

// subnet is one of a network's addresses, in a Network's words; nil when those have none for it.
func subnet(ip *domxml.Element) map[string]any {
	bits, ok := prefix(ip)
	a, err := netip.ParseAddr(ip.Attr("address"))
	if !ok || err != nil {
		return nil
	}
	out := map[string]any{"address": netip.PrefixFrom(a, bits).String()}
	if ip.Attr("localPtr") == "yes" {
		out["localPTR"] = true
	}
	put(out, "tftpRoot", ip.Child("tftp").Attr("root"))
	d := ip.Child("dhcp")
	if d == nil {
		return out
	}
	dhcp := map[string]any{}
	var ranges, hosts []any
	for _, r := range d.All("range") {
		ranges = append(ranges, map[string]any{"start": r.Attr("start"), "end": r.Attr("end")})
	}
	for _, h := range d.All("host") {
		host := map[string]any{}
		for attr, field := range map[string]string{"mac": "macAddress", "id": "id", "name": "name", "ip": "ip"} {
			put(host, field, h.Attr(attr))
		}
		hosts = append(hosts, host)
	}
	if len(ranges) > 0 {
		dhcp["ranges"] = ranges
	}
	if len(hosts) > 0 {
		dhcp["hosts"] = hosts
	}
	out["dhcp"] = dhcp
	return out
}

// pool is what a StoragePool's own words say of one.
func pool(have *domxml.Element) map[string]any {
	spec := map[string]any{}
	put(spec, "path", textOf(have, "target/path"))
	if p := have.Child("target/permissions"); p != nil {
		put(spec, "mode", textOf(p, "mode"))
		for _, id := range []string{"owner", "group"} {
			if n, ok := number(textOf(p, id)); ok {
				spec[id] = n
			}
		}
	}
	source := map[string]any{}
	if s := have.Child("source"); s != nil {
		put(source, "name", textOf(s, "name"))
		put(source, "dir", s.Child("dir").Attr("path"))
		put(source, "format", s.Child("format").Attr("type"))
		var hosts, devices []any
		for _, h := range s.All("host") {
			host := map[string]any{"name": h.Attr("name")}
			if port, ok := number(h.Attr("port")); ok && port > 0 {
				host["port"] = port
			}
			hosts = append(hosts, host)
		}
		for _, d := range s.All("device") {
			devices = append(devices, d.Attr("path"))
		}
		if len(hosts) > 0 {
			source["hosts"] = hosts
		}
		if len(devices) > 0 {
			source["devices"] = devices
		}
	}
	if len(source) > 0 {
		spec["source"] = source
	}
	return spec
}
