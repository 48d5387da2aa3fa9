package plan

import (
	"fmt"
	"time"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// power decides what the instance's run state asks for, and writes the definition on the way: before a start, or staged
// beside a run.
func (a *Assessment) power(def definition, mem Memory) {
	if a.Instance.State != manifest.StateManual {
		if on := wantsAutostart(a.Instance); a.Domain.Persistent && a.Domain.Autostart != on {
			a.act(EffectLive, "Autostart", fmt.Sprintf("autostart is to be %v", on), nil, a.step(Step{Op: OpAutostart, On: on}))
		}
	}
	if a.Domain.Active() {
		a.running(def, mem)
	} else {
		a.off(def, mem)
	}
}

// running is for a domain that has a QEMU process.
func (a *Assessment) running(def definition, mem Memory) {
	i, d := a.Instance, a.Domain
	old := def.meta
	if d.Live.Meta != nil {
		old = *d.Live.Meta
	}
	learnt, news := a.learn(old, def.meta)
	def.meta = learnt
	if news && def.next == nil {
		a.act(EffectLive, "Record", "it is known how it runs", nil, a.step(Step{Op: OpMetadata, Metadata: &learnt, Config: true}))
	}
	todo := a.sort(mem)
	if def.next != nil {
		a.writeBeside(&def, todo)
	}
	m := def.meta
	live := m
	if d.Live.Meta != nil {
		live = *d.Live.Meta
	}
	if why := a.failsRunning(live, m, mem); why != "" {
		a.rollBack(m, why)
		return
	}
	again := live.Run > 0 && i.Run > live.Run
	switch {
	case i.State == manifest.StateStopped:
		a.stop(stopping{EffectStop, "Stopped", "its RunState says Stopped", i.GraceSeconds, metadata.OutcomeStopped, m, nil}, mem)
		return
	case i.State == manifest.StateManual:
	case again:
		a.stop(stopping{EffectRestart, "Run", fmt.Sprintf("run %d is wanted, and run %d is running", i.Run, live.Run), i.GraceSeconds, metadata.OutcomeNone, m, a.staged()}, mem)
		return
	case a.Rejected != nil && live.Digest != i.Digest:
		a.stop(stopping{EffectRestart, "RolledBack", fmt.Sprintf("it goes back to revision %.12s", i.Revision), i.GraceSeconds, metadata.OutcomeNone, m, a.staged()}, mem)
		return
	case a.restartsFor(&m):
		a.stop(stopping{EffectRestart, "Rollout", "its config says rollout: Restart, and it changed", i.GraceSeconds, metadata.OutcomeNone, m, a.staged()}, mem)
		return
	}
	if def.next == nil {
		a.follow(todo, mem)
	}
	if i.State == manifest.StateManual {
		return
	}
	if d.State == DomainCrashed {
		a.act(EffectRestart, "Crashed", "the guest has crashed, and QEMU keeps it: pull the plug", nil, a.step(Step{Op: OpDestroy}))
		return
	}
	a.pause(m, mem)
}

// pause brings a domain to paused or running, and leaves one alone that somebody else paused.
func (a *Assessment) pause(m metadata.Metadata, mem Memory) {
	i, d := a.Instance, a.Domain
	paused := d.State == DomainPaused
	want := i.State == manifest.StatePaused
	next := m
	next.Run, next.Outcome, next.Paused = max(m.Run, i.Run), metadata.OutcomeStarted, want
	if d.Live.Meta != nil {
		a.began(&next, d.Live.Meta.Digest)
	}
	record := func() Step { return a.step(Step{Op: OpMetadata, Metadata: &next, Config: true, Live: a.takesOver}) }
	switch {
	case want && !paused:
		a.act(EffectLive, "Paused", "its RunState says Paused", nil, record(), a.step(Step{Op: OpSuspend}))
	case want:
		if !m.Paused || m.Outcome != metadata.OutcomeStarted {
			a.act(EffectLive, "Record", "it is paused already", nil, record())
		}
	case paused && m.Paused:
		a.act(EffectLive, "Resumed", "its RunState says Running", nil, a.step(Step{Op: OpResume}), record())
	case paused:
		a.note("PausedOutside", "it was paused by somebody else ("+d.Reason+"), and is left alone: resume it there")
	case d.State == DomainPMSuspended:
		a.note("Suspended", "the guest has suspended itself, and is left alone")
	case d.State == DomainShutdown:
		a.note("GoingDown", "the guest is going down")
	case a.goingDown(m, mem):
		a.note("GoingDown", "the guest was asked to shut down before its RunState said Running again: it is started once it is off")
	case m.Outcome != metadata.OutcomeStarted || m.Paused:
		a.act(EffectLive, "Record", fmt.Sprintf("run %d is running", next.Run), nil, record())
	}
}

// goingDown says whether the guest may still follow an earlier request to shut down. The record then keeps saying that it
// was stopped, so that it is not taken for one that went down by itself.
func (a *Assessment) goingDown(m metadata.Metadata, mem Memory) bool {
	asked, ok := mem.Asked[a.Name]
	over := asked.Last.Add(time.Duration(a.Instance.GraceSeconds)*time.Second + askAgain)
	if !ok || m.Outcome == metadata.OutcomeStarted || !mem.Now.Before(over) {
		return false
	}
	a.wake(over)
	return true
}

// off is for a domain without a QEMU process.
func (a *Assessment) off(def definition, mem Memory) {
	i, m := a.Instance, def.meta
	if why := a.failsOff(m, mem); why != "" && def.next == nil {
		a.Phase = PhaseScheduling
		a.rollBack(m, why)
		return
	}
	def.meta, _ = a.learn(metadata.Metadata{}, m)
	m = def.meta
	why, start := a.due(m)
	if !start {
		outcome := m.Outcome
		if m.Outcome == metadata.OutcomeStarted && i.State != manifest.StateManual {
			outcome = a.ended(m)
		}
		def.meta.Outcome = outcome
		switch {
		case def.next != nil:
			a.write(&def, written(def.changes))
		case outcome != m.Outcome:
			a.act(EffectStop, string(outcome), fmt.Sprintf("run %d has ended (%s)", m.Run, a.Domain.Reason), nil,
				a.step(Step{Op: OpMetadata, Metadata: &def.meta, Config: true}))
		}
		if i.State != manifest.StateManual {
			a.settlePhase(outcome)
		}
		return
	}
	a.Phase = PhaseScheduling
	next := def.meta
	if i.Run > m.Run || m.UID == "" || m.Outcome == metadata.OutcomeStopped {
		next.UID = uid(a.Domain.UUID, i.Run, m.UID, mem.Now)
	}
	next.Run, next.Outcome, next.Paused = max(m.Run, i.Run), metadata.OutcomeNone, i.State == manifest.StatePaused
	if next.Digest == i.Digest {
		next.Revision = i.Revision
	}
	next.Volumes = withoutStale(next.Volumes, def)
	defined := def.next != nil
	def.meta = next
	if defined {
		a.write(&def, written(def.changes))
	}
	a.launch(next, i.Volumes, why.Reason, why.Message)
	action := &a.Actions[len(a.Actions)-1]
	if !defined {
		action.Steps = append([]Step{a.step(Step{Op: OpMetadata, Metadata: &next, Config: true})}, action.Steps...)
	}
	if len(def.stale) > 0 {
		action.Steps = append(action.Steps, a.step(Step{Op: OpDeleteVolumes, Volumes: def.stale}))
	}
}

// withoutStale is the record's volumes without the ones that are about to be deleted.
func withoutStale(volumes []metadata.Volume, def definition) []metadata.Volume {
	var kept []metadata.Volume
	for _, v := range volumes {
		if !holds(def.stale, v.Pool, v.File) {
			kept = append(kept, v)
		}
	}
	return kept
}

// write is the action that writes the definition, with the record that def.meta is by now.
func (a *Assessment) write(def *definition, effect Effect) {
	def.meta.Put(def.next)
	before := metadata.Metadata{}
	if m := a.Domain.Meta(); m != nil {
		before = *m
	}
	steps := a.prepare(checked(a.Instance.Volumes, before), false)
	steps = append(steps, a.set()...) // once the definition says the new tokens, nobody can tell that libvirt has the old values
	if def.recordOnly {
		effect = EffectLive
		// As far as anybody can know, what runs was started from this definition.
		steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: &def.meta, Config: true, Live: a.Domain.Active()}))
		a.takesOver = a.Domain.Active()
	} else {
		steps = append(steps, a.step(Step{Op: OpDefine, XML: def.next.String()}))
	}
	if a.Domain.Active() && len(def.stale) > 0 {
		steps = append(steps, a.step(Step{Op: OpDeleteVolumes, Volumes: def.stale}))
	}
	a.act(effect, def.reason, def.message, def.changes, steps...)
}

// due says whether a domain that is off should be started, and why.
func (a *Assessment) due(m metadata.Metadata) (Block, bool) {
	i, d := a.Instance, a.Domain
	if i.State != manifest.StateRunning && i.State != manifest.StatePaused {
		return Block{}, false
	}
	if d.ManagedSave && m.Outcome == metadata.OutcomeStarted {
		a.note("Saved", "its state was saved by somebody else, and it is left alone: start it there, or remove the saved state")
		return Block{}, false
	}
	if i.Run > m.Run {
		return Block{"Run", fmt.Sprintf("run %d is wanted", i.Run)}, true
	}
	switch m.Outcome {
	case metadata.OutcomeNone, metadata.OutcomeStopped:
		return Block{"Wanted", "its RunState says " + string(i.State)}, true
	}
	if a.Rejected != nil && m.Started == a.Rejected.Digest {
		return Block{"RolledBack", fmt.Sprintf("it goes back to revision %.12s", i.Revision)}, true
	}
	outcome := a.ended(m)
	if outcome == metadata.OutcomeStarted {
		a.note("Migrated", "it was migrated to another host by somebody else, and is not started here")
		return Block{}, false
	}
	restart := i.RestartPolicy == manifest.RestartAlways ||
		i.RestartPolicy == manifest.RestartOnFailure && outcome == metadata.OutcomeFailed
	return Block{"RestartPolicy", fmt.Sprintf("the guest went down (%s), and its restart policy is %s", d.Reason, i.RestartPolicy)}, restart
}

// ended is how the last run ended: by libvirt's reason for the domain being off (virDomainShutoffReason). A host that lost
// its power, and a libvirtd that was restarted meanwhile, leave "unknown": that is no success.
func (a *Assessment) ended(m metadata.Metadata) metadata.Outcome {
	switch {
	case a.Instance.State == manifest.StateStopped:
		return metadata.OutcomeStopped
	case m.Outcome != metadata.OutcomeStarted:
		return m.Outcome
	}
	switch a.Domain.Reason {
	case "shutdown":
		return metadata.OutcomeSucceeded
	case "migrated", "saved":
		return metadata.OutcomeStarted
	}
	return metadata.OutcomeFailed
}

func (a *Assessment) settlePhase(outcome metadata.Outcome) {
	switch outcome {
	case metadata.OutcomeSucceeded:
		a.Phase = PhaseSucceeded
	case metadata.OutcomeFailed:
		a.Phase = PhaseFailed
	default:
		a.Phase = PhaseStopped
	}
}
