package domxml

import (
	"slices"
	"strings"
)

// implied are values that mean the same as nothing: libvirt leaves them out. Paths as in dropped.
var implied = map[where][]string{
	{"*/protocol", "type"}:                    {"raw"},
	{"*/driver", "cache"}:                     {"default"},
	{"*/target", "tray"}:                      {"closed"},
	{"devices/redirfilter/usbdev", "class"}:   {"-1"},
	{"devices/redirfilter/usbdev", "vendor"}:  {"-1"},
	{"devices/redirfilter/usbdev", "product"}: {"-1"},
	{"devices/redirfilter/usbdev", "version"}: {"-1"},
	{"devices/video/model", "primary"}:        {"no"},
	{"devices/interface/driver", "queues"}:    {"1"},
	// SPICE without a port listens nowhere, which libvirt says in another way.
	{"devices/graphics", "autoport"}: {"no"}, {"devices/graphics", "port"}: {"-1", "0"}, {"devices/graphics", "tlsPort"}: {"-1", "0"},
	{"devices/graphics", "p2p"}: {"no"},
	{"seclabel", "relabel"}:     {"yes", "no"}, // libvirt always says it where there is something to label with
	{"cpu/model", "fallback"}:   {"allow"},
}

// hollow are elements that mean nothing when nothing is in them.
var hollow = []string{
	"features", "memtune", "cputune", "blkiotune", "numatune", "memoryBacking", "iothreadids", "metadata", "pm", "perf",
	"devices", "qemu:commandline", "devices/disk/iotune", "devices/interface/bandwidth", "devices/interface/tune",
}

// unlimited is what libvirt takes for no limit of memory, in KiB.
const unlimited = 1<<53 - 1

// isImplied says whether an attribute that is not there has the value anyway.
func (s site) isImplied(attr, value string) bool {
	if slices.Contains(implied[where{s.path, attr}], value) {
		return true
	}
	last := strings.LastIndexByte(s.path, '/')
	return last >= 0 && slices.Contains(implied[where{"*" + s.path[last:], attr}], value)
}

// isEmpty says whether an element that is not there says nothing: all of it is dropped or implied.
func (s site) isEmpty() bool {
	if s.isDropped("") {
		return true
	}
	if parentOf(s.path) == "memtune" {
		n := memory.of(s.e)
		return n != nil && n.IsInt64() && n.Int64() >= unlimited
	}
	if s.e.Text != "" {
		return parentOf(s.path) == "cputune" && number.canonical(s.e.Text) == "0"
	}
	said := false
	for _, a := range s.e.Attrs {
		if isNamespace(a.Name) {
			continue
		}
		if !s.isDropped(a.Name) && !s.isImplied(a.Name, a.Value) {
			return false
		}
		said = true
	}
	for _, child := range s.e.Children {
		below := site{join(s.path, child.Name), child, s.e, s.root, s.have}
		if !below.isEmpty() {
			return false
		}
		said = true
	}
	return said || slices.Contains(hollow, s.path)
}

func isNamespace(attr string) bool { return attr == "xmlns" || strings.HasPrefix(attr, "xmlns:") }
