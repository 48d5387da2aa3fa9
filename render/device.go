package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// alias is how a device carries its name. libvirt keeps user aliases, and nothing else tells one device from another
// once both are defined.
func alias(name string) *domxml.Element { return domxml.New("alias", "name", "ua-"+name) }

func boot(device *domxml.Element, order *uint) {
	if order != nil {
		device.Append(domxml.New("boot", "order", strconv.FormatUint(uint64(*order), 10)))
	}
}

// pciAddress is where in a PCI hierarchy a device is, the guest's or the host's. The address is DOMAIN:BUS:SLOT.FUNCTION,
// which validation has seen to.
func pciAddress(address string) *domxml.Element {
	parts := strings.FieldsFunc(address, func(r rune) bool { return r == ':' || r == '.' })
	e := domxml.New("address")
	for n, name := range []string{"domain", "bus", "slot", "function"} {
		if n < len(parts) {
			e.SetAttr(name, "0x"+strings.ToLower(parts[n]))
		}
	}
	return e
}

// guestAddress gives a device its place in the guest, where the spec says one.
func guestAddress(device *domxml.Element, address string) {
	if address != "" {
		e := device.Append(domxml.New("address", "type", "pci"))
		e.Attrs = append(e.Attrs, pciAddress(address).Attrs...)
	}
}

// isOn says whether an optional switch is on; it is off when it is not said.
func isOn(b *bool) bool { return b != nil && *b }

func text(parent *domxml.Element, name, value string) *domxml.Element {
	e := parent.Append(domxml.New(name))
	e.Text = value
	return e
}

func count(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func at(list string, n int) string { return fmt.Sprintf("domain.devices.%s[%d]", list, n) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
