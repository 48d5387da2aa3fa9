package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/resource"
)

// ResourceRunner is libvirt, as far as networks and storage pools are concerned.
type ResourceRunner interface {
	// ObserveResources lists them, and tells what is known of those that are interesting.
	ObserveResources(ctx context.Context, interesting func(plan.Resource) bool) ([]plan.Resource, error)
	// Apply runs one resource's steps in order. It is called for many at once.
	Apply(ctx context.Context, steps []plan.Step) error
}

// keeper keeps a host's networks and storage pools. It is for the goroutine that makes passes.
type keeper struct {
	crew     *crew
	failures map[string]status.Failure
	uses     plan.UsesMemo
	known    map[string]string // digests that were in sync
}

func newKeeper(o Options) *keeper {
	k := &keeper{failures: map[string]status.Failure{}, uses: plan.UsesMemo{}, known: map[string]string{}}
	if o.Resources != nil {
		k.crew = newCrew(o.Resources.Apply, o.Metrics.Acted, o.Refused)
	}
	return k
}

// ready receives when something has ended; never where there is nothing to keep.
func (k *keeper) ready() <-chan struct{} {
	if k.crew == nil {
		return nil
	}
	return k.crew.ready
}

// waitForWork waits until all that was begun has ended.
func (l *Loop) waitForWork() {
	l.crew.wg.Wait()
	if l.keeper.crew != nil {
		l.keeper.crew.wg.Wait()
	}
}

// done keeps what became of actions.
func (k *keeper) done(r result) {
	if r.err == nil {
		delete(k.failures, r.name)
		return
	}
	f := k.failures[r.name]
	f.Attempts++
	f.Message, f.Time = r.err.Error(), r.at
	f.NotBefore = r.at.Add(BackOff(f.Attempts))
	k.failures[r.name] = f
}

// newRevision forgets what was only true of the old one.
func (k *keeper) newRevision() {
	for name, f := range k.failures {
		f.NotBefore = time.Time{}
		k.failures[name] = f
	}
}

// finishedResources takes in what has ended.
func (l *Loop) finishedResources(ctx context.Context) {
	if l.opts.Resources == nil {
		return
	}
	for _, r := range l.keeper.crew.take() {
		if r.err != nil && ctx.Err() == nil {
			l.log.Error("resource", "resource", r.name, "error", r.err)
		}
		l.keeper.done(r)
		if defines := func(s plan.Step) bool { return s.Op == plan.OpResourceDefine }; r.digest != "" && slices.ContainsFunc(r.actions[:r.done], func(a plan.Action) bool { return slices.ContainsFunc(a.Steps, defines) }) {
			next := l.state
			if next.Kept = maps.Clone(next.Kept); next.Kept == nil {
				next.Kept = map[string]string{}
			}
			next.Kept[r.name] = r.digest
			l.keep(next, false)
		}
	}
	l.keeper.crew.look()
}

// resources compares networks and pools, and keeps machines waiting for those that are not there yet.
func (l *Loop) resources(ctx context.Context, wanted plan.Wanted, world plan.World, facts *status.Facts, act bool) {
	if l.opts.Resources == nil {
		return
	}
	k := l.keeper
	w := plan.ResourcesWanted{
		Fleet: l.opts.Fleet, List: l.revision.view.Resources.List, Broken: l.revision.view.Resources.Broken,
		Incomplete: wanted.Incomplete, Suspended: wanted.Suspended, Budget: wanted.Budget, Allowed: wanted.Allowed,
		Own: l.state.Own, Kept: l.state.Kept, LetGo: l.state.LetGo, NotBefore: map[string]time.Time{}, Now: facts.Now, Uses: k.uses, Known: k.known,
	}
	w.Forbidden = l.guard.judgeResources(w.List)
	for name, f := range k.failures {
		w.NotBefore[name] = f.NotBefore
	}
	there, err := l.opts.Resources.ObserveResources(ctx, w.Interesting)
	if err != nil {
		facts.Libvirt.Error = err.Error()
		l.log.Error("networks and storage pools are left alone", "error", err)
		return
	}
	facts.Resources = plan.MakeResources(w, there, world)
	for i := range facts.Resources {
		facts.Plan.Resources = append(facts.Plan.Resources, facts.Resources[i].Actions...)
	}
	plan.Await(&facts.Plan, facts.Assessments, facts.Resources)
	k.forget(world, facts.Resources)
	if act {
		l.own(facts.Resources)
		for i := range facts.Resources {
			l.workResource(ctx, &facts.Resources[i])
		}
	}
	facts.ResourceFailures = maps.Clone(k.failures)
}

// forget drops what is known of what is gone.
func (k *keeper) forget(world plan.World, all []plan.ResourceAssessment) {
	uses := plan.UsesMemo{}
	for _, d := range world.Domains {
		if u, ok := k.uses[d.Live.Hash]; ok {
			uses[d.Live.Hash] = u
		}
	}
	k.uses = uses
	known := map[string]string{}
	for i := range all {
		if a := &all[i]; a.Wanted != nil && (a.InSync || k.known[a.Key()] == a.Wanted.Digest) {
			known[a.Key()] = a.Wanted.Digest
		}
	}
	k.known = known
	there := map[string]bool{}
	for i := range all {
		there[all[i].Key()] = true
	}
	maps.DeleteFunc(k.failures, func(name string, _ status.Failure) bool { return !there[name] })
}

// own remembers what is ours though its UUID does not say so, before anything is done to it, and the removals that begin.
func (l *Loop) own(all []plan.ResourceAssessment) {
	next := l.state
	next.Own, next.Kept, next.LetGo = map[string]string{}, map[string]string{}, map[string]bool{}
	for i := range all {
		a := &all[i]
		key := a.Key()
		if a.Observed != nil && l.state.Own[key] == a.Observed.UUID {
			next.Own[key] = a.Observed.UUID // for as long as it is there
		}
		if token := l.state.Kept[key]; token != "" && a.Observed != nil {
			next.Kept[key] = token
		}
		for _, b := range a.Actions {
			if b.Effect == plan.EffectRemove {
				next.LetGo[key] = true
			}
		}
		if a.Wanted == nil || a.Observed != nil && !a.Ours && !a.Wanted.Adopt {
			continue
		}
		switch {
		case a.Observed != nil && a.Observed.UUID != resource.UUID(l.opts.Fleet, a.Kind, a.Name):
			next.Own[key] = a.Observed.UUID
		case a.Observed == nil && a.Wanted.UUIDSaid:
			next.Own[key] = a.Wanted.UUID
		}
	}
	l.keep(next, false)
}

// workResource hands a resource's actions to the crew.
func (l *Loop) workResource(ctx context.Context, a *plan.ResourceAssessment) {
	crew := l.keeper.crew
	r := result{name: a.Key(), id: -1}
	if a.Wanted != nil {
		r.digest = a.Wanted.Token
	}
	steps := 0
	for _, b := range a.Actions {
		steps += len(b.Steps)
		r.actions = append(r.actions, plan.Action{Instance: a.Name, Effect: b.Effect, Reason: b.Reason, Message: b.Message, Steps: b.Steps})
	}
	if steps == 0 || !crew.idle(r.name) {
		return
	}
	for _, b := range r.actions {
		if len(b.Steps) > 0 {
			l.log.Info("action", "resource", r.name, "effect", b.Effect, "reason", b.Reason, "message", b.Message)
		}
	}
	crew.start(ctx, r)
}

// resourcesOf renders a view's networks and pools: of its host, or of every host to find what is wrong with them.
func (v *View) resourcesOf(o render.Options) {
	if v.host != "" {
		v.Resources = v.Placement.Resources(v.host, v.Instances, o)
		return
	}
	here := map[string][]*render.Instance{}
	for _, i := range v.Instances {
		here[i.Host] = append(here[i.Host], i)
	}
	seen := map[string]bool{}
	for _, host := range v.Placement.ResourceHosts() {
		of := v.Placement.Resources(host, here[host], o)
		v.Resources.List = append(v.Resources.List, of.List...)
		for _, p := range of.Problems {
			if !seen[p.String()] {
				seen[p.String()] = true
				v.Resources.Problems = append(v.Resources.Problems, p)
			}
		}
	}
}
