package plan

import (
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/resource"
)

// in says of a volume that it is in a pool.
func in(pool string) func(render.Volume) bool {
	return func(v render.Volume) bool { return v.Pool == pool }
}

// Await keeps machines waiting for the networks and pools that the revision wants here and that are not there yet: what needs
// them is not tried, and a note says why. The plan's actions are those of the assessments.
func Await(p *Plan, all []Assessment, resources []ResourceAssessment) {
	missing, leases := map[string]string{}, map[string]string{}
	for i := range resources {
		r := &resources[i]
		if r.Wanted == nil || !r.Wanted.Active {
			continue
		}
		if !r.Serves() {
			why := "is not there yet"
			if len(r.Blocked) > 0 {
				why = "cannot be made: " + r.Blocked[0].Message
			}
			missing[r.Key()] = "the " + r.what() + " " + r.Name + " " + why
			continue
		}
		for _, action := range r.Actions {
			for _, s := range action.Steps {
				if s.Op == OpNetworkUpdate && s.Section == SectionDHCPHost && s.Command == UpdateAdd {
					leases[s.XML] = "the network " + r.Name + " is told its address first"
				}
			}
		}
	}
	if len(missing)+len(leases) == 0 {
		return
	}
	p.Actions = p.Actions[:0:0]
	for i := range all {
		a := &all[i]
		if why := a.lacks(missing, leases); why != "" {
			a.hold(why)
		}
		p.Actions = append(p.Actions, a.Actions...)
	}
}

// lacks says what an instance waits for; empty when there is nothing.
func (a *Assessment) lacks(missing, leases map[string]string) string {
	if a.Instance == nil {
		return ""
	}
	for _, v := range slices.Concat(a.Instance.Volumes, a.Instance.TemporaryVolumes) {
		if why := missing[ResourceKey(resource.Pool, v.Pool)]; why != "" && v.Pool != "" {
			return why
		}
	}
	devices := a.Instance.Temporary
	if d := a.Instance.Domain.Child("devices"); d != nil {
		devices = slices.Concat(d.Children, devices)
	}
	for _, d := range devices {
		if why := missing[ResourceKey(resource.Network, d.Child("source").Attr("network"))]; why != "" && d.Name == "interface" {
			return why
		}
		if why := missing[ResourceKey(resource.Pool, d.Child("source").Attr("pool"))]; why != "" && d.Name == "disk" {
			return why
		}
		if mac := d.Child("mac"); d.Name == "interface" && mac != nil {
			for host, why := range leases {
				if strings.Contains(host, strings.ToLower(mac.Attr("address"))) {
					return why
				}
			}
		}
	}
	return ""
}

// hold takes the steps out of the actions that cannot do without what is missing.
func (a *Assessment) hold(why string) {
	held := false
	for i := range a.Actions {
		b := &a.Actions[i]
		if slices.ContainsFunc(b.Steps, func(s Step) bool { return s.Op == OpStart || s.Op == OpVolumes || s.Op == OpAttach }) {
			b.Steps, held = nil, true
			b.Message += "; it waits: " + why
		}
	}
	if held {
		a.note("Waiting", "it waits: "+why)
	}
}
