package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// devicesOf reads the named devices of a domain. XML that cannot be read has none: the plan says what is wrong with it.
func devicesOf(text string) Devices {
	var out Devices
	e, err := domxml.Parse(text)
	if err != nil || e.Child("devices") == nil {
		return out
	}
	for _, d := range e.Child("devices").Children {
		name := d.UserAlias()
		switch {
		case name == "":
		case d.Name == "disk":
			out.Disks = append(out.Disks, Disk{name, d.Child("target").Attr("dev"), address(d.Child("address"))})
		case d.Name == "interface":
			out.Interfaces = append(out.Interfaces, Interface{Name: name, MAC: d.Child("mac").Attr("address"), Address: address(d.Child("address"))})
		}
	}
	return out
}

// with are the devices with the addresses that their interfaces have. What is known of the devices is not changed: other
// reports have it too.
func (d Devices) with(addresses []plan.Address) Devices {
	if len(addresses) == 0 {
		return d
	}
	d.Interfaces = slices.Clone(d.Interfaces)
	for n := range d.Interfaces {
		i := &d.Interfaces[n]
		for _, a := range addresses {
			if a.MAC != "" && strings.EqualFold(a.MAC, i.MAC) {
				i.IPAddresses, i.InfoSource = append(i.IPAddresses, a.IP.String()), a.Source
			}
		}
	}
	return d
}

// Addresses are all IP addresses of the interfaces, in their order.
func (d Devices) Addresses() []string {
	var all []string
	for _, i := range d.Interfaces {
		all = append(all, i.IPAddresses...)
	}
	return all
}

// address is a device's place: 0000:04:00.0 for PCI, and drive 0:0:0 (controller, target, unit) for a drive.
func address(a *domxml.Element) string {
	n := func(name string) int64 {
		v, err := strconv.ParseInt(a.Attr(name), 0, 64)
		if err != nil {
			return 0
		}
		return v
	}
	switch a.Attr("type") {
	case "":
		return ""
	case "pci":
		return fmt.Sprintf("%04x:%02x:%02x.%x", n("domain"), n("bus"), n("slot"), n("function"))
	case "drive":
		return fmt.Sprintf("drive %d:%d:%d", n("controller"), n("target"), n("unit"))
	}
	return a.Attr("type")
}
