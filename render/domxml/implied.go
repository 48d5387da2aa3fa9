package domxml

import (
	"slices"
	"strings"
)

// implied are values that mean the same as nothing: libvirt leaves them out. Paths as in dropped.
var implied = map[where][]string{
	{"*/protocol", "type"}:                    {"raw"},
	{"*/reconnect", "enabled"}:                {"no"},
	{"*/driver", "cache"}:                     {"default"},
	{"*/target", "tray"}:                      {"closed"},
	{"devices/redirfilter/usbdev", "class"}:   {"-1"},
	{"devices/redirfilter/usbdev", "vendor"}:  {"-1"},
	{"devices/redirfilter/usbdev", "product"}: {"-1"},
	{"devices/redirfilter/usbdev", "version"}: {"-1"},
	{"devices/video/model", "primary"}:        {"no"},
	{"devices/interface/driver", "queues"}:    {"1"},
	// SPICE without a port listens nowhere, which libvirt says in another way.
	{"devices/graphics", "autoport"}:   {"no"},
	{"devices/graphics", "fullscreen"}: {"no"},
	{"devices/interface", "managed"}:   {"no"}, {"devices/hostdev", "managed"}: {"no"},
	{"devices/disk/transient", "shareBacking"}: {"no"}, {"devices/tpm/backend", "persistent_state"}: {"no"}, {"features/hyperv/stimer/direct", "state"}: {"off"},
	{"devices/graphics", "p2p"}: {"no"},
	{"seclabel", "relabel"}:     {"yes", "no"}, // libvirt always says it where there is something to label with
	{"cpu/model", "fallback"}:   {"allow"},
}

// impliedIf are values that mean the same as nothing beside others.
var impliedIf = map[where]func(s site, have *Element, value string) bool{
	{"devices/graphics", "port"}:    noPort,
	{"devices/graphics", "tlsPort"}: noPort,
	{"vcpu", "current"}:             func(s site, _ *Element, value string) bool { return value == s.e.Text },
}

// emptyIf are elements that mean the same as none at all.
var emptyIf = map[where]func(site) bool{
	{"cpu/topology", ""}:               oneSocketEach,
	{"devices/graphics/channel", ""}:   func(s site) bool { return s.e.Attr("mode") == "any" },
	{"devices/interface/coalesce", ""}: func(s site) bool { return number.canonical("0"+s.e.Child("rx/frames").Attr("max")) == "0" },
}

// oneSocketEach says whether a topology is the one that libvirt gives QEMU when none is said: each vCPU is a socket
// (-smp 2,sockets=2,cores=1,threads=1, seen with libvirt 9.0).
func oneSocketEach(s site) bool {
	for _, a := range s.e.Attrs {
		n := number.canonical(a.Value)
		if a.Name == "sockets" && n != number.canonical(s.root.Child("vcpu").text()) || a.Name != "sockets" && n != "1" {
			return false
		}
	}
	return s.e.Attr("sockets") != ""
}

// noPort says whether a port's number is that of none: graphics are then on one that libvirt chooses, or on none.
func noPort(s site, have *Element, value string) bool {
	return value == "0" || value == "-1" && (s.e.Attr("autoport") == "no" || have.Attr("autoport") == "yes")
}

// flags are elements that say something by being there. Other elements that are empty say nothing, but for devices.
var flags = []string{
	"memoryBacking/hugepages", "memoryBacking/nosharepages", "memoryBacking/locked", "memoryBacking/discard",
	"*/readonly", "*/shareable", "*/transient", "*/pmem", "*/backingStore",
}

// containers at the top and among the features are the only elements there that say nothing when they are empty: what is not known might.
var containers = []string{
	"features", "features/hyperv", "features/kvm", "features/xen", "features/tcg", "memtune", "cputune", "blkiotune", "numatune", "memoryBacking", "iothreadids", "metadata", "pm", "perf", "cpu",
	"devices", "os", "clock", "resource", "sysinfo", "vcpus", "idmap", "keywrap", "qemu:commandline", "qemu:capabilities", "qemu:override",
}

// isHollow says whether an element means nothing when nothing is in it.
func isHollow(path string) bool {
	if isDevice(path) {
		return false
	}
	last := strings.LastIndexByte(path, '/')
	if last < 0 || parentOf(path) == "features" {
		return slices.Contains(containers, path)
	}
	return !slices.Contains(flags, path) && !slices.Contains(flags, "*"+path[last:]) &&
		!strings.Contains(path, ":")
}

// unlimited is what libvirt takes for no limit of memory, in KiB.
const unlimited = 1<<53 - 1

// isImplied says whether an attribute that is not there has the value anyway.
func (s site) isImplied(attr, value string, have *Element) bool {
	if f := impliedIf[where{s.path, attr}]; f != nil && f(s, have, value) {
		return true
	}
	if slices.Contains(implied[where{s.path, attr}], value) {
		return true
	}
	last := strings.LastIndexByte(s.path, '/')
	return last >= 0 && slices.Contains(implied[where{"*" + s.path[last:], attr}], value)
}

// isEmpty says whether an element that is not there says nothing: all of it is dropped or implied.
func (s site) isEmpty() bool {
	if s.isDropped("") || isChardev(s.path) && s.e.Name == "source" && generatedSocket(s.parent) {
		return true
	}
	if f := emptyIf[where{s.path, ""}]; f != nil && f(s) {
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
		if !s.isDropped(a.Name) && !s.isImplied(a.Name, a.Value, nil) {
			return false
		}
		said = true
	}
	for _, child := range s.e.Children {
		below := site{path: join(s.path, child.Name), e: child, parent: s.e, root: s.root, have: s.have}
		if !below.isEmpty() {
			return false
		}
		said = true
	}
	return said || isHollow(s.path)
}

func isNamespace(attr string) bool { return attr == "xmlns" || strings.HasPrefix(attr, "xmlns:") }
