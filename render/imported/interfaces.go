package imported

import (
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func (s *sketch) addInterfaces(all *domxml.Element) {
	var list []any
	for n, d := range all.All("interface") {
		mac := d.Child("mac").Attr("address")
		name, ok := s.name(d, fmt.Sprintf("net%d", n))
		if !ok {
			s.cannot("interface", mac, "an alias that is no name")
			continue
		}
		part := "interface/" + name
		if !s.says(part) {
			s.cannot("interface", mac, s.left[part])
			continue
		}
		nic, network, why := s.nic(d, name)
		if why != "" {
			s.cannot("interface", mac, why)
			continue
		}
		call(d, name)
		s.parts["interface/"+strings.ToLower(mac)] = part
		list = append(list, nic)
		s.networks = append(s.networks, network)
		s.interfaces = append(s.interfaces, part)
	}
	if len(list) > 0 {
		s.devices["interfaces"] = list
	}
}

// nic is an interface and its network, or why it cannot be said.
func (s *sketch) nic(d *domxml.Element, name string) (nic, network map[string]any, why string) {
	if network = s.network(d); network == nil {
		return nil, nil, "an interface of the type " + d.Attr("type")
	}
	mac, model := d.Child("mac").Attr("address"), d.Child("model").Attr("type")
	switch {
	case mac == "":
		return nil, nil, "an interface without a MAC address"
	case model == "" && network["pci"] == nil:
		return nil, nil, "an interface without a model"
	}
	network["name"] = name
	if vlan := d.Child("vlan"); vlan != nil && len(vlan.Children) == 1 && vlan.Attr("trunk") == "" && len(vlan.Children[0].Attrs) == 1 {
		if id, ok := number(vlan.Children[0].Attr("id")); ok {
			network["vlan"] = id
		}
	}
	nic = map[string]any{"name": name, "macAddress": mac}
	if network["pci"] == nil {
		known(nic, "model", model, "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139")
	}
	put(nic, "state", d.Child("link").Attr("state"))
	put(nic, "pciAddress", address(d))
	if index, ok := number(d.Child("acpi").Attr("index")); ok && index > 0 {
		nic["acpiIndex"] = index
	}
	bootOrder(nic, d)
	return nic, network, ""
}

// network is what an interface is connected to, in the terms of a spec; nil when those have none for it.
func (s *sketch) network(d *domxml.Element) map[string]any {
	source := d.Child("source")
	switch d.Attr("type") {
	case "network":
		if source.Attr("network") != "" {
			of := map[string]any{"network": source.Attr("network")}
			put(of, "portGroup", source.Attr("portgroup"))
			return map[string]any{"libvirt": of}
		}
	case "bridge":
		if source.Attr("bridge") != "" {
			return map[string]any{"bridge": source.Attr("bridge")}
		}
	case "direct":
		if source.Attr("dev") != "" {
			of := map[string]any{"dev": source.Attr("dev")}
			if mode := source.Attr("mode"); mode != "bridge" {
				put(of, "mode", mode)
			}
			return map[string]any{"direct": of}
		}
	case "hostdev":
		if a := source.Child("address"); d.Attr("managed") == "yes" && a.Attr("type") == "pci" {
			if pci := address(source); pci != "" {
				return map[string]any{"pci": pci}
			}
		}
	case "user":
		return map[string]any{"user": map[string]any{}}
	}
	return nil
}
