package plan

import (
	"fmt"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// assess is one wanted instance: its definition first, then its power.
func assess(w Wanted, i *render.Instance, d *Domain, mem Memory, secrets []LibvirtSecret) Assessment {
	a := Assessment{Name: i.Name, Instance: i, Domain: d, secrets: secrets}
	if use, rejected := w.inForce(i, d); rejected != nil {
		a.Rejected = rejected
		a.rolledBack(use, w.Fallback[i.Name].Why)
		if use == nil {
			a.Phase = phaseOf(d, d.Active())
			return a
		}
		if m := d.Live.Meta; m != nil && m.Digest != use.Digest {
			staged := *use // all of it comes with the restart
			staged.Rollout = manifest.RolloutStage
			use = &staged
		}
		i, a.Instance = use, use
	}
	a.Phase = phaseOf(d, i.State == manifest.StateRunning)
	if f, ok := w.Forbidden[i.Name]; ok && a.Rejected == nil {
		a.forbid(f, mem)
		return a
	}
	if refused, ok := mem.Refused[i.Name]; ok && refused.Digest == i.Digest {
		a.block("Refused", "libvirt refuses the definition: "+refused.Message)
		if d != nil && d.Meta() != nil && !d.Stuck {
			// What is there still starts and stops as its RunState says.
			a.power(definition{meta: *d.Meta()}, mem)
		}
		return a
	}
	switch {
	case d == nil:
		a.create(w, mem)
		return a
	case d.Stuck:
		a.note("Stuck", "libvirt gives no answer about it; it is left alone until it does")
		return a
	case d.Job != "":
		a.busy(mem)
		return a
	case d.Meta() == nil && !i.Adopt:
		a.Phase = phaseOf(d, false)
		a.block("NotOurs", "there is a domain of this name that gitvirt did not define: rename one of them, or say adopt: true in the RunState")
		return a
	}
	a.ready(mem)
	def, err := a.define(mem)
	if err != nil {
		a.block("Unreadable", err.Error())
		return a
	}
	if def.next == nil {
		def.meta.Secrets = a.settleSecrets(def.meta)
	}
	a.power(def, mem)
	return a
}

// lookAtJob is how often a machine is looked at at which somebody has a job under way: the end of one makes no event.
const lookAtJob = 5 * time.Second

// busy leaves a machine alone at which somebody has begun a job: to change it now could break what they do.
func (a *Assessment) busy(mem Memory) {
	a.note("JobRunning", fmt.Sprintf("somebody has begun a %s of it, and it is left alone until that ends", a.Domain.Job))
	a.wake(mem.Now.Add(lookAtJob))
	if a.Instance != nil {
		a.ready(mem)
	}
}

// create is for an instance that has no domain.
func (a *Assessment) create(w Wanted, mem Memory) {
	i := a.Instance
	if from := mem.MovedFrom[i.Name]; from != "" && from != w.Host && i.MoveVolumes != "Recreate" {
		for _, v := range i.Volumes {
			if v.Persistent() {
				a.block("MoveNeedsVolumes", fmt.Sprintf("its RunState moves it here from %s, and its volume %s is there alone: "+
					"say moveVolumes: Recreate to begin here with empty volumes, or move it back", from, v.Name))
				return
			}
		}
	}
	xml, meta := creation(i)
	on := i.State == manifest.StateRunning || i.State == manifest.StatePaused
	if on {
		meta.Run, meta.UID = i.Run, uid(i.UUID, i.Run, "", mem.Now)
		meta.Paused = i.State == manifest.StatePaused
	}
	bare := meta
	bare.Secrets = nil
	bare.Put(xml)
	steps := a.prepare(i.Volumes, false)
	steps = append(steps, a.step(Step{Op: OpDefine, XML: xml.String()}))
	steps = append(steps, a.keep(meta)...)
	if wantsAutostart(i) {
		steps = append(steps, a.step(Step{Op: OpAutostart, On: true}))
	}
	a.act(EffectCreate, "NoDomain", "there is no domain yet", nil, steps...)
	if on {
		a.launch(meta, onlyEmpty(i.Volumes), "Wanted", fmt.Sprintf("run %d is wanted", i.Run))
	}
}

// launch begins a run: fresh volumes, start, and the note that it was started. Meta is what the inactive XML already
// says.
func (a *Assessment) launch(meta metadata.Metadata, volumes []render.Volume, reason, message string) {
	steps := append(a.prepare(volumes, true), a.set()...)
	steps = append(steps, a.step(Step{Op: OpStart, Paused: meta.Paused}))
	started := meta
	started.Outcome = metadata.OutcomeStarted
	a.began(&started, meta.Digest)
	steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: &started, Config: true}))
	a.act(EffectStart, reason, message, nil, steps...)
}

// prepare is the step that makes volumes. Empty disks are made only when a run begins; but an image that one is an overlay
// of is brought beforehand, so that a run does not end before the image for the next is there. An instance that is not to
// run does not wait for a registry: the step before its start brings all.
func (a *Assessment) prepare(volumes []render.Volume, fresh bool) []Step {
	var need []render.Volume
	for _, v := range volumes {
		if v.Kind == render.VolumeEmpty && !fresh && v.Fetch == nil || !v.Made() ||
			v.Fetch != nil && a.Instance.State == manifest.StateStopped {
			continue
		}
		need = append(need, v)
	}
	if len(need) == 0 {
		return nil
	}
	return []Step{a.step(Step{Op: OpVolumes, Volumes: need, Fresh: fresh})}
}

func onlyEmpty(volumes []render.Volume) []render.Volume {
	var empty []render.Volume
	for _, v := range volumes {
		if v.Kind == render.VolumeEmpty {
			empty = append(empty, v)
		}
	}
	return empty
}

// wantsAutostart: what should always run comes back with its host, without git and without the agent.
func wantsAutostart(i *render.Instance) bool {
	return i.State == manifest.StateRunning && i.RestartPolicy == manifest.RestartAlways
}

// wake sees to it that the instance is looked at again at a time, or before.
func (a *Assessment) wake(at time.Time) {
	if a.Wake.IsZero() || at.Before(a.Wake) {
		a.Wake = at
	}
}

// phaseOf is the phase that a domain's state alone shows.
func phaseOf(d *Domain, starting bool) Phase {
	switch {
	case d == nil:
		return PhasePending
	case d.Stuck:
		return PhaseUnknown
	case d.State == DomainPaused || d.State == DomainPMSuspended:
		return PhasePaused
	case d.Active():
		return PhaseRunning
	}
	if m := d.Meta(); m != nil {
		switch m.Outcome {
		case metadata.OutcomeSucceeded:
			return PhaseSucceeded
		case metadata.OutcomeFailed:
			return PhaseFailed
		case metadata.OutcomeStarted:
			if starting {
				return PhaseScheduling
			}
		}
	}
	if starting {
		return PhaseScheduling
	}
	return PhaseStopped
}
