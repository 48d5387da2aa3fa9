package runner

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// maxAddresses is how many addresses of a guest are taken: its agent can say any number.
const maxAddresses = 64

// HostAddresses are the addresses of a guest's interfaces as the host knows them without asking the guest: those that
// libvirt's networks have leased to them (virDomainInterfaceAddresses), and of interfaces without a lease those that the
// host's ARP table has, by their MAC addresses.
func (r *Runner) HostAddresses(ctx context.Context, id string, macs []string) ([]plan.Address, error) {
	leased, err := ofGuest(ctx, r, id, interfacesBy(libvirt.DomainInterfaceAddressesSrcLease))
	if err != nil {
		return nil, err
	}
	var seen []plan.Address
	for _, a := range r.neighbours.known() {
		if slices.Contains(macs, a.MAC) && len(seen) < maxAddresses {
			seen = append(seen, a)
		}
	}
	return plan.Preferred(addressesOf(leased, plan.FromLease), sorted(seen)), nil
}

// AgentAddresses are those that the guest's agent says. A guest whose channel is not open is not to be asked: libvirtd logs
// each such question as an error.
func (r *Runner) AgentAddresses(ctx context.Context, id string) ([]plan.Address, error) {
	found, err := ofAgent(ctx, r, id, interfacesBy(libvirt.DomainInterfaceAddressesSrcAgent))
	return addressesOf(found, plan.FromAgent), err
}

func interfacesBy(source libvirt.DomainInterfaceAddressesSource) func(*libvirt.Libvirt, libvirt.Domain) ([]libvirt.DomainInterface, error) {
	return func(lv *libvirt.Libvirt, d libvirt.Domain) ([]libvirt.DomainInterface, error) {
		return lv.DomainInterfaceAddresses(d, uint32(source), 0)
	}
}

// addressesOf are those of networks, the interfaces in the order of their MAC addresses, and IPv4 first.
func addressesOf(found []libvirt.DomainInterface, source plan.AddressSource) []plan.Address {
	var all []plan.Address
	for _, i := range found {
		mac := ""
		if len(i.Hwaddr) > 0 {
			if parsed, err := net.ParseMAC(i.Hwaddr[0]); err == nil {
				mac = parsed.String()
			}
		}
		for _, a := range i.Addrs {
			parsed, err := netip.ParseAddr(a.Addr)
			if err != nil || !ofNetwork(parsed) {
				continue
			}
			if one := (plan.Address{MAC: mac, IP: parsed, Source: source}); len(all) < maxAddresses && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return sorted(all)
}

func sorted(all []plan.Address) []plan.Address {
	slices.SortFunc(all, func(a, b plan.Address) int { return cmp.Or(cmp.Compare(a.MAC, b.MAC), a.IP.Compare(b.IP)) })
	return all
}

// ofNetwork says whether an address is one of a network. The guest's agent says what it likes: a connection to an address of
// the host's own would end at a service of the host's.
func ofNetwork(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsUnspecified() && !a.IsMulticast()
}
