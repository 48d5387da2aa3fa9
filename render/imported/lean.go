package imported

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// lean is a definition without what libvirt says of each one like it where nobody does (seen with libvirt 9.0): people need
// not read that. What it does not know for sure, it keeps.
func lean(have *domxml.Element) *domxml.Element {
	e := have.Clone()
	drop := func(parent *domxml.Element, name string, when func(*domxml.Element) bool) {
		if parent != nil {
			for _, c := range slices.Clone(parent.Children) {
				if c.Name == name && when(c) {
					parent.Remove(c)
				}
			}
		}
	}
	drop(e, "clock", func(c *domxml.Element) bool { return only(c, "offset", "utc") })
	machine := e.Child("os/type")
	if !slices.Contains([]string{"x86_64", "i686"}, machine.Attr("arch")) || !strings.HasPrefix(machine.Attr("machine"), "pc-") {
		return e
	}
	devices := e.Child("devices")
	leanCPU(e)
	if os := e.Child("os"); len(os.All("boot")) == 1 && !bootsInOrder(devices) {
		drop(os, "boot", func(c *domxml.Element) bool { return only(c, "dev", "hd") })
	}
	if len(devices.All("audio")) == 1 {
		sound := "none"
		if slices.ContainsFunc(devices.All("graphics"), func(g *domxml.Element) bool { return g.Attr("type") == "spice" }) {
			sound = "spice"
		}
		drop(devices, "audio", func(c *domxml.Element) bool { return only(c, "id", "1", "type", sound) })
	}
	drop(devices, "input", func(c *domxml.Element) bool {
		return only(c, "type", "mouse", "bus", "ps2") || only(c, "type", "keyboard", "bus", "ps2")
	})
	drop(devices, "controller", func(c *domxml.Element) bool { // the one that the chipset q35 has
		a := c.Child("address")
		return strings.Contains(machine.Attr("machine"), "q35") && c.Attr("type") == "sata" && c.Attr("index") == "0" && len(c.Attrs) == 2 && len(c.Children) == 1 && address(c) == "0000:00:1f.2" && len(a.Attrs) == 5
	})
	if all := onSerialBus(devices); len(all) == 1 && all[0].Name == "channel" {
		drop(all[0], "address", func(c *domxml.Element) bool {
			return only(c, "type", "virtio-serial", "controller", "0", "bus", "0", "port", "1")
		})
	}
	if all := devices.All("serial"); len(all) == 1 {
		if target := all[0].Child("target"); target.Attr("type") == "isa-serial" {
			without(target, "type", "isa-serial")
			drop(target, "model", func(c *domxml.Element) bool { return only(c, "name", "isa-serial") })
		}
	}
	for _, d := range devices.All("graphics") {
		if d.Attr("listen") == "" && d.Attr("socket") == "" && len(d.All("listen")) == 1 {
			drop(d, "listen", func(c *domxml.Element) bool { return only(c, "type", "address") })
		}
	}
	for _, d := range devices.All("disk") {
		drop(d, "address", func(c *domxml.Element) bool { return only(c, usualDrive(d.Child("target"))...) })
	}
	return e
}

// leanCPU takes out what libvirt says of a CPU that is not said in detail, and the model that QEMU has where nobody says one.
func leanCPU(e *domxml.Element) {
	cpu, model := e.Child("cpu"), e.Child("cpu/model")
	without(cpu.Child("topology"), "dies", "1")
	switch cpu.Attr("mode") {
	case "host-passthrough":
		without(cpu, "check", "none")
		without(cpu, "migratable", "on")
	case "host-model":
		without(cpu, "check", "partial")
	case "custom":
		usual := map[string]string{"x86_64": "qemu64", "i686": "qemu32"}[e.Child("os/type").Attr("arch")]
		if cpu.Attr("match") == "exact" && cpu.Attr("check") == "none" && usual != "" && model != nil && model.Text == usual && len(cpu.All("feature")) == 0 &&
			model.Attr("fallback") == "forbid" && len(model.Attrs) == 1 {
			cpu.Remove(model)
			for _, attr := range []string{"mode", "match", "check"} {
				cpu.RemoveAttr(attr)
			}
		} else if e.Attr("type") == "qemu" { // emulation is compared with no host
			without(cpu, "check", "none")
		}
	}
}

// bootsInOrder says whether devices have places in the order of booting: libvirt has the first disk boot where none has.
func bootsInOrder(devices *domxml.Element) bool {
	return devices != nil && slices.ContainsFunc(devices.Children, func(d *domxml.Element) bool { return d.Child("boot") != nil })
}

// onSerialBus are the devices that have a port of a virtio-serial controller.
func onSerialBus(devices *domxml.Element) []*domxml.Element {
	var list []*domxml.Element
	if devices != nil {
		for _, d := range devices.Children {
			if d.Child("address").Attr("type") == "virtio-serial" {
				list = append(list, d)
			}
		}
	}
	return list
}

// usualDrive is the address of a disk that has none of its own: its target's name says it, four to an IDE controller and six
// to one of SATA (libvirt's virDomainDiskDefAssignAddress; seen with libvirt 9.0). Names of one letter are enough.
func usualDrive(target *domxml.Element) []string {
	bus, dev := target.Attr("bus"), target.Attr("dev")
	prefix := map[string]string{"ide": "hd", "sata": "sd"}[bus]
	if prefix == "" || len(dev) != 3 || !strings.HasPrefix(dev, prefix) || dev[2] < 'a' || dev[2] > 'z' {
		return []string{"type", "none"}
	}
	n := int(dev[2] - 'a')
	controller, channel, unit := n/6, 0, n%6
	if bus == "ide" {
		controller, channel, unit = n/4, n%4/2, n%2
	}
	return []string{"type", "drive", "controller", fmt.Sprint(controller), "bus", fmt.Sprint(channel), "target", "0", "unit", fmt.Sprint(unit)}
}

// only says whether an element has these attributes, names and values in turns, and nothing else.
func only(e *domxml.Element, attrs ...string) bool {
	if len(e.Children) > 0 || e.Text != "" || len(e.Attrs) != len(attrs)/2 {
		return false
	}
	for n := 0; n < len(attrs); n += 2 {
		if e.Attr(attrs[n]) != attrs[n+1] {
			return false
		}
	}
	return true
}

// without takes an attribute out that has this value.
func without(e *domxml.Element, name, value string) {
	if e != nil && e.Attr(name) == value {
		e.RemoveAttr(name)
	}
}
