package domxml

import "strings"

// A site is something that is declared, and where.
type site struct {
	path string
	// e is the element that is declared, or whose attribute is; parent is what it is in, and root the domain.
	e, parent, root *Element
	// have is the domain that libvirt has, and now what it has for the parent; nil when that is to come.
	have, now *Element
}

// where names an element by its path, or an attribute of it.
type where struct{ path, attr string }

// dropped is what libvirt does not keep of a definition: it belongs to a run and not to the inactive XML, or the rest of the
// declaration overrules it. Each rule says under which condition. Sources: the formatdomain page, and what libvirt 9.0 keeps.
var dropped = map[where]func(site) bool{
	{"", "id"}: always, // of a run

	// Disks: what depends on there being a source.
	{"devices/disk/source", ""}:  func(s site) bool { return len(s.e.Attrs)+len(s.e.Children) == 0 },
	{"devices/disk", "type"}:     func(s site) bool { return !namesSource(s.e) }, // it is file then
	{"devices/disk", "snapshot"}: func(s site) bool { return s.e.Attr("snapshot") == "no" && readOnly(s.e) },
	{"os/nvram/source", ""}:      typeless,

	// Character devices: their terminal, and whether the guest has opened a channel. Consoles are counted in their order, and
	// the first one doubles the first serial port.
	{"devices/channel/target", "state"}: always,
	{"devices/console", "tty"}:          always,
	{"devices/console/target", "port"}:  always,
	{"devices/console", ""}:             func(s site) bool { return doublesSerial(s, s.e) && len(s.parent.All("console")) == 1 },
	{"devices/console", "type"}:         func(s site) bool { return doublesSerial(s, s.e) },
	{"devices/console/source", ""}:      ofSerial,
	{"devices/console/protocol", ""}:    ofSerial,
	{"devices/console/log", ""}:         ofSerial,

	// Interfaces: the port that a run got on a virtual network, what that is there, the name that its tap device got, and what other types or
	// models have no use for.
	{"devices/interface/source", "portid"}:    notFor("vds"),
	{"devices/interface/source", "network"}:   notFor("network"),
	{"devices/interface/source", "portgroup"}: notFor("network"),
	{"devices/interface/source", "bridge"}:    notFor("bridge"),
	{"devices/interface/source", "dev"}:       func(s site) bool { return has([]string{"network", "bridge"}, s.parent.Attr("type")) },
	{"devices/interface/source", "mode"}:      func(s site) bool { return has([]string{"network", "bridge"}, s.parent.Attr("type")) },
	{"devices/interface/target", "dev"}:       func(s site) bool { return s.e.Attr("managed") != "no" && generatedTap.MatchString(s.e.Attr("dev")) },
	{"devices/interface/filterref", ""}:       func(s site) bool { return !has(filtered, s.parent.Attr("type")) },
	{"devices/interface/driver", ""}:          func(s site) bool { return !virtioNIC(s) && s.parent.Attr("type") != "hostdev" },
	{"devices/interface/driver", "queues"}:    func(s site) bool { return !virtioNIC(s) },
	{"devices/interface/backend", "vhost"}:    func(s site) bool { return !virtioNIC(s) },

	// Graphics: ports that libvirt chooses, and what sockets have no use for.
	{"devices/graphics", "port"}:     autoPort,
	{"devices/graphics", "tlsPort"}:  autoPort,
	{"devices/graphics", "autoport"}: portless,
	{"devices/graphics", "listen"}:   func(s site) bool { return s.e.Child("listen") != nil || s.e.Attr("socket") != "" || noSPICE(s.e) },
	{"devices/graphics/listen", ""}: func(s site) bool {
		return s.parent.Attr("socket") != "" && has([]string{"", "address"}, s.e.Attr("type"))
	},
	{"devices/graphics/listen", "address"}: func(s site) bool { return !has(addressed, s.e.Attr("type")) || noSPICE(s.parent) },

	// A device of the model none is not there.
	{"devices/memballoon/address", ""}:       noneModel,
	{"devices/memballoon/driver", ""}:        noneModel,
	{"devices/memballoon/stats", ""}:         noneModel,
	{"devices/video/address", ""}:            noneVideo,
	{"devices/video/driver", ""}:             noneVideo,
	{"devices/video/model/acceleration", ""}: noneParent,
	{"devices/video/model", "heads"}:         noneType,
	{"devices/video/model", "primary"}:       noneType,
	{"devices/video/model", "vram"}:          noneType,
	{"devices/video/model", "ram"}:           noneType,
	{"devices/video/model", "vgamem"}:        noneType,
	{"devices/input/address", ""}:            misplaced,
	{"devices/input/driver", ""}:             func(s site) bool { return s.parent.Attr("bus") != "virtio" },
	{"devices/controller/address", ""}:       noneModel,
	{"devices/memory/address", ""}: func(s site) bool {
		return s.e.Attr("type") != "dimm" && s.parent.Attr("model") != "virtio-mem" && s.parent.Attr("model") != "virtio-pmem"
	},
	{"devices/filesystem/driver", "wrpolicy"}: func(s site) bool { return s.e.Attr("type") == "" },
	{"devices/memory/target/current", ""}:     always,

	// CPUs: what they say one by one, placement by what the host has free, pins of CPUs that there are not, priorities of
	// schedulers that have none, the numbers of resource groups of a run.
	{"vcpu", "current"}:                   func(s site) bool { return s.root.Child("vcpus/vcpu") != nil },
	{"vcpu", "cpuset"}:                    func(s site) bool { return s.e.Attr("placement") == "auto" },
	{"cputune/vcpupin", ""}:               beyondCPUs,
	{"cputune/vcpusched", "priority"}:     noPriority,
	{"cputune/iothreadsched", "priority"}: noPriority,
	{"devices/tpm/backend", "version"}:    func(s site) bool { return s.e.Attr("type") != "emulator" },
	{"devices/graphics", "passwdValidTo"}: func(s site) bool { return s.e.Attr("passwd") == "" },
	{"devices/graphics", "connected"}:     func(s site) bool { return s.e.Attr("passwd") == "" },
	{"cputune/cachetune", "id"}:           always,
	{"cputune/memorytune", "id"}:          always,
	{"cpu", "match"}:                      func(s site) bool { return !customCPU(s.e) || s.e.Child("model").text() == "" },
	{"cpu", "check"}:                      func(s site) bool { return customCPU(s.e) && s.e.Child("model").text() == "" },
	{"cpu/model", ""}:                     modelless,

	{"os/bootmenu", "timeout"}:               func(s site) bool { return s.e.Attr("enable") != "yes" },
	{"os/boot", ""}:                          func(s site) bool { return bootOrdered(s.root) },
	{"features/hyperv/vendor_id", "value"}:   off,
	{"features/hyperv/spinlocks", "retries"}: off,
	{"features/hyperv/stimer/direct", ""}:    func(s site) bool { return s.parent.Attr("state") == "off" },
	{"features/smm/tseg", ""}:                func(s site) bool { return s.parent.Attr("state") == "off" },

	// Labels: those of a run, and of a model that labels nothing.
	{"seclabel/imagelabel", ""}: always,
	{"seclabel/label", ""}:      func(s site) bool { return s.parent.Attr("type") != "static" || s.parent.Attr("model") == "none" },
	{"seclabel/baselabel", ""}:  func(s site) bool { return s.parent.Attr("model") == "none" },
	{"seclabel", ""}:            func(s site) bool { return s.e.Attr("type") == "" },
}

// anywhere is what libvirt does not keep wherever it stands, by the end of its path.
var anywhere = map[where]func(site) bool{
	// Libvirt takes aliases of its own pattern only, and makes the others at each start.
	{"alias", ""}: func(s site) bool { return isDevice(parentOf(s.path)) && !userAlias.MatchString(s.e.Attr("name")) },
	// The numbers of a run's images, and a block job. A backing chain ends at an element without a type.
	{"source", "index"}:               always,
	{"backingStore", "index"}:         always,
	{"mirror", ""}:                    always,
	{"backingStore/format", ""}:       typeless,
	{"backingStore/source", ""}:       typeless,
	{"backingStore/backingStore", ""}: typeless,
	{"reconnect", "timeout"}:          func(s site) bool { return s.e.Attr("enabled") != "yes" },
	// What the type of a character device has no use for.
	{"source", ""}:           noSource,
	{"source/reconnect", ""}: noReconnect,
	{"source", "path"}:       useless("path"), {"source", "mode"}: useless("mode"), {"source", "host"}: useless("host"), {"source", "service"}: useless("service"),
	{"source", "channel"}: useless("channel"), {"source", "append"}: useless("append"), {"source", "master"}: useless("master"), {"source", "slave"}: useless("slave"),
	{"protocol", ""}:          func(s site) bool { return isChardev(s.path) && s.parent.Attr("type") != "tcp" },
	{"source/seclabel", ""}:   func(s site) bool { return s.e.Child("label") == nil && s.e.Attr("relabel") != "no" },
	{"seclabel", "labelskip"}: always,
}

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
	if f := anywhere[where{s.path[last+1:], attr}]; f != nil && f(s) {
		return true
	}
	above := strings.LastIndexByte(s.path[:last], '/')
	f := anywhere[where{s.path[above+1:], attr}]
	return f != nil && f(s)
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
