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

// Slots says what each named device (its user alias without "ua-") has, or had before it was removed.
type Slots map[string]Slot

// Slot is where a device is.
type Slot struct {
	PCI string // its PCI address, 0000:04:00.0; empty for a device on another bus
	Dev string // a disk's target, vda
}

// addRootPorts declares the PCIe root ports of a domain that is about to be created: one for each device that takes
// one, and spare ones. Only q35 and virt machines have them.
func addRootPorts(domain *Element) {
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
	if d.Attr("model") == "virtio-transitional" || model == "virtio-transitional" {
		return false // it is a conventional PCI device
	}
	switch d.Name {
	case "disk":
		return d.Child("target").Attr("bus") == "virtio"
	case "interface":
		return model == "" || model == "virtio" || model == "virtio-non-transitional" || model == "e1000e" || model == "igb"
	case "rng":
		return true
	case "filesystem", "vsock":
		return true
	case "hostdev":
		return d.Attr("type") == "pci" || d.Attr("type") == "mdev"
	case "input":
		return d.Attr("bus") == "virtio"
	case "controller":
		m := d.Attr("model")
		return d.Attr("type") == "scsi" && (m == "virtio-scsi" || m == "") || d.Attr("type") == "virtio-serial"
	}
	return false
}

// slotsOf reads the slots of the named devices of a domain.
func slotsOf(devices *Element) Slots {
	slots := Slots{}
	for _, d := range devices.Children {
		if name := d.UserAlias(); name != "" {
			if s := (Slot{pciAddress(d), d.Child("target").Attr("dev")}); s != (Slot{}) {
				slots[name] = s
			}
		}
	}
	return slots
}

// place gives every device of next that has no address yet a PCI address where no other device is, or was: libvirt alone
// would fill the first hole, and the device that comes back would find its place taken. before is what is remembered of
// holes, live the domain as it runs. It returns what to remember from now on. On machines without root ports libvirt
// places devices.
func place(next *Element, before Slots, live *Element) Slots {
	devices := next.Child("devices")
	if devices == nil {
		return before
	}
	settle(devices, live)
	nameTargets(devices, before, live)
	slots := slotsOf(devices)
	used, held := map[string]bool{}, map[string]bool{} // held: by a device that is gone, or that runs
	for _, d := range devices.Children {
		used[pciAddress(d)] = true
	}
	if running := live.Child("devices"); running != nil {
		for _, d := range running.Children {
			if address := pciAddress(d); address != "" && !used[address] {
				held[address] = true
			}
		}
	}
	for name, s := range before {
		if _, there := slots[name]; !there {
			slots[name] = s
		}
		if s.PCI != "" && !hasAddress(devices, name, s.PCI) {
			held[s.PCI] = true
		}
	}
	ports := rootPorts(devices)
	for _, d := range slices.Clone(devices.Children) {
		if len(ports) == 0 || d.Child("address") != nil || !takesRootPort(d) {
			continue
		}
		name := d.UserAlias()
		address := before[name].PCI
		if name == "" || address == "" || used[address] {
			address = freePort(devices, &ports, used, held)
		}
		if address == "" {
			continue // libvirt will say that there is no more room
		}
		used[address] = true
		d.Append(pciElement(address))
	}
	for name, s := range slotsOf(devices) {
		slots[name] = s
	}
	// A hole that had to be given away is nobody's any more.
	for name, s := range slots {
		if s.PCI != "" && used[s.PCI] && !hasAddress(devices, name, s.PCI) {
			delete(slots, name)
		}
	}
	return slots
}

// settle gives devices that were plugged into the running machine, and have no place in its definition yet, the one that
// they have there.
func settle(devices, live *Element) {
	running := live.Child("devices")
	if running == nil {
		return
	}
	taken := map[string]bool{}
	for _, d := range devices.Children {
		if a := d.Child("address"); a != nil {
			taken[d.Name+a.String()] = true
			taken[pciAddress(d)] = true
		}
	}
	for _, d := range devices.Children {
		there := pair("devices/"+d.Name, []*Element{d}, running.All(d.Name))[d]
		if there == nil || d.Child("address") != nil || d.UserAlias() == "" || d.UserAlias() != there.UserAlias() {
			continue
		}
		if !sameBus(d, there) {
			continue // on another bus it is another device to the guest
		}
		if address := there.Child("address"); address != nil && !taken[d.Name+address.String()] && (pciAddress(there) == "" || !taken[pciAddress(there)]) {
			d.Append(address.Clone())
		}
		if t := d.Child("target"); d.Name == "disk" && t != nil && t.Attr("dev") == "" {
			t.Attrs = append([]Attr{{"dev", there.Child("target").Attr("dev")}}, t.Attrs...)
		}
	}
}

// sameBus says whether two devices go into the same kind of place, as far as a says it.
func sameBus(a, b *Element) bool {
	for _, says := range []func(*Element) string{
		func(e *Element) string { return e.Child("target").Attr("bus") },
		func(e *Element) string { return e.Child("model").Attr("type") },
		func(e *Element) string { return e.Attr("bus") },
		func(e *Element) string { return e.Attr("model") },
	} {
		if said := says(a); said != "" && said != says(b) {
			return false
		}
	}
	return true
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
		for _, c := range devices.All("controller") {
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
	for _, c := range devices.All("controller") {
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
