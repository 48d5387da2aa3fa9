package domxml

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// alike are attributes of which libvirt keeps another value than is declared, for reasons that lie beside it. Each rule gets
// the site, the element that libvirt has, and both values.
var alike = map[where]func(s site, have *Element, want, kept string) bool{
	{"os/type", "machine"}: func(_ site, _ *Element, want, kept string) bool { return sameMachine(want, kept) },
	// A target without a LUN means the first.
	{"devices/disk/source", "name"}:    sameISCSI,
	{"devices/hostdev/source", "name"}: sameISCSI,
	// vCPUs follow the memory's placement when nothing is pinned.
	{"vcpu", "placement"}: func(s site, _ *Element, want, kept string) bool {
		_, listed := s.e.lookup("cpuset")
		return want == "static" && kept == "auto" && !listed && s.root.Child("numatune/memory").Attr("placement") == "auto" && !pins(s.root)
	},
	// Cell 0 gets the vCPUs that no cell has.
	{"cpu/numa/cell", "cpus"}: sameCell,
	// -1 is the older way to say it.
	{"devices/graphics", "port"}: func(_ site, have *Element, want, _ string) bool {
		return want == "-1" && have.Attr("autoport") == "yes"
	},
	// The path that libvirt makes up when it starts.
	{"devices/channel/source", "path"}: func(s site, _ *Element, _, kept string) bool {
		return generatedSocket(s.parent) && generatedChannel.MatchString(kept) && strings.HasSuffix(kept, s.parent.Child("target").Attr("name"))
	},
	// An adjustment to a fixed offset is a variable one on that basis.
	{"clock", "offset"}: func(s site, have *Element, want, kept string) bool {
		return kept == "variable" && s.e.Attr("adjustment") != "" && (have.Attr("basis") == want || want == "utc" && have.Attr("basis") == "")
	},
	// A virtio-serial address without a port is one to be given.
	{"devices/channel/address", "bus"}: func(s site, _ *Element, _, _ string) bool {
		return s.e.Attr("type") == "virtio-serial" && s.e.Attr("port") == ""
	},
	// SPICE without a port.
	{"devices/graphics/listen", "type"}: func(s site, _ *Element, want, kept string) bool {
		return want == "address" && kept == "none" && noSPICE(s.parent)
	},
	// One video device is the primary one, and the first of them when none says that it is.
	{"devices/video/model", "primary"}: func(s site, _ *Element, want, _ string) bool {
		return want == "no" && !slices.ContainsFunc(s.root.Child("devices").All("video"), func(v *Element) bool {
			return v.Child("model").Attr("primary") == "yes"
		})
	},
	// Video memory is a power of two.
	{"devices/video/model", "ram"}:  samePower,
	{"devices/video/model", "vram"}: samePower,
	// On a host without a security driver there is nothing to label with.
	{"seclabel", "type"}: func(s site, have *Element, want, _ string) bool {
		return have.Attr("model") == "none" && (want == "dynamic" || s.e.Attr("model") == "none")
	},
	{"seclabel", "relabel"}: func(_ site, have *Element, _, _ string) bool { return have.Attr("model") == "none" },
}

// sameAttr compares one attribute's values as libvirt understands them.
func (s site) sameAttr(attr string, have *Element, want, kept string) bool {
	if want == kept || sameValue(s.e.Name, attr, want, kept) {
		return true
	}
	if a, ok := amounts[s.path]; ok && (attr == a.value || attr == a.unit) {
		return a.same(s.e, have)
	}
	f := alike[where{s.path, attr}]
	return f != nil && f(s, have, want, kept)
}

// pins says whether a domain pins anything to CPUs.
func pins(domain *Element) bool {
	tune := domain.Child("cputune")
	return tune.Child("vcpupin") != nil || tune.Child("emulatorpin") != nil || tune.Child("iothreadpin") != nil
}

func sameISCSI(s site, _ *Element, want, kept string) bool {
	return s.e.Attr("protocol") == "iscsi" && !strings.Contains(want, "/") && kept == want+"/0"
}

func samePower(_ site, _ *Element, want, kept string) bool {
	n, err := strconv.ParseUint(want, 10, 32)
	return err == nil && n > 0 && strconv.FormatUint(1<<bits.Len64(n-1), 10) == kept
}

// sameCell compares the vCPUs of a NUMA cell.
func sameCell(s site, _ *Element, want, kept string) bool {
	if id := s.e.Attr("id"); id != "" && number.canonical(id) != "0" || id == "" && s.parent.Child("cell") != s.e {
		return false
	}
	all, ok := parseBitmap(want)
	if !ok {
		return false
	}
	taken := map[int]bool{}
	for _, c := range s.parent.All("cell") {
		if c == s.e {
			continue
		}
		others, ok := parseBitmap(c.Attr("cpus"))
		if !ok && c.Attr("cpus") != "" {
			return false
		}
		for n := range others {
			taken[n] = true
		}
	}
	count, err := strconv.Atoi(s.have.Child("vcpu").text())
	if err != nil || count > maxBit {
		return false
	}
	for n := range count {
		if !taken[n] {
			all[n] = true
		}
	}
	has, ok := parseBitmap(kept)
	if !ok || len(has) != len(all) {
		return false
	}
	for n := range has {
		if !all[n] {
			return false
		}
	}
	return true
}

// follows says whether a difference in an attribute is a consequence: the same was said before, and libvirt kept what it keeps
// now; or what there is could not have it, for a reason that was declared: what libvirt shows of its own accord, such as the
// CPUs of a running domain one by one, is none.
func (s site) follows(old, now site, attr string, next *Element, kept string) bool {
	if v, said := old.e.lookup(attr); said && v == s.e.Attr(attr) && (old.isDropped("") || old.isDropped(attr) || kept != "" && old.sameAttr(attr, next, v, kept)) {
		return true
	}
	return now.e != nil && now.isDropped(attr) && old.root != nil && (old.e == nil || old.isDropped(attr))
}
