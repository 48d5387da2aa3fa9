package render

import (
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// features is <features>. KubeVirt's rule: a feature that is named and says nothing is on.
func features(domain *domxml.Element, f *kubevirt.Features) {
	e := domain.Append(domxml.New("features"))
	if *f.ACPI.Enabled {
		e.Append(domxml.New("acpi"))
	}
	if *f.APIC.Enabled {
		apic := e.Append(domxml.New("apic"))
		if f.APIC.EndOfInterrupt {
			apic.SetAttr("eoi", "on")
		}
	}
	state := func(parent *domxml.Element, name string, s *kubevirt.FeatureState) {
		if s != nil {
			parent.Append(domxml.New(name, "state", onOff(manifest.On(s.Enabled))))
		}
	}
	if f.Hyperv != nil {
		hyperv(e.Append(domxml.New("hyperv")), f.Hyperv, state)
	}
	if p := f.HypervPassthrough; p != nil && manifest.On(p.Enabled) {
		e.Ensure("hyperv").SetAttr("mode", "passthrough")
	}
	state(e, "smm", f.SMM)
	state(e, "pvspinlock", f.Pvspinlock)
	if f.KVM != nil {
		e.Append(domxml.New("kvm")).Append(domxml.New("hidden", "state", onOff(f.KVM.Hidden)))
	}
}

func hyperv(e *domxml.Element, h *kubevirt.FeatureHyperv, state func(*domxml.Element, string, *kubevirt.FeatureState)) {
	e.SetAttr("mode", "custom")
	state(e, "relaxed", h.Relaxed)
	state(e, "vapic", h.VAPIC)
	if s := h.Spinlocks; s != nil {
		spin := e.Append(domxml.New("spinlocks", "state", onOff(manifest.On(s.Enabled))))
		if s.Retries != nil {
			spin.SetAttr("retries", strconv.FormatUint(uint64(*s.Retries), 10))
		} else if manifest.On(s.Enabled) {
			spin.SetAttr("retries", "4096") // KubeVirt's default; libvirt demands a number
		}
	}
	state(e, "vpindex", h.VPIndex)
	state(e, "runtime", h.Runtime)
	state(e, "synic", h.SyNIC)
	if t := h.SyNICTimer; t != nil {
		timer := e.Append(domxml.New("stimer", "state", onOff(manifest.On(t.Enabled))))
		state(timer, "direct", t.Direct)
	}
	state(e, "reset", h.Reset)
	if v := h.VendorID; v != nil {
		id := e.Append(domxml.New("vendor_id", "state", onOff(manifest.On(v.Enabled))))
		if v.VendorID != "" {
			id.SetAttr("value", v.VendorID)
		}
	}
	state(e, "frequencies", h.Frequencies)
	state(e, "reenlightenment", h.Reenlightenment)
	state(e, "tlbflush", h.TLBFlush)
	state(e, "ipi", h.IPI)
	state(e, "evmcs", h.EVMCS)
}
