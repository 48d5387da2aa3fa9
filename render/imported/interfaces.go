package imported

import (
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func (s *sketch) addInterfaces(all *domxml.Element) {
	var list []any
	for n, d := range children(all, "interface") {
		name, ok := s.name(d, fmt.Sprintf("net%d", n))
		if !ok || !s.says("interface/"+name) {
			continue
		}
		network := s.network(d)
		mac, model := d.Child("mac").Attr("address"), d.Child("model").Attr("type")
		if network == nil || mac == "" || model == "" {
			continue
		}
		network["name"] = name
		if vlan := d.Child("vlan"); vlan != nil && len(vlan.Children) == 1 && vlan.Attr("trunk") == "" && len(vlan.Children[0].Attrs) == 1 {
			if id, ok := number(vlan.Children[0].Attr("id")); ok {
				network["vlan"] = id
			}
		}
		nic := map[string]any{"name": name, "macAddress": mac}
		if model != "virtio" {
			nic["model"] = model
		}
		put(nic, "state", d.Child("link").Attr("state"))
		put(nic, "pciAddress", address(d))
		if index, ok := number(d.Child("acpi").Attr("index")); ok && index > 0 {
			nic["acpiIndex"] = index
		}
		bootOrder(nic, d)
		call(d, name)
		s.parts["interface/"+strings.ToLower(mac)] = "interface/" + name
		list = append(list, nic)
		s.networks = append(s.networks, network)
		s.interfaces = append(s.interfaces, "interface/"+name)
	}
	if len(list) > 0 {
		s.devices["interfaces"] = list
	}
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
	case "user":
		return map[string]any{"user": map[string]any{}}
	}
	return nil
}
