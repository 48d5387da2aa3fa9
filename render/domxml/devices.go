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
	rest = Compare(withoutDevices(want), withoutDevices(have), withoutDevices(was))
	haves, wants, wases := have.Child("devices"), want.Child("devices"), was.Child("devices")
	if wants == nil {
		wants = New("devices")
	}
	for _, name := range childNames(wants, wases) {
		devices = append(devices, devicesOf("devices/"+name, named(haves, name), named(wants, name), named(wases, name))...)
	}
	return devices, rest
}

// devicesOf is Devices for those of one kind.
func devicesOf(path string, haves, wants, wases []*Element) []DeviceChange {
	var list []DeviceChange
	inHave, before := pair(path, wants, haves), pair(path, wants, wases)
	stays := make(map[*Element]bool, len(wants)) // of wases
	kept := make(map[*Element]bool, len(wants))  // of haves
	for _, w := range wants {
		stays[before[w]], kept[inHave[w]] = true, true
		shown := path + label(path, w)
		h := inHave[w]
		if h == nil {
			list = append(list, DeviceChange{shown, nil, w, w.Clone(), []Change{{shown, "", summary(w)}}})
			continue
		}
		c := &converger{}
		next := h.Clone()
		c.element(path, shown, next, w, before[w])
		if len(c.changes) > 0 {
			list = append(list, DeviceChange{shown, h, w, next, c.changes})
		}
	}
	var gone []*Element
	for _, old := range wases {
		if !stays[old] {
			gone = append(gone, old)
		}
	}
	inHave = pair(path, gone, haves)
	for _, old := range gone {
		if h := inHave[old]; h != nil && !kept[h] && !isPinned(path) {
			shown := path + label(path, old)
			list = append(list, DeviceChange{shown, h, nil, nil, []Change{{shown, summary(h), ""}}})
		}
	}
	return list
}

// Device finds the counterpart of a device, such as one of DeviceChange, among those of a domain; nil when there is none.
func Device(domain, device *Element) *Element {
	devices := domain.Child("devices")
	if devices == nil || device == nil {
		return nil
	}
	return pair("devices/"+device.Name, []*Element{device}, named(devices, device.Name))[device]
}

// withoutDevices is a domain without <devices>, sharing the rest; nil for nil.
func withoutDevices(domain *Element) *Element {
	if domain == nil {
		return nil
	}
	rest := *domain
	rest.Children = nil
	for _, c := range domain.Children {
		if c.Name != "devices" {
			rest.Children = append(rest.Children, c)
		}
	}
	return &rest
}

// IsDevice says whether the path of a change is that of a device, or below one; whole says that it is the device itself.
func IsDevice(path string) (is, whole bool) {
	rest, is := strings.CutPrefix(path, "devices/")
	if !is {
		return false, false
	}
	if i := strings.LastIndexByte(rest, ']'); i >= 0 {
		rest = rest[i+1:]
	}
	return true, !strings.ContainsAny(rest, "/@")
}

// Named finds the device of a kind (disk) that has a name; nil when there is none.
func Named(domain *Element, kind, name string) *Element {
	for _, d := range named(domain.Child("devices"), kind) {
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
	n, ok := bytesOf(e)
	if !ok || !n.IsUint64() {
		return 0, false
	}
	return n.Uint64(), true
}
