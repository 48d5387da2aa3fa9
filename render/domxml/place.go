package domxml

import (
	"fmt"
	"slices"
	"strconv"
)

// Spare root ports are made when a domain is created, so that as many devices can be plugged in later: a running q35
// machine cannot get another port.
const spareRootPorts = 4

// ownPorts is how many ports libvirt needs for what it adds by itself: USB, balloon, SCSI, virtio-serial.
const ownPorts = 4

// maxRootPorts bounds how many ports holes may take up; beyond it the lowest hole is given away. A PCI hierarchy has 256
// buses, and libvirt puts 8 ports into a slot.
const maxRootPorts = 120

// Slots maps a device's name (its user alias without "ua-") to the PCI address that it has, or had before it was
// removed: 0000:04:00.0.
type Slots map[string]string

// AddRootPorts declares the PCIe root ports of a domain that is about to be created: one for each device that takes
// one, and spare ones. Only q35 and virt machines have them.
func AddRootPorts(domain *Element) {
	machine := domain.Child("os/type").Attr("machine")
	devices := domain.Child("devices")
	if devices == nil || !sameMachine("q35", machine) && machine != "q35" {
		return
	}
	n := spareRootPorts + ownPorts
	for _, d := range devices.Children {
		if d.Name == "controller" && d.Attr("type") == "pci" {
			return // somebody laid out the buses by hand
		}
		if takesRootPort(d) {
			n++
		}
	}
	ports := []*Element{New("controller", "type", "pci", "index", "0", "model", "pcie-root")}
	for i := range n {
		ports = append(ports, New("controller", "type", "pci", "index", strconv.Itoa(i+1), "model", "pcie-root-port"))
	}
	devices.Children = append(devices.Children, ports...)
}

// takesRootPort says whether libvirt puts the device on a PCIe root port of its own. Conventional PCI devices (e1000,
// rtl8139, sound) go behind a bridge, and are left to libvirt.
func takesRootPort(d *Element) bool {
	model := d.Child("model").Attr("type")
	switch d.Name {
	case "disk":
		return d.Child("target").Attr("bus") == "virtio"
	case "interface":
		return model == "" || model == "virtio" || model == "virtio-non-transitional" || model == "e1000e" || model == "igb"
	case "rng":
		return true
	case "filesystem", "vsock":
		return true
	case "controller":
		m := d.Attr("model")
		return d.Attr("type") == "scsi" && (m == "virtio-scsi" || m == "") || d.Attr("type") == "virtio-serial"
	}
	return false
}

// SlotsOf reads the PCI addresses of the named devices of a domain.
func SlotsOf(domain *Element) Slots {
	slots := Slots{}
	if devices := domain.Child("devices"); devices != nil {
		for _, d := range devices.Children {
			if name, a := d.UserAlias(), pciAddress(d); name != "" && a != "" {
				slots[name] = a
			}
		}
	}
	return slots
}

// Place gives every device of next that has no address yet a PCI address where no other device is, or was: libvirt alone
// would fill the first hole, and the device that comes back would find its place taken. before is what is remembered of
// holes. It returns what to remember from now on. On machines without root ports libvirt places devices.
func Place(next *Element, before Slots) Slots {
	devices := next.Child("devices")
	if devices == nil {
		return before
	}
	slots := SlotsOf(next)
	used := map[string]bool{}
	for _, d := range devices.Children {
		used[pciAddress(d)] = true
	}
	held := map[string]bool{} // by a device that is gone
	for name, a := range before {
		if _, back := slots[name]; !back {
			held[a] = true
			slots[name] = a
		}
	}
	ports := rootPorts(devices)
	if len(ports) == 0 {
		return slots
	}
	for _, d := range slices.Clone(devices.Children) {
		if d.Child("address") != nil || !takesRootPort(d) {
			continue
		}
		name := d.UserAlias()
		address := before[name]
		if name == "" || address == "" || used[address] {
			address = freePort(devices, &ports, used, held)
		}
		if address == "" {
			continue // libvirt will say that there is no more room
		}
		used[address] = true
		if name != "" {
			slots[name] = address
		}
		d.Append(pciElement(address))
	}
	// A hole that had to be given away is nobody's any more.
	for name, a := range before {
		if slots[name] == a && used[a] && !hasAddress(devices, name, a) {
			delete(slots, name)
		}
	}
	return slots
}

func hasAddress(devices *Element, name, address string) bool {
	return slices.ContainsFunc(devices.Children, func(d *Element) bool {
		return d.UserAlias() == name && pciAddress(d) == address
	})
}

// freePort finds a bus that nobody has or had, adding a root port when all are taken.
func freePort(devices *Element, ports *[]int, used, held map[string]bool) string {
	for _, bus := range *ports {
		if a := portAddress(bus); !used[a] && !held[a] {
			return a
		}
	}
	if len(*ports) < maxRootPorts {
		next := 1
		for _, c := range named(devices, "controller") {
			if i, err := strconv.Atoi(c.Attr("index")); err == nil && c.Attr("type") == "pci" {
				next = max(next, i+1)
			}
		}
		devices.insert(New("controller", "type", "pci", "index", strconv.Itoa(next), "model", "pcie-root-port"))
		*ports = append(*ports, next)
		return portAddress(next)
	}
	for _, bus := range *ports {
		if a := portAddress(bus); !used[a] {
			return a
		}
	}
	return ""
}

// rootPorts are the bus numbers behind the domain's root ports: libvirt numbers a bus by its controller's index.
func rootPorts(devices *Element) []int {
	var ports []int
	for _, c := range named(devices, "controller") {
		if c.Attr("type") == "pci" && c.Attr("model") == "pcie-root-port" {
			if i, err := strconv.Atoi(c.Attr("index")); err == nil {
				ports = append(ports, i)
			}
		}
	}
	slices.Sort(ports)
	return ports
}

func portAddress(bus int) string { return fmt.Sprintf("0000:%02x:00.0", bus) }

func pciAddress(d *Element) string {
	a := d.Child("address")
	if a == nil || a.Attr("type") != "pci" {
		return ""
	}
	part := func(name string) int64 {
		n, err := strconv.ParseInt(a.Attr(name), 0, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", part("domain"), part("bus"), part("slot"), part("function"))
}

func pciElement(address string) *Element {
	var domain, bus, slot, function int
	// The address is one of ours (portAddress, pciAddress); a remembered one that was garbled by hand reads as zeros,
	// which libvirt refuses by name.
	_, _ = fmt.Sscanf(address, "%04x:%02x:%02x.%x", &domain, &bus, &slot, &function)
	return New("address", "type", "pci", "domain", fmt.Sprintf("0x%04x", domain), "bus", fmt.Sprintf("0x%02x", bus),
		"slot", fmt.Sprintf("0x%02x", slot), "function", fmt.Sprintf("0x%x", function))
}
