package plan

import (
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Section is a part of a network that libvirt can change while it is active, by its name in virNetworkUpdateSection.
type Section string

// The sections (https://libvirt.org/html/libvirt-libvirt-network.html#virNetworkUpdateSection; those that libvirt 9.0 was seen
// to take).
const (
	SectionNone      Section = ""
	SectionDHCPHost  Section = "ip-dhcp-host"
	SectionDHCPRange Section = "ip-dhcp-range"
	SectionInterface Section = "forward-interface"
	SectionPortGroup Section = "portgroup"
	SectionDNSHost   Section = "dns-host"
	SectionDNSText   Section = "dns-txt"
	SectionDNSSRV    Section = "dns-srv"
)

// The commands of an update.
const (
	UpdateAdd    = "add"
	UpdateModify = "modify"
	UpdateDelete = "delete"
)

// section is the one that a difference is in.
func section(d resource.Difference, live *domxml.Element) Section {
	s := map[string]Section{
		"ip/dhcp/host": SectionDHCPHost, "ip/dhcp/range": SectionDHCPRange, "forward/interface": SectionInterface,
		"portgroup": SectionPortGroup, "dns/host": SectionDNSHost, "dns/txt": SectionDNSText, "dns/srv": SectionDNSSRV,
	}[d.Place]
	switch {
	case strings.HasPrefix(d.Place, "ip/") && d.In < 0:
		return SectionNone // the whole address is new
	case s == SectionInterface:
		switch live.Child("forward").Attr("mode") {
		case "bridge", "private", "vepa", "passthrough":
		default:
			return SectionNone
		}
	case s == SectionDHCPRange && d.From != nil && d.To != nil:
		return SectionNone // another lease time
	}
	return s
}

// updates are the steps that make an active network what it is to be. What goes, goes first: its place may be taken by what
// comes. DHCP hosts and port groups are changed in place; other things are taken out and put in again.
func (a *ResourceAssessment) updates(now []resource.Difference, live *domxml.Element) []Step {
	var gone, come []Step
	for _, d := range now {
		s := section(d, live)
		step := func(command string, e *domxml.Element) Step {
			return Step{Op: OpNetworkUpdate, Section: s, Command: command, Index: d.In, XML: strings.TrimSpace(e.String())}
		}
		switch {
		case d.From == nil:
			come = append(come, step(UpdateAdd, d.To))
		case d.To == nil:
			gone = append(gone, step(UpdateDelete, d.From))
		case s == SectionPortGroup:
			come = append(come, step(UpdateModify, d.To))
		default:
			gone = append(gone, step(UpdateDelete, d.From))
			come = append(come, step(UpdateAdd, d.To))
		}
	}
	return slices.Concat(gone, come)
}

// replug connects the running machines of a network again, those that were left on the scratch network among them: libvirt 9.0
// leaves their devices without a bridge when the network is started anew, and takes an update to the same network for none.
func (a *ResourceAssessment) replug(want *domxml.Element, world World, memo UsesMemo) []Step {
	if !resource.Managed(want) {
		return nil // the bridge is the host's, and stays
	}
	var steps []Step
	scratch, _ := resource.Scratch(a.Name)
	for i := range world.Domains {
		d := &world.Domains[i]
		if !d.Active() || d.Stuck {
			continue
		}
		if u := memo.of(d.Live); len(u[a.Name])+len(u[scratch]) == 0 {
			continue
		}
		e, err := domxml.Parse(d.Live.Text())
		if err != nil || e.Child("devices") == nil {
			continue
		}
		for _, c := range e.Child("devices").Children {
			on := c.Child("source").Attr("network")
			if c.Name == "interface" && c.Attr("type") == "network" && (on == a.Name || on == scratch) {
				steps = append(steps, Step{Op: OpReplug, Guest: d.Name, GuestUUID: d.UUID, XML: c.String()})
			}
		}
	}
	return steps
}

// unplugged says whether running machines of an active network have lost its bridge: it does not know their ports then.
func (a *ResourceAssessment) unplugged(live *domxml.Element, on Uses) bool {
	if !resource.Managed(live) || a.Observed.Ports == nil {
		return false
	}
	scratch, _ := resource.Scratch(a.Name)
	return len(on[scratch]) > 0 || slices.ContainsFunc(on[a.Name], func(port string) bool { return port != "" && !a.Observed.Ports[port] })
}
