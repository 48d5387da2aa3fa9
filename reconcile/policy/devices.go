package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// hasDevice says whether the agent's file lists a device file, whatever links lead to it.
func (c *checker) hasDevice(p string) bool {
	if unclean(p) != "" {
		return false
	}
	c.ofHost = true
	if slices.Contains(c.policy.HostDevices, "*") {
		return true
	}
	real, err := c.files.Resolve(p)
	return err == nil && slices.ContainsFunc(c.policy.HostDevices, func(entry string) bool {
		to, err := entry, error(nil)
		if strings.HasPrefix(entry, "/") {
			to, err = c.files.Resolve(entry)
		}
		return err == nil && to == real
	})
}

// hostDevice judges a device file.
func (c *checker) hostDevice(u use) {
	if why := c.seed(u.value); why != "" {
		c.add(ruleSeed, u.at(), u.of, u.value, fmt.Sprintf("%s %s", u, why))
		return
	}
	if u.value == "" || c.hasDevice(u.value) || c.outside(u.value, c.policy.HostPaths) == "" {
		return
	}
	c.refuseDevice("host-device", u)
}

func (c *checker) refuseDevice(rule string, u use) {
	c.add(rule, u.at(), u.of, u.value, fmt.Sprintf("%s is a device of the host; to allow it, put %s into policy.hostDevices of the agent's file", u, limit(u.value)))
}

// hostdev judges a device of the host that is given to the guest.
func (c *checker) hostdev(u use) {
	id := deviceOf(u.of)
	if !c.hasName(id) {
		if id == "" {
			id = "*"
		}
		c.add("host-device", u.path, u.of, id, fmt.Sprintf("<hostdev> is a device of the host; to allow it, put %s into policy.hostDevices of the agent's file", limit(id)))
	}
}

// hostdevAddress judges the device behind an interface.
func (c *checker) hostdevAddress(u use) {
	id := pciOf(u.of)
	if !c.hasName(id) {
		c.add("host-device", u.path, u.of, id, fmt.Sprintf("the interface is a device of the host; to allow it, put %s into policy.hostDevices of the agent's file", limit(id)))
	}
}

// hasName says whether the agent's file lists a device that has no file.
func (c *checker) hasName(id string) bool {
	return slices.ContainsFunc(c.policy.HostDevices, func(entry string) bool {
		return entry == "*" || id != "" && strings.EqualFold(entry, id)
	})
}

// deviceOf is the name of a <hostdev>'s device: a PCI address, a USB vendor and product, or the UUID of a mediated device;
// empty for all others.
func deviceOf(e *domxml.Element) string {
	source := e.Child("source")
	if e.Attr("mode") != "subsystem" || source == nil {
		return ""
	}
	switch e.Attr("type") {
	case "pci":
		return pciOf(source.Child("address"))
	case "usb":
		vendor, ok1 := number(source.Child("vendor"), "id")
		product, ok2 := number(source.Child("product"), "id")
		if ok1 && ok2 && vendor <= 0xffff && product <= 0xffff && vendor+product > 0 {
			return fmt.Sprintf("%04x:%04x", vendor, product)
		}
	case "mdev":
		if a := source.Child("address"); a != nil {
			return strings.ToLower(a.Attr("uuid"))
		}
	}
	return ""
}

// pciOf is the PCI address that an element says; empty when it says none that can be read.
func pciOf(e *domxml.Element) string {
	if e == nil || e.Attr("bus") == "" {
		return ""
	}
	var n [4]uint64
	for i, name := range []string{"domain", "bus", "slot", "function"} {
		v, ok := number(e, name)
		if !ok && e.Attr(name) != "" || v > 0xffff {
			return ""
		}
		n[i] = v
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])
}

// number reads an attribute as libvirt does: decimal, or hexadecimal after 0x, or octal after 0.
func number(e *domxml.Element, attr string) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	text := e.Attr(attr)
	if strings.ContainsAny(text, "_bBoO") && !strings.HasPrefix(strings.ToLower(text), "0x") || strings.Contains(text, "_") {
		return 0, false
	}
	v, err := strconv.ParseUint(text, 0, 32)
	return v, err == nil
}
