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

// filtered are the types of interfaces that take a network filter.
var filtered = []string{"ethernet", "network", "bridge"}

// virtioNIC says whether an interface has the settings of virtio.
func virtioNIC(e *Element) bool {
	return strings.HasPrefix(strings.ToLower(e.Child("model").Attr("type")), "virtio") && e.Attr("type") != "hostdev"
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

// noSource says whether a character device keeps nothing of a source.
func noSource(s site) bool {
	if !isChardev(s.path) {
		return false
	}
	t := s.parent.Attr("type")
	if t == "qemu-vdagent" {
		return s.e.Child("clipboard") == nil && s.e.Child("mouse") == nil
	}
	return has(sourceless, t) || t == "udp" && s.e.Attr("host") == "" && s.e.Attr("service") == ""
}

// noReconnect says whether a source has nobody to connect to again.
func noReconnect(s site) bool { return isChardev(s.path) && s.parent.Attr("mode") == "bind" }

// agent says whether a source is the host's side of the clipboard, which has no end.
func agent(s site) bool { return isChardev(s.path) && s.parent.Attr("type") == "qemu-vdagent" }

// sourceless are the types of character devices whose source libvirt chooses itself, or that have none.
var sourceless = []string{"pty", "null", "vc", "stdio", "spicevmc"}

// generatedSocket says whether a character device is on a socket whose path libvirt makes up: it is given none, or one of
// libvirt's pattern for channels. Libvirt then keeps neither the path nor which end it is.
func generatedSocket(e *Element) bool {
	if e.Attr("type") != "unix" {
		return false
	}
	path := e.Child("source").Attr("path")
	return path == "" || e.Name == "channel" && generatedChannel.MatchString(path) && strings.HasSuffix(path, e.Child("target").Attr("name"))
}

var generatedChannel = regexp.MustCompile(`/channel/target/[^/]+\.|/domain-[^/]+/[^/]*$`)

// doublesSerial says whether a console is the first, on a serial port that is declared too.
func doublesSerial(s site, console *Element) bool {
	return s.root.Child("devices/serial") != nil && s.root.Child("devices/console") == console && isSerialConsole(console)
}

func ofSerial(s site) bool { return doublesSerial(s, s.parent) }

// isSerialConsole says whether a console is on a serial port.
func isSerialConsole(e *Element) bool {
	t := e.Child("target").Attr("type")
	return t == "" || t == "serial"
}

// autoPort says whether graphics are on a port that libvirt chooses at each start, or on none.
func autoPort(s site) bool { return s.e.Attr("autoport") == "yes" || portless(s) }

// portless says whether graphics listen on no port.
func portless(s site) bool {
	t := s.e.Child("listen").Attr("type")
	return t == "socket" || t == "none" || s.e.Attr("socket") != ""
}

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
