package domxml

import "maps"

// Create is the definition of a new domain from what is declared of it: with target names for its disks and with spare
// PCIe root ports. It returns what to remember of its devices' places; libvirt adds the addresses.
func Create(want *Element) (*Element, Slots) {
	next := want.Clone()
	settleBoot(next)
	addRootPorts(next)
	if devices := next.Child("devices"); devices != nil {
		nameTargets(devices, nil, nil)
		return next, slotsOf(devices)
	}
	return next, Slots{}
}

// Redefine is the next definition of a domain that has one: Converge, with every device that stays where it is, and new
// ones where none was. before is what is remembered of devices' places. live is the domain as it runs, nil when it does
// not: a device that was plugged into it keeps the place that it has there, and no new one gets a place that is taken
// there.
func Redefine(have, want, was *Element, before Slots, live *Element) (*Element, []Change, Slots) {
	next, changes := Converge(have, want, was)
	settleBoot(next)
	known := maps.Clone(before)
	if known == nil {
		known = Slots{}
	}
	if devices := have.Child("devices"); devices != nil {
		maps.Copy(known, slotsOf(devices))
	}
	return next, changes, place(next, known, live)
}

// settleBoot removes the boot order by kind where devices have one of their own: libvirt adds <boot dev='hd'/> by itself and
// refuses both together.
func settleBoot(next *Element) {
	devices, os := next.Child("devices"), next.Child("os")
	if devices == nil || os == nil {
		return
	}
	for _, d := range devices.Children {
		if d.Child("boot") != nil {
			for _, b := range os.All("boot") {
				os.Remove(b)
			}
			return
		}
	}
}

// Redact returns a copy in which passwords are digests.
func Redact(e *Element) *Element {
	c := e.Clone()
	redact(c)
	return c
}

func redact(e *Element) {
	for i := range e.Attrs {
		e.Attrs[i].Value = secret(e.Attrs[i].Name, e.Attrs[i].Value)
	}
	for _, c := range e.Children {
		redact(c)
	}
}
