package imported

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func quantity(kib uint64) string {
	return resource.NewQuantity(int64(kib)*1024, resource.BinarySI).String()
}

func (s *sketch) memory() {
	if !s.says("memory") {
		return
	}
	most, ok := domxml.KiB(s.have.Child("memory"))
	if !ok || most == 0 || most > 1<<50 {
		return
	}
	m := map[string]any{}
	current, said := domxml.KiB(s.have.Child("currentMemory"))
	switch {
	case said && current < most && current > 0 && s.have.Child("devices/memballoon").Attr("model") != "none":
		m["guest"], m["maxGuest"] = quantity(current), quantity(most)
	case said && current != most:
		return
	default:
		m["guest"] = quantity(most)
	}
	if pages := s.have.Child("memoryBacking/hugepages"); pages != nil && len(pages.Children) == 1 && pages.Children[0].Attr("nodeset") == "" && s.says("hugepages") {
		if size, ok := number(pages.Children[0].Attr("size")); ok && pages.Children[0].Attr("unit") == "KiB" {
			m["hugepages"] = map[string]any{"pageSize": quantity(uint64(size))}
		}
	}
	s.domain["memory"] = m
}

func (s *sketch) cpu() {
	cpu := map[string]any{"model": "hypervisor-default"}
	s.domain["cpu"] = cpu
	have := s.have.Child("cpu")
	total, ok := number(textOf(s.have, "vcpu"))
	if !ok || total == 0 {
		total = 1
	}
	counts := map[string]int64{"sockets": total, "cores": 1, "threads": 1}
	if t := have.Child("topology"); t != nil {
		for name := range counts {
			if n, ok := number(t.Attr(name)); ok {
				counts[name] = n
			}
		}
	}
	each := counts["cores"] * counts["threads"]
	if current, ok := number(s.have.Child("vcpu").Attr("current")); ok && each > 0 && current > 0 && current%each == 0 && current < total && s.says("cpu") {
		cpu["maxSockets"], counts["sockets"] = counts["sockets"], current/each
	}
	for name, n := range counts {
		if n > 1 || name == "sockets" {
			cpu[name] = n
		}
	}
	if have == nil || !s.says("cpu") {
		return
	}
	switch mode := have.Attr("mode"); {
	case mode == "host-passthrough" && s.domainType() == "kvm", mode == "host-model", mode == "maximum":
		cpu["model"] = mode
	case mode == "custom" && have.Attr("match") == "exact" && textOf(have, "model") != "":
		cpu["model"] = textOf(have, "model")
	case mode != "" || len(have.All("feature")) > 0:
		return
	}
	var features []any
	for _, f := range have.All("feature") {
		feature := map[string]any{"name": f.Attr("name")}
		if policy := f.Attr("policy"); policy != "require" {
			feature["policy"] = policy
		}
		features = append(features, feature)
	}
	if len(features) > 0 {
		cpu["features"] = features
	}
}

// domainType is the type that the host gives.
func (s *sketch) domainType() string { return s.host.DomainType }

func (s *sketch) firmware() {
	os := s.have.Child("os")
	if machine := os.Child("type").Attr("machine"); machine != "" && s.says("machine") {
		s.domain["machine"] = map[string]any{"type": machine}
	}
	firmware := map[string]any{}
	if id := textOf(s.have, "uuid"); id != "" {
		firmware["uuid"] = id
	}
	s.domain["firmware"] = firmware
	if !s.says("firmware") {
		return
	}
	if system := s.have.Child("sysinfo/system"); system != nil && os.Child("smbios").Attr("mode") == "sysinfo" && s.have.Child("sysinfo").Attr("type") == "smbios" {
		for _, e := range system.All("entry") {
			if e.Attr("name") == "serial" {
				put(firmware, "serial", e.Text)
			}
		}
	}
	switch useSerial := os.Child("bios").Attr("useserial"); {
	case os.Attr("firmware") == "efi":
		secure, said := s.secureBoot(os)
		if said {
			firmware["bootloader"] = map[string]any{"efi": map[string]any{"secureBoot": secure}}
		}
	case useSerial != "":
		firmware["bootloader"] = map[string]any{"bios": map[string]any{"useSerial": useSerial == "yes"}}
	}
}

// secureBoot is what the choice of firmware says of it; said is false when it says something else, or nothing.
func (s *sketch) secureBoot(os *domxml.Element) (secure, said bool) {
	features := map[string]string{}
	for _, f := range os.Child("firmware").All("feature") {
		features[f.Attr("name")] = f.Attr("enabled")
	}
	if len(features) != 2 || features["enrolled-keys"] == "" || features["enrolled-keys"] != features["secure-boot"] {
		return false, false
	}
	return features["secure-boot"] == "yes", true
}

func (s *sketch) clock() {
	have := s.have.Child("clock")
	if have == nil || !s.says("clock") {
		return
	}
	clock, timers := map[string]any{}, map[string]any{}
	switch offset := have.Attr("offset"); {
	case offset == "localtime":
		clock["timezone"] = "Local"
	case offset == "timezone" && have.Attr("timezone") != "":
		clock["timezone"] = have.Attr("timezone")
	case offset == "variable" && have.Attr("basis") == "utc":
		n, ok := number(strings.TrimPrefix(have.Attr("adjustment"), "-"))
		if !ok || n > 1<<31-1 {
			return
		}
		if strings.HasPrefix(have.Attr("adjustment"), "-") {
			n = -n
		}
		clock["utc"] = map[string]any{"offsetSeconds": n}
	case offset == "utc":
		clock["utc"] = map[string]any{}
	default:
		return
	}
	for _, t := range have.All("timer") {
		name := map[string]string{"hpet": "hpet", "kvmclock": "kvm", "pit": "pit", "rtc": "rtc", "hypervclock": "hyperv"}[t.Attr("name")]
		if name == "" {
			continue
		}
		timer := map[string]any{}
		switch t.Attr("present") {
		case "no":
			timer["present"] = false
		case "":
			continue // rendered, a timer says whether it is there
		}
		put(timer, "tickPolicy", t.Attr("tickpolicy"))
		put(timer, "track", t.Attr("track"))
		timers[name] = timer
	}
	if len(timers) > 0 {
		clock["timer"] = timers
	} else if _, plain := clock["utc"]; plain && len(clock["utc"].(map[string]any)) == 0 {
		return // it is libvirt's default
	}
	s.domain["clock"] = clock
}
