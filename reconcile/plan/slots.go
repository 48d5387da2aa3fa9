package plan

import (
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// kept is what a record says of devices' places. Where a device is, the definition itself says, so that going back to an
// earlier definition gives the same bytes. What is left are the targets, and the places of devices that are gone. Going back
// to a pinned revision leaves no hole of a device that was defined and gone again before the machine ran with it: no guest
// has seen it. live is the domain as it runs; nil when it does not.
func kept(i *render.Instance, d *Domain, next, live *domxml.Element, slots domxml.Slots) domxml.Slots {
	ran := func(string) bool { return true }
	switch {
	case !i.Pinned || i.Rollout == manifest.RolloutLive || len(i.Temporary) > 0:
	case live != nil:
		if d.Live.Meta == nil || d.Live.Meta.Temporary != "" {
			break
		}
		runs := named(live)
		ran = func(name string) bool {
			_, is := runs[name]
			_, was := d.Live.Meta.Slots[name]
			return is || was
		}
	case d.Meta() != nil && d.Meta().UID == "":
		ran = func(string) bool { return false }
	}
	there := named(next)
	out := domxml.Slots{}
	for name, s := range slots {
		placed, is := there[name]
		switch {
		case is && placed:
			s.PCI = ""
		case !is && !ran(name):
			continue
		}
		if s != (domxml.Slot{}) {
			out[name] = s
		}
	}
	return out
}

// named are the devices that have a name, and whether the definition says where they are.
func named(domain *domxml.Element) map[string]bool {
	out := map[string]bool{}
	if devices := domain.Child("devices"); devices != nil {
		for _, d := range devices.Children {
			if name := d.UserAlias(); name != "" {
				out[name] = d.Child("address") != nil
			}
		}
	}
	return out
}
