package domxml

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The conditions of the rules.

func always(site) bool { return true }

func has(list []string, s string) bool { return slices.Contains(list, s) }

// userAlias is the pattern of names that libvirt leaves to its users.
var userAlias = regexp.MustCompile(`^ua-[A-Za-z0-9_-]+$`)

// generatedTap begins the names that libvirt gives to tap and macvtap devices.
var generatedTap = regexp.MustCompile(`^(vnet|macvtap|macvlan)`)

// notFor says whether an interface is of another type than the one that has a use for something.
func notFor(kind string) func(site) bool {
	return func(s site) bool { return s.parent.Attr("type") != kind }
}

// filtered are the types of interfaces that take a network filter.
var filtered = []string{"ethernet", "network", "bridge"}

var virtioModels = []string{"virtio", "virtio-transitional", "virtio-non-transitional"}

// virtioNIC says whether an interface has the settings of virtio. Where the model is not declared it is the one that libvirt
// chose, and one that is to come may be any.
func virtioNIC(s site) bool {
	if s.parent.Attr("type") == "hostdev" {
		return false
	}
	model := s.parent.Child("model").Attr("type")
	if model == "" {
		if s.now == nil {
			return true
		}
		model = s.now.Child("model").Attr("type")
	}
	return has(virtioModels, strings.ToLower(model))
}

// readOnly says whether a disk is, said or not: libvirt then takes no snapshots of it.
func readOnly(e *Element) bool { return e.Child("readonly") != nil || e.Attr("device") == "cdrom" }

// namesSource says whether a disk has a source that says more than what to do when it is missing.
func namesSource(e *Element) bool {
	s := e.Child("source")
	return s != nil && (len(s.Children) > 0 || slices.ContainsFunc(s.Attrs, func(a Attr) bool {
		return a.Name != "startupPolicy" && a.Name != "index"
	}))
}

var chardevs = []string{"serial", "parallel", "console", "channel", "redirdev", "smartcard", "rng"}

// isChardev says whether a path is below a character device, or below what is like one.
func isChardev(path string) bool {
	rest, ok := strings.CutPrefix(path, "devices/")
	if !ok {
		return false
	}
	name, _, below := strings.Cut(rest, "/")
	return below && has(chardevs, name)
}

// sourceAttrs are what the source of each type of character device is described by. Those without are made by libvirt, or by
// QEMU alone.
var sourceAttrs = map[string][]string{
	"file": {"path", "append"}, "dev": {"path"}, "pipe": {"path"}, "unix": {"path", "mode"}, "tcp": {"mode", "host", "service", "tls"},
	"udp": {"mode", "host", "service"}, "spiceport": {"channel"}, "dbus": {"channel"}, "nmdm": {"master", "slave"},
	"pty": {}, "null": {}, "vc": {}, "stdio": {}, "spicevmc": {}, "qemu-vdagent": {},
}

// useless says whether the type of a character device has no use for an attribute of its source.
func useless(attr string) func(site) bool {
	return func(s site) bool {
		attrs, known := sourceAttrs[s.parent.Attr("type")]
		return known && isChardev(s.path) && !has(attrs, attr)
	}
}

// noSource says whether a character device keeps nothing of a source. On UDP it has one of each mode, the first.
func noSource(s site) bool {
	if !isChardev(s.path) {
		return false
	}
	t := s.parent.Attr("type")
	attrs, known := sourceAttrs[t]
	if t == "udp" {
		return udpMode(s.e) == "" || slices.ContainsFunc(s.parent.Children[:max(0, slices.Index(s.parent.Children, s.e))], func(o *Element) bool {
			return o.Name == "source" && udpMode(o) == udpMode(s.e)
		})
	}
	return known && len(attrs) == 0 && s.e.Child("clipboard") == nil && s.e.Child("mouse") == nil
}

// udpMode is which end a source on UDP is, empty when it says nothing of it.
func udpMode(e *Element) string {
	if e.Attr("host") == "" && e.Attr("service") == "" {
		return ""
	}
	if e.Attr("mode") == "bind" {
		return "bind"
	}
	return "connect"
}

// noReconnect says whether a source has nobody to connect to again.
func noReconnect(s site) bool { return isChardev(s.path) && s.parent.Attr("mode") == "bind" }

// generatedSocket says whether a character device is on a socket whose path libvirt makes up: it is given none, or one of
// libvirt's pattern for channels. Libvirt then keeps neither the path nor which end it is.
func generatedSocket(e *Element) bool {
	if e.Attr("type") != "unix" {
		return false
	}
	path := e.Child("source").Attr("path")
	return path == "" || e.Name == "channel" && generatedChannel.MatchString(path) && strings.HasSuffix(path, e.Child("target").Attr("name"))
}

var generatedChannel = regexp.MustCompile(`/channel/target/[^/]+\.|/domain-[^/]+/[^/]*$|/channel/[0-9]+-[^/]+/[^/]*$`)

// doublesSerial says whether a console is the first on a serial port, and a serial port is declared too.
func doublesSerial(s site, console *Element) bool {
	if s.root.Child("devices/serial") == nil || !isSerialConsole(console) {
		return false
	}
	for _, c := range s.root.Child("devices").All("console") {
		if isSerialConsole(c) {
			return c == console
		}
	}
	return false
}

func ofSerial(s site) bool { return doublesSerial(s, s.parent) }

// isSerialConsole says whether a console is on a serial port.
func isSerialConsole(e *Element) bool {
	t := e.Child("target").Attr("type")
	return t == "" || t == "serial"
}

// addressed are the types of listening that have an address, which is the default.
var addressed = []string{"", "address"}

// autoPort says whether graphics are on a port that libvirt chooses at each start, or on none.
func autoPort(s site) bool { return s.e.Attr("autoport") == "yes" || portless(s) }

// portless says whether graphics listen on no port.
func portless(s site) bool {
	t := s.e.Child("listen").Attr("type")
	return t == "socket" || t == "none" || s.e.Attr("socket") != ""
}

// noSPICE says whether graphics are SPICE without a port, which listens nowhere.
func noSPICE(e *Element) bool {
	return e.Attr("type") == "spice" && e.Attr("port") == "" && e.Attr("tlsPort") == "" && e.Attr("autoport") != "yes"
}

// misplaced says whether an input device has an address of another bus.
func misplaced(s site) bool {
	bus, kind := s.parent.Attr("bus"), s.parent.Attr("type")
	if s.e.Attr("type") == "pci" {
		return bus != "virtio"
	}
	return bus == "ps2" || bus == "" && (kind == "mouse" || kind == "keyboard")
}

func off(s site) bool { return s.e.Attr("state") == "off" }

func typeless(s site) bool   { return s.parent.Attr("type") == "" }
func noneModel(s site) bool  { return s.parent.Attr("model") == "none" }
func noneParent(s site) bool { return s.parent.Attr("type") == "none" }
func noneVideo(s site) bool  { return s.parent.Child("model").Attr("type") == "none" }
func noneType(s site) bool   { return s.e.Attr("type") == "none" }

// beyondCPUs says whether a pin is one of a vCPU that there is not.
func beyondCPUs(s site) bool {
	n, err := strconv.Atoi(s.e.Attr("vcpu"))
	if err != nil {
		return false
	}
	count, err := strconv.Atoi(s.root.Child("vcpu").text())
	return err == nil && n >= count
}

// noPriority says whether a scheduler has no priorities.
func noPriority(s site) bool { return s.e.Attr("scheduler") != "fifo" && s.e.Attr("scheduler") != "rr" }

// customCPU says whether a CPU is one that the declaration describes.
func customCPU(e *Element) bool { return e.Attr("mode") == "" || e.Attr("mode") == "custom" }

// modelless says whether a CPU's model says nothing: it has no name, or the host's CPU is taken.
func modelless(s site) bool {
	mode := s.parent.Attr("mode")
	return s.e.Text == "" && s.e.Attr("vendor_id") == "" || mode == "host-passthrough" || mode == "maximum"
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
