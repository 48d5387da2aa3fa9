package domxml

import (
	"slices"
	"strconv"
	"strings"
)

// Pluggable says whether QEMU can plug a device into a running machine, and out of it. Floppies, SATA and IDE disks, sound,
// video, TPM and the like are there from the start or not at all. Conventional PCI devices go behind a bridge of which a
// q35 machine plugs nothing.
func Pluggable(machine string, device *Element) bool {
	express := sameMachine("q35", machine) || machine == "q35"
	switch device.Name {
	case "disk":
		bus := device.Child("target").Attr("bus")
		return device.Attr("device") != "floppy" && (bus == "scsi" || bus == "usb" || bus == "virtio" && (!express || takesRootPort(device)))
	case "interface", "rng":
		return !express || takesRootPort(device)
	case "hostdev":
		return device.Attr("type") != "pci" || !express || takesRootPort(device)
	case "input":
		return device.Attr("bus") == "usb" || device.Attr("bus") == "virtio"
	case "controller":
		return device.Attr("type") == "scsi" && (!express || takesRootPort(device))
	}
	return false
}

// Plug gives a device that is for the running machine alone a place in it, as Redefine does for one that stays. It returns
// the device with it, and what to remember from now on. Where libvirt chooses places, it is left to libvirt.
func Plug(device, live, inactive *Element, before Slots) (*Element, Slots) {
	next := inactive.Clone()
	known := Slots{}
	for name, s := range before {
		known[name] = s
	}
	placed := device.Clone()
	next.Ensure("devices").insert(placed)
	return placed, place(next, known, live)
}

// HasPort says whether the PCIe port that a device's address names is there in a domain. Addresses of other kinds, and
// machines without such ports, have what they need.
func HasPort(domain, device *Element) bool {
	address := pciAddress(device)
	ports := rootPorts(domain.Child("devices"))
	if address == "" || len(ports) == 0 || !takesRootPort(device) {
		return true
	}
	bus, err := strconv.ParseInt(strings.Split(address, ":")[1], 16, 32)
	return err == nil && slices.Contains(ports, int(bus))
}

// Graft returns a copy of a device with some of another's attributes (@name) and children in place of its own.
func Graft(device, from *Element, parts ...string) *Element {
	next := device.Clone()
	for _, part := range parts {
		if attr, ok := strings.CutPrefix(part, "@"); ok {
			if v, said := from.lookup(attr); said {
				next.SetAttr(attr, v)
			} else {
				next.RemoveAttr(attr)
			}
			continue
		}
		for _, c := range next.All(part) {
			next.Remove(c)
		}
		for _, c := range from.All(part) {
			next.insert(c.Clone())
		}
	}
	return next
}
