package imported

import "github.com/gitvirt/gitvirt/render/domxml"

// features says which there are. ACPI and APIC are there unless a spec says otherwise.
func (s *sketch) features() {
	have := s.have.Child("features")
	f := map[string]any{}
	off := map[string]any{"enabled": false}
	if have.Child("acpi") == nil {
		f["acpi"] = off
	}
	if apic := have.Child("apic"); apic == nil {
		f["apic"] = off
	} else if apic.Attr("eoi") == "on" {
		f["apic"] = map[string]any{"endOfInterrupt": true}
	}
	if have != nil && s.says("features") {
		for _, name := range []string{"smm", "pvspinlock"} {
			if e := have.Child(name); e != nil && e.Attr("state") != "" {
				f[name] = state(e)
			}
		}
		if hidden := have.Child("kvm/hidden"); hidden != nil {
			f["kvm"] = map[string]any{"hidden": hidden.Attr("state") == "on"}
		}
		if h := have.Child("hyperv"); h != nil {
			if of := hyperv(h); len(of) > 0 {
				f["hyperv"] = of
			}
		}
	}
	if len(f) > 0 {
		s.domain["features"] = f
	}
}

// state is a feature's switch; an empty object is on.
func state(e *domxml.Element) map[string]any {
	if e.Attr("state") == "on" {
		return map[string]any{}
	}
	return map[string]any{"enabled": false}
}

// enlightenments are the names that a spec has for Hyper-V's features.
var enlightenments = map[string]string{
	"relaxed": "relaxed", "vapic": "vapic", "vpindex": "vpindex", "runtime": "runtime", "synic": "synic", "reset": "reset",
	"frequencies": "frequencies", "reenlightenment": "reenlightenment", "tlbflush": "tlbflush", "ipi": "ipi", "evmcs": "evmcs",
}

func hyperv(have *domxml.Element) map[string]any {
	of := map[string]any{}
	if mode := have.Attr("mode"); mode != "" && mode != "custom" {
		return of
	}
	for _, e := range have.Children {
		name, known := enlightenments[e.Name]
		switch {
		case e.Attr("state") == "":
		case known:
			of[name] = state(e)
		case e.Name == "spinlocks":
			spin := state(e)
			if n, ok := number(e.Attr("retries")); ok {
				spin["spinlocks"] = n
			}
			of["spinlocks"] = spin
		case e.Name == "vendor_id":
			id := state(e)
			put(id, "vendorid", e.Attr("value"))
			of["vendorid"] = id
		case e.Name == "stimer":
			timer := state(e)
			if direct := e.Child("direct"); direct != nil {
				timer["direct"] = state(direct)
			}
			of["synictimer"] = timer
		}
	}
	return of
}
