package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

// assess compares a wanted resource with what is there.
func (a *ResourceAssessment) assess(w ResourcesWanted, world World) {
	r, o := a.Wanted, a.Observed
	if o == nil {
		a.create()
		return
	}
	a.Ours = w.ours(o)
	switch {
	case o.Stuck:
		a.Notes = append(a.Notes, Block{"Stuck", "libvirt gives no answer about it"})
		return
	case !a.Ours && !r.Adopt:
		a.block("NotOurs", fmt.Sprintf("there is a %s %s on the host that gitvirt did not make: it is left alone; say adopt: true to have gitvirt take it over, or another name",
			a.what(), a.Name))
		return
	case r.UUIDSaid && r.UUID != o.UUID:
		a.block("UUID", fmt.Sprintf("it has the UUID %s, which cannot be changed: say that, or take uuid out", o.UUID), Change{"uuid", o.UUID, r.UUID})
		return
	}
	inactive, err := parsed(o.Inactive)
	live, err2 := parsed(o.Live)
	if err != nil || err2 != nil || inactive == nil && live == nil {
		a.block("Unreadable", fmt.Sprintf("libvirt's XML of it cannot be read: %v %v", err, err2))
		return
	}
	a.compare(inactive, live, w, world)
}

func (a *ResourceAssessment) what() string {
	if a.Kind == resource.Pool {
		return "storage pool"
	}
	return "network"
}

// create makes one that is not there.
func (a *ResourceAssessment) create() {
	r := a.Wanted
	steps := []Step{{Op: OpResourceDefine, XML: r.XML.String(), Secret: r.LibvirtSecret()}}
	if r.Build {
		steps = append(steps, Step{Op: OpPoolBuild})
	}
	if r.Autostart {
		steps = append(steps, Step{Op: OpResourceAutostart, On: true})
	}
	if r.Active {
		steps = append(steps, Step{Op: OpResourceStart})
	}
	a.act(EffectCreate, "New", "the host has no "+a.what()+" of this name", nil, steps...)
}

// compare finds what to do about one that is there.
func (a *ResourceAssessment) compare(inactive, live *domxml.Element, w ResourcesWanted, world World) {
	r, o := a.Wanted, a.Observed
	leaving := leaving(w, world)
	base := inactive
	if base == nil {
		base = live
	}
	want := resource.Define(*r, base)
	var defined []Change
	if o.Persistent {
		defined = shown(resource.Compare(r.Kind, want, base, leaving))
	}
	reason, message := "Changed", "the document says something else than the definition"
	if w.Known[a.Key()] == r.Digest {
		reason, message = "Drift", "somebody has changed it: it is put back as the document says"
	}
	define := Step{Op: OpResourceDefine, XML: want.String(), Secret: r.LibvirtSecret()}
	a.InSync = len(defined) == 0
	needed := len(defined) > 0 || !o.Persistent
	if r.Token != "" && w.Kept[a.Key()] != r.Token {
		if !needed {
			reason, message = "Secret", "its secret is another one: libvirt is given it"
		}
		needed, a.InSync = true, false
	}
	var now, later []resource.Difference
	if live != nil {
		for _, d := range resource.Compare(r.Kind, want, live, leaving) {
			if r.Kind == resource.Network && section(d, live) != SectionNone {
				now = append(now, d)
			} else {
				later = append(later, d)
			}
		}
	}
	switch {
	case len(now) > 0:
		var steps []Step
		if needed {
			steps = append(steps, define)
		}
		a.act(EffectLive, reason, "it is changed while it is active: no guest is cut off", shown(now), append(steps, a.updates(now, live)...)...)
	case needed && live == nil:
		a.act(EffectNextStart, reason, message, defined, define)
	case needed:
		a.act(EffectNextStart, reason, message+"; what runs keeps what it has until it is started anew", defined, define)
	}
	if o.Autostart != r.Autostart {
		a.act(EffectNextStart, "Autostart", map[bool]string{true: "it is to start with the host", false: "it is not to start with the host"}[r.Autostart],
			[]Change{{"autostart", fmt.Sprint(o.Autostart), fmt.Sprint(r.Autostart)}}, Step{Op: OpResourceAutostart, On: r.Autostart})
	}
	switch {
	case live == nil && r.Active:
		steps := []Step{{Op: OpResourceStart}}
		if r.Build {
			steps = append([]Step{{Op: OpPoolBuild}}, steps...)
		}
		if r.Kind == resource.Network {
			steps = append(steps, a.replug(want, world, w.Uses)...)
		}
		a.act(EffectStart, "Inactive", "it is to be active", nil, steps...)
	case live != nil && !r.Active:
		a.Notes = append(a.Notes, Block{"Active", "it is active, and the document says active: false: it is left so"})
	case len(later) > 0:
		a.later(want, shown(later), w, world)
	}
	if live != nil && r.Kind == resource.Network && a.unplugged(live, w.on) && !a.restarts() {
		a.act(EffectLive, "Unplugged", "running machines have lost its bridge, because it was started anew: they are connected again", nil, a.replug(want, world, w.Uses)...)
	}
}

func (a *ResourceAssessment) restarts() bool {
	return slices.ContainsFunc(a.Actions, func(b ResourceAction) bool { return b.Effect == EffectRestart })
}

// later deals with what only a new start changes.
func (a *ResourceAssessment) later(want *domxml.Element, changes []Change, w ResourcesWanted, world World) {
	why := ""
	users := users(a.Kind, a.Name, a.Observed, world, true)
	if a.Wanted.Restart && a.Kind == resource.Pool && len(users) > 0 {
		why = "its volumes are in use by running machines: " + list(users)
	}
	if a.Wanted.Restart && why == "" {
		steps := []Step{{Op: OpResourceStop}, {Op: OpResourceStart}}
		if a.Kind == resource.Network {
			steps = append(steps, a.replug(want, world, w.Uses)...)
		}
		message := "the document says rollout: Restart"
		if len(users) > 0 {
			message += "; it is started anew, and these machines are connected again: " + list(users)
		}
		a.act(EffectRestart, "Changed", message, changes, steps...)
		return
	}
	for _, c := range changes {
		a.Staged = append(a.Staged, Staged{Change: c, Effect: EffectRestart, Restart: true, Why: why})
	}
	a.Notes = append(a.Notes, Block{"RestartRequired", "changes wait until the " + a.what() + " is started anew: say rollout: Restart, or stop and start it when its guests can do without it"})
}

func shown(list []resource.Difference) []Change {
	var changes []Change
	for _, d := range list {
		changes = append(changes, Change{d.Path, resource.Show(d.From), resource.Show(d.To)})
	}
	return changes
}

func parsed(text string) (*domxml.Element, error) {
	if text == "" {
		return nil, nil
	}
	return domxml.Parse(text)
}

func list(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// leaving says of a DHCP host's name that it is a machine which is to go and is still there: it keeps its address.
func leaving(w ResourcesWanted, world World) func(name string) bool {
	return func(name string) bool {
		d := world.Domain(name)
		return d != nil && d.Meta() != nil && d.Active() && !w.Suspends()
	}
}

// Suspends says whether the host is suspended.
func (w ResourcesWanted) Suspends() bool {
	return w.Suspended != nil && (w.Suspended.Until.IsZero() || w.Now.Before(w.Suspended.Until))
}
