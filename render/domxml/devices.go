package domxml

import "strings"

// DeviceChange is a device that differs from what is declared of it.
type DeviceChange struct {
	// Path is that of the device below <domain>, its name in brackets: devices/disk[root].
	Path string
	// Have is what is there; nil for a device that is to come. Want is what is declared; nil for one that is to go.
	Have, Want *Element
	// Next is what it is to become: what it is, with what is declared over it; nil for one that is to go.
	Next *Element
	// Changes are those of the device, as Compare says them.
	Changes []Change
}

// Devices says what Compare says, the devices' changes apart from those of the rest of the domain.
func Devices(have, want, was *Element) (devices []DeviceChange, rest []Change) {
	c := converge(have, want, was, true)
	all := c.told()
	for _, d := range c.devices {
		list := all
		if len(c.changes) > 0 {
			list = list[d.changes.from:d.changes.to]
		} else {
			list = list[d.consequences.from:d.consequences.to]
		}
		if len(list) > 0 {
			devices = append(devices, DeviceChange{d.shown, d.have, d.want, d.next, list})
		}
	}
	for _, change := range all {
		if !strings.HasPrefix(change.Path, "devices/") {
			rest = append(rest, change)
		}
	}
	return devices, rest
}

// deviceSpan is a device that was converged, and which of the changes are its own.
type deviceSpan struct {
	shown                 string
	have, want, next      *Element
	changes, consequences span
}

type span struct{ from, to int }

// device notes which changes a function makes for a device, when they are asked for.
func (c *converger) device(path, shown string, have, want *Element, converge func() *Element) {
	if !c.apart || !isDevice(path) {
		converge()
		return
	}
	d := deviceSpan{shown: shown, have: have, want: want}
	d.changes.from, d.consequences.from = len(c.changes), len(c.consequences)
	d.next = converge()
	d.changes.to, d.consequences.to = len(c.changes), len(c.consequences)
	c.devices = append(c.devices, d)
}

// Device finds the counterpart of a device, such as one of DeviceChange, among those of a domain; nil when there is none.
func Device(domain, device *Element) *Element {
	devices := domain.Child("devices")
	if devices == nil || device == nil {
		return nil
	}
	return pair("devices/"+device.Name, []*Element{device}, devices.All(device.Name))[device]
}

// Named finds the device of a kind (disk) that has a name; nil when there is none.
func Named(domain *Element, kind, name string) *Element {
	for _, d := range domain.Child("devices").All(kind) {
		if d.UserAlias() == name {
			return d
		}
	}
	return nil
}

// KiB is an amount of memory, by its unit or libvirt's usual one; false for what is none.
func KiB(e *Element) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	n := memory.of(e)
	if n == nil || !n.IsUint64() {
		return 0, false
	}
	return n.Uint64(), true
}
