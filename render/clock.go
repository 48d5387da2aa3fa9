package render

import (
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// clock is <clock>, where the spec says anything of it.
func clock(domain *domxml.Element, k *kubevirt.Clock) {
	if k == nil {
		return
	}
	e := domain.Append(domxml.New("clock", "offset", "utc"))
	switch {
	case k.Timezone != nil && *k.Timezone == "Local":
		e.SetAttr("offset", "localtime") // the host's zone, as Go and so KubeVirt name it
	case k.Timezone != nil:
		e.SetAttr("offset", "timezone")
		e.SetAttr("timezone", string(*k.Timezone))
	case k.UTC != nil && k.UTC.OffsetSeconds != nil:
		// What libvirt makes of an adjusted utc, said in its own words.
		e.SetAttr("offset", "variable")
		e.SetAttr("adjustment", strconv.Itoa(*k.UTC.OffsetSeconds))
		e.SetAttr("basis", "utc")
	}
	if k.Timer != nil {
		timers(e, k.Timer)
	}
}

func timers(clock *domxml.Element, t *kubevirt.Timer) {
	timer := func(name string, present *bool, tickPolicy, track string) {
		e := clock.Append(domxml.New("timer", "name", name, "present", yesNo(manifest.On(present))))
		if tickPolicy != "" {
			e.SetAttr("tickpolicy", tickPolicy)
		}
		if track != "" {
			e.SetAttr("track", track)
		}
	}
	if t.HPET != nil {
		timer("hpet", t.HPET.Enabled, string(t.HPET.TickPolicy), "")
	}
	if t.KVM != nil {
		timer("kvmclock", t.KVM.Enabled, "", "")
	}
	if t.PIT != nil {
		timer("pit", t.PIT.Enabled, string(t.PIT.TickPolicy), "")
	}
	if t.RTC != nil {
		timer("rtc", t.RTC.Enabled, string(t.RTC.TickPolicy), string(t.RTC.Track))
	}
	if t.Hyperv != nil {
		timer("hypervclock", t.Hyperv.Enabled, "", "")
	}
}
