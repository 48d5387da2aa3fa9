package manifest

import (
	"fmt"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"
)

// occupied is what two devices cannot both have.
type occupied struct {
	orders    map[uint]string   // of booting
	aliases   map[string]string // names: libvirt tells devices apart by them
	addresses map[string]string // in the guest's PCI
	indexes   map[int]string    // of ACPI
}

func (c *specChecker) devices(d *Devices) {
	o := occupied{map[uint]string{}, map[string]string{}, map[string]string{}, map[int]string{}}
	c.disks(d.Disks, o)
	c.interfaces(d.Interfaces, o)
	for i, f := range d.Filesystems {
		at := fmt.Sprintf("domain.devices.filesystems[%d]", i)
		c.deviceName(at, f.Name, o)
		if len(f.Name) > 36 {
			c.add(at+".name", quoted(f.Name)+" is longer than the 36 letters that virtiofs has for it")
		}
		if f.Virtiofs == nil && !c.partial {
			c.add(at+".virtiofs", "is missing; say virtiofs: {}")
		}
	}
	for i, in := range d.Inputs {
		at := fmt.Sprintf("domain.devices.inputs[%d]", i)
		c.deviceName(at, in.Name, o)
		if in.Type == "" && !c.partial {
			c.add(at+".type", "is missing; say tablet or keyboard")
		}
	}
	for i, h := range d.HostDevices {
		at := fmt.Sprintf("domain.devices.hostDevices[%d]", i)
		c.deviceName(at, h.Name, o)
		c.hostDeviceName(at, h.DeviceName)
	}
	for i, g := range d.GPUs {
		at := fmt.Sprintf("domain.devices.gpus[%d]", i)
		c.deviceName(at, g.Name, o)
		c.hostDeviceName(at, g.DeviceName)
		if g.VirtualGPUOptions != nil && g.VirtualGPUOptions.Display != nil {
			display := g.VirtualGPUOptions.Display
			if ram := display.RamFB; ram != nil && On(ram.Enabled) && !On(display.Enabled) {
				c.add(at+".virtualGPUOptions.display.ramFB", "needs the display, which is off; take one out")
			}
		}
	}
	c.extras(d, o)
}

// extras checks devices of which a machine has one.
func (c *specChecker) extras(d *Devices, o occupied) {
	const at = "domain.devices"
	if w := d.Watchdog; w != nil {
		c.onlyName(at+".watchdog", w.Name, o)
		if w.I6300ESB == nil && !c.partial {
			c.add(at+".watchdog", "says no model; say i6300esb: {}")
		}
	}
	if d.Sound != nil {
		c.onlyName(at+".sound", d.Sound.Name, o)
	}
	if on := d.AutoattachPodInterface; on != nil && *on && len(d.Interfaces) == 0 && !c.partial {
		c.add(at+".autoattachPodInterface", "is not supported; say the interface, and its network in networks")
	}
	if on := d.AutoattachGraphicsDevice; on != nil && !*on && d.Video != nil && d.Video.Type != "" {
		c.add(at+".video", "needs a graphics device, and autoattachGraphicsDevice is false; take one out")
	}
	models := map[kubevirt.PanicDeviceModel]int{}
	for i, p := range d.PanicDevices {
		if p.Model == nil {
			continue
		}
		if first, ok := models[*p.Model]; ok {
			c.add(fmt.Sprintf("%s.panicDevices[%d].model", at, i), fmt.Sprintf("%s.panicDevices[%d] is of the model %s too; take one out", at, first, *p.Model))
		} else {
			models[*p.Model] = i
		}
	}
}

func (c *specChecker) hostDeviceName(at, name string) {
	if name == "" && !c.partial {
		c.add(at+".deviceName", "is missing; say the name that the Host has for the device")
	}
}

// onlyName checks the name of a device that is in no list: another document may have it.
func (c *specChecker) onlyName(at, name string, o occupied) {
	if name != "" || !c.partial {
		c.deviceName(at, name, o)
	}
}

// deviceName checks the name of a device. libvirt keeps one list of them, whatever they are.
func (c *specChecker) deviceName(at, name string, o occupied) {
	c.label(at+".name", name)
	if name == "" {
		return
	}
	list, _, _ := strings.Cut(at, "[")
	if first, ok := o.aliases[name]; !ok {
		o.aliases[name] = at
	} else if strings.HasPrefix(first, list+"[") {
		c.add(at+".name", fmt.Sprintf("duplicate name %s; %s has it too", quoted(name), first))
	} else {
		c.add(at+".name", fmt.Sprintf("%s has the name %s too; libvirt tells devices apart by their names, of whatever kind they are", first, quoted(name)))
	}
}

// guestAddress checks a PCI address in the guest.
func (c *specChecker) guestAddress(field, address string, o occupied) {
	if address == "" {
		return
	}
	c.pciAddress(field, address)
	key := strings.ToLower(address)
	if first, ok := o.addresses[key]; ok {
		c.add(field, fmt.Sprintf("%s has %s too; no two devices can", first, address))
		return
	}
	o.addresses[key] = field
}

// bootOrder checks that no two devices have the same place in the order.
func (c *specChecker) bootOrder(at string, order *uint, o occupied) {
	if order == nil {
		return
	}
	if first, ok := o.orders[*order]; ok {
		c.add(at+".bootOrder", fmt.Sprintf("%s has %d too; no two devices can", first, *order))
		return
	}
	o.orders[*order] = at
}

func (c *specChecker) interfaces(interfaces []Interface, o occupied) {
	const list = "domain.devices.interfaces"
	macs := seen{}
	for i, n := range interfaces {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.deviceName(at, n.Name, o)
		c.bootOrder(at, n.BootOrder, o)
		c.guestAddress(at+".pciAddress", n.PciAddress, o)
		c.bindings(at, n)
		c.addresses(at, n.Addresses)
		if n.MacAddress != "" {
			c.mac(at+".macAddress", n.MacAddress)
			macs.again(&c.checker, list, "macAddress", strings.ReplaceAll(strings.ToLower(n.MacAddress), "-", ":"), "address", i)
		}
		if n.ACPIIndex == 0 {
			continue
		}
		if n.ACPIIndex > maxACPIIndex {
			c.add(at+".acpiIndex", fmt.Sprintf("must be at most %d", maxACPIIndex))
		} else if first, ok := o.indexes[n.ACPIIndex]; ok {
			c.add(at+".acpiIndex", fmt.Sprintf("%s has %d too; no two devices can", first, n.ACPIIndex))
		} else {
			o.indexes[n.ACPIIndex] = at
		}
	}
}

// maxACPIIndex is QEMU's: a guest's firmware hands on no larger one.
const maxACPIIndex = 16*1024 - 1

func (c *specChecker) bindings(at string, n Interface) {
	var said []string
	for _, b := range []struct {
		name string
		is   bool
	}{{"bridge", n.Bridge != nil}, {"masquerade", n.Masquerade != nil}, {"sriov", n.SRIOV != nil}, {"macvtap", n.DeprecatedMacvtap != nil}} {
		if b.is {
			said = append(said, b.name)
		}
	}
	if len(said) == 2 {
		c.add(at, "says "+strings.Join(said, " and ")+"; take one out")
	} else if len(said) > 2 {
		c.add(at, "says "+strings.Join(said, " and ")+"; take out all but one")
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
