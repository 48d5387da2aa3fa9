package domxml

import (
	"regexp"
	"strconv"
	"strings"
)

// A form is how libvirt reads a value, so that other spellings of it are the same.
type form int

const (
	verbatim form = iota
	// number: people write decimal and libvirt hexadecimal, or the other way round, with or without leading zeros.
	number
	// caseless values are enumerations that libvirt reads in any case, or hexadecimal digits.
	caseless
	// bitmap is a list of CPUs or nodes.
	bitmap
	// octal is a file's mode, which libvirt prints without the leading zero.
	octal
	// bcd is a USB version: 9.4 is 9.40.
	bcd
)

// forms of attributes by their name, whatever element they are on.
var forms = map[string]form{
	// addresses
	"domain": number, "bus": number, "slot": number, "function": number, "controller": number, "unit": number,
	"target": number, "port": number, "index": number, "reg": number, "iobase": number, "irq": number, "base": number,
	"cssid": number, "ssid": number, "devno": number, "uid": number, "fid": number, "chassis": number,
	"chassisNr": number, "busNr": number, "cid": number, "id": number, "vcpu": number, "iothread": number, "hotplugged": number,
	// counts and sizes
	"sockets": number, "dies": number, "clusters": number, "cores": number, "threads": number, "current": number, "slots": number,
	"queues": number, "queue_size": number, "rx_queue_size": number, "tx_queue_size": number, "vectors": number, "ports": number,
	"heads": number, "ram": number, "vram": number, "vram64": number, "vgamem": number, "order": number,
	"logical_block_size": number, "physical_block_size": number, "max_sectors": number, "cmd_per_lun": number,
	"maxGrants": number, "maxEventChannels": number, "timeout": number, "delay": number, "rebootTimeout": number,
	"cellid": number, "level": number, "average": number, "peak": number, "burst": number, "floor": number,
	"period": number, "bytes": number, "priority": number, "tlsPort": number, "websocket": number, "start": number, "end": number,
	"cyls": number, "secs": number, "limit": number, "slew": number, "threshold": number, "frequency": number,
	"retries": number, "bits": number, "size": number, "memory": number, "prefix": number, "metric": number, "max": number,
	"startport": number, "adjustment": number, "interval": number, "targetPort": number,

	"cpuset": bitmap, "cpus": bitmap, "vcpus": bitmap, "nodeset": bitmap, "iothreads": bitmap,
	"fmode": octal, "dmode": octal,
}

// elementForms are those of attributes that mean something of their own on an element.
var elementForms = map[[2]string]form{
	{"mac", "address"}: caseless, {"model", "type"}: caseless, {"usbdev", "version"}: bcd, {"usbdev", "class"}: number,
	{"usbdev", "vendor"}: number, {"usbdev", "product"}: number, {"parameters", "instanceid"}: caseless,
	{"parameters", "interfaceid"}: caseless, {"address", "uuid"}: caseless, {"parameters", "managerid"}: number,
	{"parameters", "typeid"}: number, {"parameters", "typeidversion"}: number, {"uid", "target"}: number,
	{"latency", "value"}: number, {"bandwidth", "value"}: number, {"gid", "target"}: number, {"uid", "count"}: number, {"gid", "count"}: number,
}

// canonical is the form in which two spellings of one attribute value are equal.
func canonical(element, attr, value string) string {
	f, ok := elementForms[[2]string{element, attr}]
	if !ok {
		f = forms[attr]
	}
	return f.canonical(value)
}

func (f form) canonical(value string) string {
	switch f {
	case number:
		base := 10
		digits := value
		if d, ok := strings.CutPrefix(strings.ToLower(value), "0x"); ok {
			base, digits = 16, d
		}
		if n, err := strconv.ParseInt(digits, base, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case caseless:
		return strings.ToLower(value)
	case octal:
		if n, err := strconv.ParseUint(value, 8, 32); err == nil {
			return strconv.FormatUint(n, 8)
		}
	case bcd:
		whole, part, _ := strings.Cut(value, ".")
		return strings.TrimLeft(whole, "0") + "." + (part + "00")[:max(2, len(part))]
	case bitmap:
		return canonicalBitmap(value)
	case verbatim:
	}
	return value
}

func sameValue(element, attr, want, have string) bool {
	return want == have || canonical(element, attr, want) == canonical(element, attr, have)
}

// versioned is a machine type that has a version: pc-q35-7.2, virt-7.2, pseries-7.2, s390-ccw-virtio-7.2.
var versioned = regexp.MustCompile(`^(.+)-[0-9]+(\.[0-9]+)*$`)

// sameMachine knows that libvirt stores an alias as the versioned name that it meant when the domain was defined, and
// that this name then stays. The alias is the name without the version, and two names are older than the rule.
func sameMachine(want, have string) bool {
	base := versioned.FindStringSubmatch(have)
	if base == nil {
		return false
	}
	switch want {
	case "q35":
		return base[1] == "pc-q35"
	case "pc":
		return base[1] == "pc-i440fx" || base[1] == "pc"
	}
	return want == base[1]
}

// numbers are elements whose text is a number, without a unit.
var numbers = []string{"vcpu", "iothreads", "cputune/", "blkiotune/", "devices/disk/iotune/", "devices/memory/target/node"}

// sameText compares the text of two elements, together with their units.
func sameText(path string, want, have *Element) bool {
	a, isAmount := amountOf(path, want)
	if want.Text == have.Text && (!isAmount || want.Attr(a.unit) == have.Attr(a.unit)) {
		return true
	}
	switch name := path[strings.LastIndexByte(path, '/')+1:]; {
	case path == "uuid" || path == "genid" || strings.HasPrefix(path, "devices/") && name == "uuid":
		return strings.EqualFold(strings.ReplaceAll(want.Text, "-", ""), strings.ReplaceAll(have.Text, "-", ""))
	case name == "nodemask":
		return canonicalBitmap(want.Text) == canonicalBitmap(have.Text)
	}
	_, declared := want.lookup("unit")
	_, kept := have.lookup("unit")
	if declared || kept || amounts[path] != (amount{}) {
		return a.same(want, have)
	}
	for _, prefix := range numbers {
		if path == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
			return number.canonical(want.Text) == number.canonical(have.Text)
		}
	}
	return false
}
