package render

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// leases are the fixed addresses of the instances' interfaces, by network. Two that want the same one are reported, and the
// first has it.
func (r *resources) leases(networks []*manifest.HostNetwork, instances []*Instance) map[string][]resource.Lease {
	byName := map[string]*manifest.HostNetwork{}
	for _, n := range networks {
		byName[n.LibvirtName()] = n
	}
	all, taken := map[string][]resource.Lease{}, map[string]string{}
	for _, n := range networks {
		for k, v := range said(n) {
			taken[n.LibvirtName()+" "+k] = v
		}
	}
	for _, i := range instances {
		for n, d := range i.Spec.Domain.Devices.Interfaces {
			network := byName[i.network(d.Name)]
			if network == nil {
				continue
			}
			for m, text := range d.Addresses {
				prefix, err := netip.ParsePrefix(text)
				if err != nil || !served(network, prefix.Addr()) {
					continue
				}
				of := resource.Lease{MAC: d.MacAddress, Name: i.Name, IP: prefix.Addr()}
				key := network.LibvirtName() + " " + of.IP.String()
				owner := "the instance " + i.Name
				if other, ok := taken[key]; ok && other != "the MAC address "+strings.ToLower(d.MacAddress) {
					field := fmt.Sprintf("domain.devices.interfaces[%d].addresses[%d]", n, m)
					message := fmt.Sprintf("%s wants %s on the Network %s (%s), and %s has it", owner, of.IP, network.Metadata.Name, placeOf(&network.Header), other)
					if c := r.p.set.Configs[i.Config]; c != nil && !i.Pinned {
						r.out.Problems = append(r.out.Problems, c.Problem(c.Written.Spec+"."+field, message))
					} else {
						r.out.Problems = append(r.out.Problems, manifest.Problem{File: i.Source, Kind: manifest.KindConfig, Name: i.Config, Field: field, Message: message})
					}
					continue
				}
				taken[key] = owner
				all[network.LibvirtName()] = append(all[network.LibvirtName()], of)
			}
		}
	}
	return all
}

// said are the addresses that a network's document gives away, with who has them.
func said(n *manifest.HostNetwork) map[string]string {
	all := map[string]string{}
	for _, a := range n.Spec.Addresses {
		all[netip.MustParsePrefix(a.Address).Addr().String()] = "the host itself"
		if a.DHCP == nil {
			continue
		}
		for _, h := range a.DHCP.Hosts {
			ip, err := netip.ParseAddr(h.IP)
			switch {
			case err != nil:
			case h.MACAddress != "":
				all[ip.String()] = "the MAC address " + strings.ToLower(strings.ReplaceAll(h.MACAddress, "-", ":"))
			default:
				all[ip.String()] = "the host " + h.Name + h.ID
			}
		}
	}
	return all
}

// served says whether a network gives out addresses of the subnet that one is of.
func served(n *manifest.HostNetwork, a netip.Addr) bool {
	for _, s := range n.Spec.Addresses {
		if netip.MustParsePrefix(s.Address).Contains(a) {
			return s.DHCP != nil
		}
	}
	return false
}

// network is the libvirt network that an interface is on; empty when it is on none.
func (i *Instance) network(device string) string {
	for _, n := range i.Spec.Networks {
		if n.Name == device && n.Libvirt != nil {
			return n.Libvirt.Network
		}
	}
	return ""
}
