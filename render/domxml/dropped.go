package domxml

import (
	"regexp"
	"slices"
	"strings"
)

// A site is something that is declared, and where.
type site struct {
	path string
	// e is the element that is declared, or whose attribute is; parent is what it is in, and root the domain.
	e, parent, root *Element
	// have is the domain that libvirt has.
	have *Element
}

// where names an element by its path, or an attribute of it.
type where struct{ path, attr string }

// dropped is what libvirt does not keep of a definition: it belongs to a run and not to the inactive XML, or the rest of the
// declaration overrules it. Each rule says under which condition. Sources: the formatdomain page, and what libvirt 9.0 keeps.
var dropped = map[where]func(site) bool{
	{"", "id"}: always, // of a run
	// Libvirt takes aliases of its own pattern only, and makes the others at each start.
	{"*/alias", ""}: func(s site) bool { return !userAlias.MatchString(s.e.Attr("name")) && isDevice(parentOf(s.path)) },
	// Whether the guest has opened it, and the terminal that it is on.
	{"devices/channel/target", "state"}: always,
	{"devices/console", "tty"}:          always,
	// Consoles are counted in their order.
	{"devices/console/target", "port"}: always,
	// The numbers of a run's images, and a block job.
	{"*/source", "index"}:        always,
	{"*/backingStore", "index"}:  always,
	{"*/mirror", ""}:             always,
	{"devices/disk/source", ""}:  func(s site) bool { return len(s.e.Attrs)+len(s.e.Children) == 0 },
	{"*/source/seclabel", ""}:    func(s site) bool { return s.e.Child("label") == nil && s.e.Attr("relabel") != "no" },
	{"*/seclabel", "labelskip"}:  always,
	{"devices/disk", "type"}:     func(s site) bool { return !namesSource(s.e) }, // it is file as long as there is none
	{"devices/disk", "snapshot"}: func(s site) bool { return s.e.Attr("snapshot") == "no" && readOnly(s.e) },
	// The terminal of a pty; the socket that libvirt makes up, together with which end it is.
	{"*/source", ""}: func(s site) bool {
		return isChardev(s.path) && (s.parent.Attr("type") == "pty" || generatedSocket(s.parent))
	},
	// The port that a run got on a virtual network, and the name that its tap device got.
	{"devices/interface/source", "portid"}: func(s site) bool { return s.parent.Attr("type") == "network" },
	{"devices/interface/target", "dev"}: func(s site) bool {
		return s.e.Attr("managed") != "no" && generatedTap.MatchString(s.e.Attr("dev"))
	},
	{"devices/interface/filterref", ""}: func(s site) bool {
		return !slices.Contains([]string{"ethernet", "network", "bridge"}, s.parent.Attr("type"))
	},
	{"devices/interface/coalesce", ""}: func(s site) bool {
		max := s.e.Child("rx/frames").Attr("max")
		return max == "" || number.canonical(max) == "0"
	},
	// They are for virtio NICs.
	{"devices/interface/driver", ""}:       func(s site) bool { return !virtioNIC(s.parent) },
	{"devices/interface/backend", "vhost"}: func(s site) bool { return !virtioNIC(s.parent) },
	{"devices/graphics", "port"}:           autoPort,
	{"devices/graphics", "tlsPort"}:        autoPort,
	{"devices/graphics", "listen"}:         func(s site) bool { return s.e.Attr("socket") != "" },
	{"devices/graphics/listen", ""}:        func(s site) bool { return s.parent.Attr("socket") != "" && s.e.Attr("type") != "socket" },
	{"devices/graphics/listen", "address"}: func(s site) bool { return s.e.Attr("type") == "network" },
	// A device of model none is not there.
	{"devices/memballoon/address", ""}: noneModel, {"devices/memballoon/driver", ""}: noneModel, {"devices/memballoon/stats", ""}: noneModel,
	{"devices/video/address", ""}: noneVideo, {"devices/video/driver", ""}: noneVideo, {"devices/video/model/acceleration", ""}: noneModelType,
	{"devices/video/model", "heads"}: noneVideoModel, {"devices/video/model", "primary"}: noneVideoModel,
	{"devices/video/model", "vram"}: noneVideoModel, {"devices/video/model", "ram"}: noneVideoModel, {"devices/video/model", "vgamem"}: noneVideoModel,
	// The first console doubles the first serial port.
	{"devices/console", ""}: func(s site) bool {
		return s.root.Child("devices/serial") != nil && s.root.Child("devices/console") == s.e && isSerialConsole(s.e)
	},
	{"*/reconnect", "timeout"}: func(s site) bool { return s.e.Attr("enabled") != "yes" },
	// What the vCPUs say one by one, or a placement by what the host has free.
	{"vcpu", "current"}:               func(s site) bool { return s.root.Child("vcpus/vcpu") != nil },
	{"vcpu", "cpuset"}:                func(s site) bool { return s.e.Attr("placement") == "auto" },
	{"cputune/vcpusched", "priority"}: noPriority, {"cputune/iothreadsched", "priority"}: noPriority,
	{"cpu", "match"}:                      func(s site) bool { return s.e.Attr("mode") != "" && s.e.Attr("mode") != "custom" },
	{"features/smm/tseg", ""}:             func(s site) bool { return s.parent.Attr("state") == "off" },
	{"devices/memory/target/current", ""}: always,
	{"cputune/cachetune", "id"}:           always,
	{"cputune/memorytune", "id"}:          always,
	{"cpu/model", ""}:                     func(s site) bool { return s.e.Text == "" && s.e.Attr("vendor_id") == "" },
	{"os/bootmenu", "timeout"}:            func(s site) bool { return s.e.Attr("enable") != "yes" },
	{"os/boot", ""}:                       func(s site) bool { return bootOrdered(s.root) },
	{"seclabel/imagelabel", ""}:           always,
	{"seclabel/label", ""}:                func(s site) bool { return s.parent.Attr("type") != "static" },
}

func always(site) bool { return true }

// isDropped says whether libvirt keeps nothing of an element, or of an attribute of it.
func (s site) isDropped(attr string) bool {
	if f := dropped[where{s.path, attr}]; f != nil && f(s) {
		return true
	}
	last := strings.LastIndexByte(s.path, '/')
	if last < 0 {
		return false
	}
	if s.path[:last] == "metadata" && attr == "" {
		return s.isSurplus()
	}
	if f := dropped[where{"*" + s.path[last:], attr}]; f != nil && f(s) {
		return true
	}
	if above := strings.LastIndexByte(s.path[:last], '/'); above > 0 {
		f := dropped[where{"*" + s.path[above:], attr}]
		return f != nil && f(s)
	}
	return false
}

// userAlias is the pattern of names that libvirt leaves to its users.
var userAlias = regexp.MustCompile(`^ua-[A-Za-z0-9_-]+$`)

// generatedTap begins the names that libvirt gives to tap and macvtap devices.
var generatedTap = regexp.MustCompile(`^(vnet|macvtap|macvlan)`)

func virtioNIC(e *Element) bool {
	return strings.HasPrefix(strings.ToLower(e.Child("model").Attr("type")), "virtio") && e.Attr("type") != "hostdev"
}

// readOnly says whether a disk is, said or not: libvirt then takes no snapshots of it.
func readOnly(e *Element) bool { return e.Child("readonly") != nil || e.Attr("device") == "cdrom" }

// namesSource says whether a disk has a source that says more than what to do when it is missing.
func namesSource(e *Element) bool {
	s := e.Child("source")
	if s == nil {
		return false
	}
	for _, a := range s.Attrs {
		if a.Name != "startupPolicy" && a.Name != "index" {
			return true
		}
	}
	return len(s.Children) > 0
}

// isChardev says whether a path is below a character device.
func isChardev(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) > 2 && slices.Contains(chardevs, parts[1])
}

var chardevs = []string{"serial", "parallel", "console", "channel", "redirdev", "smartcard", "rng"}

// generatedSocket says whether a character device is on a socket whose path libvirt makes up: it is given none, or one of
// libvirt's pattern for channels.
func generatedSocket(e *Element) bool {
	if e.Attr("type") != "unix" {
		return false
	}
	path, name := e.Child("source").Attr("path"), e.Child("target").Attr("name")
	if path == "" {
		return true
	}
	return e.Name == "channel" && name != "" && generatedChannel.MatchString(path) && strings.HasSuffix(path, name)
}

var generatedChannel = regexp.MustCompile(`/channel/target/[^/]+\.|/domain-[^/]+/[^/]*$`)

// autoPort says whether graphics are on a port that libvirt chooses at each start.
func autoPort(s site) bool {
	e := s.e
	switch auto := e.Attr("autoport"); {
	case auto == "yes":
		return true
	case e.Attr("type") == "spice":
		return auto == "" && e.Attr("port") == "-1" && e.Attr("tlsPort") == "-1"
	case auto == "no":
		return false
	}
	return e.Attr("port") == "" || e.Attr("port") == "-1"
}

// bootOrdered says whether devices have a boot order of their own, beside which libvirt takes none by kind.
func bootOrdered(domain *Element) bool {
	devices := domain.Child("devices")
	return devices != nil && slices.ContainsFunc(devices.Children, func(d *Element) bool { return d.Child("boot") != nil })
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// isSurplus says whether libvirt throws an element of the metadata away: it keeps the first of each namespace, and none
// without.
func (s site) isSurplus() bool {
	uri := namespaceOf(s.e, s.parent, s.root)
	if uri == "" {
		return true
	}
	for _, c := range s.parent.Children {
		if c == s.e {
			return false
		}
		if namespaceOf(c, s.parent, s.root) == uri {
			return true
		}
	}
	return false
}

func noneModel(s site) bool      { return s.parent.Attr("model") == "none" }
func noneModelType(s site) bool  { return s.parent.Attr("type") == "none" }
func noneVideo(s site) bool      { return s.parent.Child("model").Attr("type") == "none" }
func noneVideoModel(s site) bool { return s.e.Attr("type") == "none" }

// isSerialConsole says whether a console is on a serial port.
func isSerialConsole(e *Element) bool {
	t := e.Child("target").Attr("type")
	return t == "" || t == "serial"
}

// noPriority says whether a scheduler has no priorities.
func noPriority(s site) bool { return s.e.Attr("scheduler") != "fifo" && s.e.Attr("scheduler") != "rr" }
