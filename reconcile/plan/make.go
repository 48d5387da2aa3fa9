package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// Make compares what is wanted with what is there, and says for each instance what to do. It is a pure function: the
// same input gives the same plan. Assessments and actions are sorted by instance.
func Make(w Wanted, world World, mem Memory) (Plan, []Assessment) {
	domains := make(map[string]*Domain, len(world.Domains))
	for i := range world.Domains {
		domains[world.Domains[i].Name] = &world.Domains[i]
	}
	secrets := secretsFor(world)
	var all []Assessment
	wanted := make(map[string]bool, len(w.Instances))
	for _, i := range w.Instances {
		wanted[i.Name] = true
		all = append(all, assess(w, i, domains[i.Name], mem, secrets(i.Name)))
	}
	for _, left := range []struct {
		names         map[string]string
		reason, cause string
	}{
		{w.Broken, "InvalidDocument", "its documents cannot be used"},
		{w.Locked, "Secret", "a secret of it cannot be used"},
	} {
		for name, why := range left.names {
			wanted[name] = true
			a := Assessment{Name: name, Domain: domains[name]}
			a.Phase = phaseOf(a.Domain, a.Domain != nil && a.Domain.Active())
			a.block(left.reason, "it is left as it is, because "+left.cause+": "+why)
			all = append(all, a)
		}
	}
	all = append(all, removals(w, world, wanted, mem)...)
	slices.SortFunc(all, func(a, b Assessment) int { return cmp.Compare(a.Name, b.Name) })
	oneAfterAnother(all, mem)
	if s := w.Suspended; s != nil && (s.Until.IsZero() || mem.Now.Before(s.Until)) {
		for i := range all {
			all[i].suspend(*s)
		}
	}
	p := Plan{Host: w.Host, Revision: w.Revision, Actions: []Action{}}
	for i := range all {
		a := &all[i]
		a.backOff(mem)
		p.Actions = append(p.Actions, a.Actions...)
	}
	return p, all
}

// removals are the domains of ours that the revision does not want on this host.
func removals(w Wanted, world World, wanted map[string]bool, mem Memory) []Assessment {
	var gone []Assessment
	secrets := secretsFor(world)
	ours, counted := 0, 0
	for i := range world.Domains {
		d := &world.Domains[i]
		if d.Meta() == nil {
			continue
		}
		ours++
		if wanted[d.Name] {
			continue
		}
		a := Assessment{Name: d.Name, Domain: d, Phase: phaseOf(d, false), secrets: secrets(d.Name)}
		if hold := w.hold(d); hold != nil {
			a.block(hold.Reason, hold.Message)
		} else if !mem.LetThrough[d.Name] {
			counted++
		}
		gone = append(gone, a)
	}
	over := overBudget(w.Budget, w.Allowed, counted, ours, "instances")
	for i := range gone {
		a := &gone[i]
		if len(a.Blocked) > 0 {
			continue
		}
		if over != nil && !mem.LetThrough[a.Name] {
			a.block(over.Reason, over.Message)
			continue
		}
		remove(w, a, mem)
	}
	return gone
}

// overBudget says why nothing of a kind is removed, because a revision removes too much of it; nil when it does not. A budget is never
// more than half of what there is, and never less than one.
func overBudget(budget, allowed, removed, ours int, what string) *Block {
	limit := max(min(budget, ours/2), 1)
	if removed <= limit || removed <= allowed {
		return nil
	}
	return &Block{"RemovalBudget", fmt.Sprintf("the revision removes %d of %d %s from this host, and %d may go at once: "+
		"put the trailer \"Gitvirt-Allow-Removals: %d\" on a commit to let them go", removed, ours, what, limit, removed)}
}

// hold says why a domain that the revision does not want here stays nevertheless; nil when it goes.
func (w Wanted) hold(d *Domain) *Block {
	if w.Incomplete {
		return &Block{"IncompleteRevision", "nothing is removed while the revision has documents that cannot be read"}
	}
	to, moved := w.Elsewhere[d.Name]
	if !moved || to.Recreate {
		return nil
	}
	for _, v := range d.Meta().Volumes {
		if v.Keep {
			return &Block{"MoveNeedsVolumes", fmt.Sprintf("its RunState moves it to %s, and its volume %s is on this host alone: "+
				"say moveVolumes: Recreate to begin there with empty volumes, or move it back", to.Host, v.Name)}
		}
	}
	return nil
}

// remove stops a domain and then takes its definition away. Volumes that hold nothing of worth go with it; the others
// only when the config is gone and said so.
func remove(w Wanted, a *Assessment, mem Memory) {
	d := a.Domain
	if d.Stuck {
		a.note("Stuck", "libvirt gives no answer about it")
		return
	}
	if d.Job != "" {
		a.busy(mem)
		return
	}
	m := d.Meta()
	if d.Active() {
		a.stop(stopping{
			effect: EffectRemove, reason: "NotWanted", message: "its RunState is gone: stop it first",
			grace: m.GraceSeconds,
		}, mem)
		return
	}
	message := "its RunState is gone"
	discard := w.Gone[m.Config] && m.DeletionPolicy == "Delete"
	if discard {
		message = "its config is gone, and says deletionPolicy: Delete: its volumes go too"
	}
	var steps []Step
	if volumes := recorded(m, func(keep bool) bool { return discard || !keep }); len(volumes) > 0 {
		// Volumes first: what is left to delete is known from the domain's own record, for as long as there is one.
		steps = append(steps, a.step(Step{Op: OpDeleteVolumes, Volumes: volumes}))
	}
	steps = append(steps, a.forget(a.secrets)...)
	steps = append(steps, a.step(Step{Op: OpUndefine}))
	a.act(EffectRemove, "NotWanted", message, nil, steps...)
}

func (a *Assessment) step(s Step) Step {
	s.Domain = a.Name
	switch {
	case a.Domain != nil:
		s.UUID = a.Domain.UUID
	case a.Instance != nil:
		s.UUID = a.Instance.UUID
	}
	if s.Op == OpVolumes {
		s.Of = a.Instance.Config
		if a.Domain != nil && a.Domain.Meta() != nil {
			s.Recorded = a.Domain.Meta().Volumes
		}
	}
	return s
}

func (a *Assessment) act(effect Effect, reason, message string, changes []Change, steps ...Step) {
	a.Actions = append(a.Actions, Action{
		Instance: a.Name, Effect: effect, Reason: reason, Message: message, Changes: changes, Steps: steps,
	})
}

// block says that something cannot be done, in the plan too.
func (a *Assessment) block(reason, message string, changes ...Change) {
	a.Blocked = append(a.Blocked, Block{reason, message})
	a.act(EffectBlocked, reason, message, changes)
}

func (a *Assessment) note(reason, message string) {
	a.Notes = append(a.Notes, Block{reason, message})
}

// backOff takes the steps out of an instance's actions for as long as it is not to be tried again.
func (a *Assessment) backOff(mem Memory) {
	until := mem.NotBefore[a.Name]
	if !until.After(mem.Now) {
		return
	}
	for i := range a.Actions {
		a.Actions[i].Steps = nil
	}
	a.wake(until)
}
