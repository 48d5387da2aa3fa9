package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"
)

// maxCPUs is more than any machine type of QEMU takes; it keeps the product of a topology from overflowing.
const maxCPUs = 1 << 14

var (
	// machineForm is the machine types of x86-64 that have a PCI bus, in libvirt's aliases and QEMU's versioned names.
	machineForm = regexp.MustCompile(`^(q35|pc|pc-(q35|i440fx)-[A-Za-z0-9._-]+)$`)
	// cpuForm is the names of CPU models and features in libvirt's map and QEMU's.
	cpuForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// zoneForm is the names of the time zone database.
	zoneForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*)*$`)
)

func (c *specChecker) domain(d *DomainSpec) {
	c.cpu(d.CPU)
	c.memory(d)
	c.resources(&d.Resources)
	if d.Machine != nil && d.Machine.Type != "" && !machineForm.MatchString(d.Machine.Type) {
		c.add("domain.machine.type", quoted(d.Machine.Type)+" is not an x86-64 machine type; say q35, pc, or a versioned name such as pc-q35-7.2")
	}
	if d.Chassis != nil {
		for _, f := range []struct{ field, value string }{
			{"asset", d.Chassis.Asset}, {"manufacturer", d.Chassis.Manufacturer}, {"serial", d.Chassis.Serial},
			{"sku", d.Chassis.Sku}, {"version", d.Chassis.Version},
		} {
			c.line("domain.chassis."+f.field, f.value)
		}
	}
	c.clock(d.Clock)
	c.features(d.Features)
	c.firmware(d.Firmware, d.Features)
	if pool := d.IOThreadsPolicy != nil && *d.IOThreadsPolicy == kubevirt.IOThreadsPolicySupplementalPool; pool {
		if (d.IOThreads == nil || d.IOThreads.SupplementalPoolThreadCount == nil) && !c.partial {
			c.add("domain.ioThreads.supplementalPoolThreadCount", "is missing; the policy supplementalPool needs the number of threads")
		}
	} else if d.IOThreads != nil && d.IOThreads.SupplementalPoolThreadCount != nil && !c.partial {
		c.add("domain.ioThreads.supplementalPoolThreadCount", "needs ioThreadsPolicy: supplementalPool")
	}
}

// line checks a text that libvirt keeps in one line.
func (c *checker) line(field, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) || strings.TrimSpace(text) != text {
		c.add(field, quoted(text)+" has control characters, or spaces around it; take them out")
	}
}

func (c *specChecker) cpu(cpu *kubevirt.CPU) {
	if cpu == nil {
		return
	}
	product := uint64(1)
	for _, n := range []uint32{max(cpu.Sockets, cpu.MaxSockets), cpu.Cores, cpu.Threads} {
		product = min(product, maxCPUs+1) * uint64(max(n, 1))
	}
	if product > maxCPUs {
		c.add("domain.cpu", fmt.Sprintf("sockets × cores × threads is more than %d", maxCPUs))
	}
	if cpu.MaxSockets != 0 && cpu.MaxSockets < cpu.Sockets {
		c.add("domain.cpu.maxSockets", fmt.Sprintf("is %d, and sockets is %d; say no less than that", cpu.MaxSockets, cpu.Sockets))
	}
	if cpu.Model != "" && !cpuForm.MatchString(cpu.Model) {
		c.add("domain.cpu.model", quoted(cpu.Model)+" is not the name of a CPU model")
	}
	names := seen{}
	for i, f := range cpu.Features {
		at := fmt.Sprintf("domain.cpu.features[%d].name", i)
		if !cpuForm.MatchString(f.Name) && (f.Name != "" || !c.partial) {
			c.add(at, quoted(f.Name)+" is not the name of a CPU feature, such as vmx")
		}
		names.again(&c.checker, "domain.cpu.features", "name", f.Name, "feature", i)
	}
}

// memory checks amounts against each other. Requests stand in for the guest's memory when that is not said.
func (c *specChecker) memory(d *DomainSpec) {
	m := d.Memory
	if m == nil {
		return
	}
	c.size("domain.memory.guest", m.Guest)
	c.size("domain.memory.maxGuest", m.MaxGuest)
	if m.Guest != nil && m.MaxGuest != nil {
		if m.MaxGuest.Cmp(*m.Guest) < 0 {
			c.add("domain.memory.maxGuest", fmt.Sprintf("is %s, and guest is %s; say no less than that", m.MaxGuest, m.Guest))
		} else if balloon := d.Devices.AutoattachMemBalloon; balloon != nil && !*balloon && m.MaxGuest.Cmp(*m.Guest) > 0 {
			c.add("domain.memory.maxGuest", "needs the balloon, by which a guest grows, and autoattachMemBalloon is false; take one out")
		}
	}
	if m.Hugepages == nil {
		return
	}
	const field = "domain.memory.hugepages.pageSize"
	if m.Hugepages.PageSize == "" {
		if !c.partial {
			c.add(field, "is missing; say a size that the host has, such as 2Mi or 1Gi")
		}
		return
	}
	page, fault := parseQuantity(m.Hugepages.PageSize)
	if fault == "" {
		fault = sizeFault(page)
	}
	if fault != "" {
		c.add(field, fault)
		return
	}
	if page.Value()%1024 != 0 {
		c.add(field, "must be whole KiB")
	} else if m.Guest != nil && m.Guest.Value()%page.Value() != 0 {
		c.add(field, fmt.Sprintf("is %s, and the guest's %s are no multiple of it", m.Hugepages.PageSize, m.Guest))
	}
}

// resources checks what KubeVirt takes as the guest's size where that is not said.
func (c *specChecker) resources(r *kubevirt.ResourceRequirements) {
	for _, list := range []struct {
		field string
		of    corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(list.of)) {
			q := list.of[name]
			at := "domain.resources." + list.field + "." + string(name)
			switch {
			case name == corev1.ResourceMemory:
				c.size(at, &q)
			case name == corev1.ResourceCPU:
				if q.Sign() <= 0 || q.Value() > maxCPUs {
					c.add(at, fmt.Sprintf("must be more than 0, and at most %d", maxCPUs))
				}
			case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
				c.add(at, "is not supported; say domain.memory.hugepages")
			default:
				c.add(at, "is something that only a Kubernetes cluster gives out; say memory and cpu only")
			}
		}
	}
}

func (c *specChecker) clock(k *kubevirt.Clock) {
	if k == nil {
		return
	}
	if k.UTC != nil && k.Timezone != nil {
		c.add("domain.clock", "says utc and timezone; take one out")
	}
	if k.Timezone != nil && !zoneForm.MatchString(string(*k.Timezone)) {
		c.add("domain.clock.timezone", quoted(string(*k.Timezone))+" is not a time zone, such as Europe/Berlin")
	}
}

// features checks what contradicts itself: what a feature needs is switched on with it unless it is said to be off.
func (c *specChecker) features(f *kubevirt.Features) {
	if f == nil {
		return
	}
	if p := f.HypervPassthrough; p != nil && f.Hyperv != nil && On(p.Enabled) {
		c.add("domain.features.hypervPassthrough", "cannot be said together with hyperv; take one out")
	}
	if f.Hyperv == nil {
		return
	}
	for _, need := range HypervNeeds(f.Hyperv) {
		if need.Is && *need.On != nil && !On((*need.On).Enabled) {
			c.add("domain.features.hyperv."+need.Of, "needs "+need.Name+", which is off; take one out")
		}
	}
	if v := f.Hyperv.VendorID; v != nil && (len(v.VendorID) > 12 || strings.ContainsAny(v.VendorID, ",")) {
		c.add("domain.features.hyperv.vendorid.vendorid", quoted(v.VendorID)+" is not a vendor's ID: at most 12 letters, and no commas")
	}
}

// HypervNeed is a Hyper-V feature that another one cannot do without.
type HypervNeed struct {
	Of   string // the other one
	Is   bool   // it is on
	Name string
	On   **kubevirt.FeatureState
}

// HypervNeeds are what QEMU's and libvirt's documentation of Hyper-V features demand, the needed behind what needs them.
func HypervNeeds(h *kubevirt.FeatureHyperv) []HypervNeed {
	on := func(s *kubevirt.FeatureState) bool { return s != nil && On(s.Enabled) }
	timer := h.SyNICTimer != nil && On(h.SyNICTimer.Enabled)
	return []HypervNeed{
		{"synictimer", timer, "synic", &h.SyNIC},
		{"synictimer", timer, "vpindex", &h.VPIndex},
		{"synic", on(h.SyNIC), "vpindex", &h.VPIndex},
		{"tlbflush", on(h.TLBFlush), "vpindex", &h.VPIndex},
		{"ipi", on(h.IPI), "vpindex", &h.VPIndex},
		{"evmcs", on(h.EVMCS), "vapic", &h.VAPIC},
	}
}

// On is KubeVirt's rule: a feature that is named and says nothing is on.
func On(enabled *bool) bool { return enabled == nil || *enabled }
