package plan

import (
	"fmt"
	"time"

	"github.com/gitvirt/gitvirt/render/metadata"
)

// askAgain is how often a guest is asked again to shut down: one that is still booting does not hear the first request.
const askAgain = 10 * time.Second

// stopping is why a domain is to go down, and how the record is to call it.
type stopping struct {
	effect          Effect
	reason, message string
	grace           int64
	outcome         metadata.Outcome
	meta            metadata.Metadata
	changes         []Change // that a restart brings
}

// stop asks the guest to shut down, and pulls the plug once its time is over. It never waits: it is looked at again.
func (a *Assessment) stop(s stopping, mem Memory) {
	d := a.Domain
	asked, before := mem.Asked[a.Name]
	if !before {
		var steps []Step
		if s.effect != EffectRemove && (s.meta.Outcome != s.outcome || s.meta.Drift != a.recordedDrift()) {
			marked := s.meta
			marked.Outcome = s.outcome
			steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: &marked, Config: true}))
		}
		if d.State == DomainPaused && s.grace > 0 {
			steps = append(steps, a.step(Step{Op: OpResume})) // a paused guest hears nothing
		}
		op := OpShutdown
		if s.grace == 0 {
			op = OpDestroy
		}
		a.act(s.effect, s.reason, s.message, s.changes, append(steps, a.step(Step{Op: op}))...)
		a.wake(mem.Now.Add(min(time.Duration(s.grace)*time.Second, askAgain)))
		return
	}
	deadline := asked.First.Add(time.Duration(s.grace) * time.Second)
	if !mem.Now.Before(deadline) {
		a.act(s.effect, "GracePeriodOver", fmt.Sprintf("the guest did not shut down within %d s: pull the plug", s.grace), s.changes, a.step(Step{Op: OpDestroy}))
		return
	}
	message := fmt.Sprintf("waiting until %s for the guest to shut down", deadline.UTC().Format(time.RFC3339))
	var steps []Step
	next := asked.Last.Add(askAgain)
	if !mem.Now.Before(next) {
		steps = append(steps, a.step(Step{Op: OpShutdown}))
		next = mem.Now.Add(askAgain)
	}
	a.act(s.effect, s.reason, s.message+": "+message, s.changes, steps...)
	if deadline.Before(next) {
		next = deadline
	}
	a.wake(next)
}
