package plan

import (
	"net/netip"
	"strings"
)

// Guest is one that runs, whose addresses people want to know.
type Guest struct {
	Name, UUID string
	ID         int32 // libvirt's number of the run
	// Agent says that the guest has opened the guest agent's channel.
	Agent bool
	// MACs are those of its interfaces.
	MACs []string
}

// Guests are those of our domains that run, sorted by name.
func Guests(world World) []Guest {
	var all []Guest
	for n := range world.Domains {
		d := &world.Domains[n]
		if d.State == DomainRunning && !d.Stuck && d.Meta() != nil {
			all = append(all, Guest{Name: d.Name, UUID: d.UUID, ID: d.ID, Agent: d.Live.Agent, MACs: strings.Fields(d.Live.MACs)})
		}
	}
	return all
}

// AddressSource is who says that a guest has an address.
type AddressSource string

// The sources, by libvirt's names (virDomainInterfaceAddressesSource).
const (
	FromAgent AddressSource = "agent" // the guest itself
	FromLease AddressSource = "lease" // libvirt's network has given it out
	FromARP   AddressSource = "arp"   // the host has seen it
)

// Address is one that an interface of a guest has.
type Address struct {
	MAC    string // in lower case; empty where the source does not say it
	IP     netip.Addr
	Source AddressSource
}

// Preferred are the addresses of two sources: the first's, and the second's of those interfaces that the first says
// nothing of.
func Preferred(first, second []Address) []Address {
	said := map[string]bool{}
	for _, a := range first {
		said[a.MAC] = true
	}
	all := first[:len(first):len(first)]
	for _, a := range second {
		if !said[a.MAC] {
			all = append(all, a)
		}
	}
	return all
}
