package manifest

import (
	"fmt"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"
)

// maxCPUs is more than any machine type of QEMU takes; it keeps the product of a topology from overflowing.
const maxCPUs = 1 << 14

// specChecker checks a template's spec.
type specChecker struct {
	checker
	partial bool // another document may supply what is missing
}

func (c *specChecker) check(spec *InstanceSpec) {
	c.domain(&spec.Domain)
	orders := map[uint]string{}
	c.disks(spec.Domain.Devices.Disks, orders)
	c.interfaces(spec.Domain.Devices.Interfaces, orders)
	c.networks(spec.Networks)
	c.volumes(spec.Volumes)
}

func (c *specChecker) domain(d *DomainSpec) {
	if cpu := d.CPU; cpu != nil {
		product := uint64(1)
		for _, n := range []uint32{cpu.Sockets, cpu.Cores, cpu.Threads} {
			product = min(product, maxCPUs+1) * uint64(max(n, 1))
		}
		if product > maxCPUs {
			c.add("domain.cpu", fmt.Sprintf("sockets × cores × threads is more than %d", maxCPUs))
		}
	}
	if d.Memory != nil {
		c.size("domain.memory.guest", d.Memory.Guest)
	}
	f := d.Firmware
	if f == nil {
		return
	}
	if f.UUID != "" && !uuidForm.MatchString(string(f.UUID)) {
		c.add("domain.firmware.uuid", quoted(string(f.UUID))+" is not a UUID")
	}
	if f.Bootloader != nil && f.Bootloader.BIOS != nil && f.Bootloader.EFI != nil {
		c.add("domain.firmware.bootloader", "says bios and efi; take one out")
	}
}

func (c *specChecker) disks(disks []kubevirt.Disk, orders map[uint]string) {
	const list = "domain.devices.disks"
	names := seen{}
	for i, d := range disks {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.label(at+".name", d.Name)
		names.again(&c.checker, list, "name", d.Name, "disk", i)
		c.bootOrder(at, d.BootOrder, orders)
		if d.Disk != nil && d.CDRom != nil {
			c.add(at, "says disk and cdrom; take one out")
		}
		if !serialForm.MatchString(d.Serial) {
			c.add(at+".serial", quoted(d.Serial)+" has characters that libvirt does not take; use letters, digits, "+
				"spaces and \"_-.+\"")
		}
	}
}

func (c *specChecker) interfaces(interfaces []Interface, orders map[uint]string) {
	const list = "domain.devices.interfaces"
	names, macs := seen{}, seen{}
	for i, n := range interfaces {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.label(at+".name", n.Name)
		names.again(&c.checker, list, "name", n.Name, "interface", i)
		c.bootOrder(at, n.BootOrder, orders)
		if n.Bridge != nil && n.Masquerade != nil {
			c.add(at, "says bridge and masquerade; take one out")
		}
		c.addresses(at, n.Addresses)
		if n.MacAddress != "" {
			c.mac(at+".macAddress", n.MacAddress)
			macs.again(&c.checker, list, "macAddress", strings.ReplaceAll(strings.ToLower(n.MacAddress), "-", ":"), "address", i)
		}
	}
}

// mac checks an address. Libvirt refuses multicast ones.
func (c *specChecker) mac(field, mac string) {
	if !macForm.MatchString(mac) {
		c.add(field, quoted(mac)+" is not a MAC address, such as 52:54:00:12:34:56")
		return
	}
	if first, err := strconv.ParseUint(mac[:2], 16, 8); err != nil || first&1 == 1 {
		c.add(field, quoted(mac)+" is a multicast address; the first byte must be even")
	}
}

// bootOrder checks that no two devices have the same place in the order.
func (c *specChecker) bootOrder(at string, order *uint, orders map[uint]string) {
	if order == nil {
		return
	}
	if first, ok := orders[*order]; ok {
		c.add(at+".bootOrder", fmt.Sprintf("%s has %d too; no two devices can", first, *order))
		return
	}
	orders[*order] = at
}

// references checks that disks and volumes, and interfaces and networks, belong together.
func (c *specChecker) references(spec *InstanceSpec) {
	disks, interfaces, networks, volumes := seen{}, seen{}, seen{}, seen{}
	for i, v := range spec.Volumes {
		volumes[v.Name] = i
	}
	for i, n := range spec.Networks {
		networks[n.Name] = i
	}
	for i, d := range spec.Domain.Devices.Disks {
		disks[d.Name] = i
		if _, ok := volumes[d.Name]; !ok {
			c.add(fmt.Sprintf("domain.devices.disks[%d]", i), "there is no volume of the name "+quoted(d.Name)+"; add one to volumes")
		}
	}
	for i, n := range spec.Domain.Devices.Interfaces {
		interfaces[n.Name] = i
		if _, ok := networks[n.Name]; !ok {
			c.add(fmt.Sprintf("domain.devices.interfaces[%d]", i), "there is no network of the name "+quoted(n.Name)+"; add one to networks")
		}
	}
	for i, v := range spec.Volumes {
		if _, ok := disks[v.Name]; !ok {
			c.add(fmt.Sprintf("volumes[%d]", i), "no disk has the name "+quoted(v.Name)+"; add one to domain.devices.disks")
		}
	}
	for i, n := range spec.Networks {
		if _, ok := interfaces[n.Name]; !ok {
			c.add(fmt.Sprintf("networks[%d]", i), "no interface has the name "+quoted(n.Name)+"; add one to domain.devices.interfaces")
		}
	}
}
