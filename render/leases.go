package render

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
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
				if err != nil || !prefix.Addr().Is4() || !served(network, prefix.Addr()) {
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

// unserved are those of the problems with fixed addresses that no network of ours takes to the guest by DHCP.
func (in Input) unserved(spec *manifest.InstanceSpec, problems []manifest.FieldProblem) []manifest.FieldProblem {
	return slices.DeleteFunc(problems, func(p manifest.FieldProblem) bool {
		for n, d := range spec.Domain.Devices.Interfaces {
			if p.Field == fmt.Sprintf("domain.devices.interfaces[%d].addresses", n) && in.serves(spec, d) {
				return true
			}
		}
		return false
	})
}

// serves says whether a network of ours gives an interface all of its addresses. IPv6 is given by a client's identifier, which
// nobody knows beforehand.
func (in Input) serves(spec *manifest.InstanceSpec, d manifest.Interface) bool {
	i := Instance{Spec: *spec}
	n := slices.IndexFunc(in.Networks, func(n *manifest.HostNetwork) bool { return n.LibvirtName() == i.network(d.Name) })
	return n >= 0 && !slices.ContainsFunc(d.Addresses, func(text string) bool {
		a, err := netip.ParsePrefix(text)
		return err != nil || !a.Addr().Is4() || !served(in.Networks[n], a.Addr())
	})
}

// networksOf are the documents of a host's networks, sorted by name.
func (p *Placement) networksOf(host string) []*manifest.HostNetwork {
	list, ok := p.networks[host]
	if !ok {
		for _, name := range slices.Sorted(maps.Keys(p.set.Networks)) {
			if n := p.set.Networks[name]; p.covers(n.Spec.HostScope, host) {
				list = append(list, n)
			}
		}
		p.networks[host] = list
	}
	return list
}
