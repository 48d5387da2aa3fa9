package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// suspend holds all that would be done to an instance, and says what that is.
func (a *Assessment) suspend(s Suspension) {
	message := "the Host document suspends this host"
	if !s.Until.IsZero() {
		message += " until " + s.Until.UTC().Format(time.RFC3339)
		a.wake(s.Until)
	}
	message += ": " + s.Reason
	for i := range a.Actions {
		if b := &a.Actions[i]; b.Effect != EffectBlocked {
			what := b.Message
			*b = Action{Instance: b.Instance, Effect: EffectBlocked, Reason: "Suspended", Message: fmt.Sprintf("%s (it would %s: %s)", message, b.Effect, what), Changes: b.Changes}
			if !slices.ContainsFunc(a.Blocked, func(b Block) bool { return b.Reason == "Suspended" }) {
				a.Blocked = append(a.Blocked, Block{"Suspended", message})
			}
		}
	}
}

// oneAfterAnother lets so many members of a group be restarted at once as it allows: those first that are not up anyway,
// then those of lower numbers. One that is on its way already goes on. Where a member does not come up, no further one is
// restarted.
func oneAfterAnother(all []Assessment, mem Memory) {
	groups := map[string][]*Assessment{}
	for i := range all {
		if a := &all[i]; a.Instance != nil && a.Instance.Group != nil {
			groups[a.Instance.Group.Name] = append(groups[a.Instance.Group.Name], a)
		}
	}
	for _, members := range groups {
		slices.SortFunc(members, func(a, b *Assessment) int { return cmp.Compare(a.Instance.Group.Index, b.Instance.Group.Index) })
		away, failed := 0, ""
		var waiting []*Assessment
		for _, a := range members {
			_, asked := mem.Asked[a.Name]
			restarts := a.restarts()
			if why := a.fails(mem); why != "" && failed == "" && (!restarts || a.Rejected != nil) {
				failed = a.Name + ": " + why
			}
			switch {
			case restarts && !asked:
				waiting = append(waiting, a)
			case restarts, a.Instance.State == manifest.StateRunning && !a.available():
				away++
			}
		}
		slices.SortStableFunc(waiting, func(a, b *Assessment) int {
			switch {
			case a.available() == b.available():
				return 0
			case a.available():
				return 1
			}
			return -1
		})
		for _, a := range waiting {
			switch {
			case failed != "" && a.Rejected == nil:
				a.stopRollout(failed)
			case away >= a.Instance.Group.MaxUnavailable:
				a.queue()
			default:
				away++
			}
		}
	}
}

// available says whether the member does its work.
func (a *Assessment) available() bool { return a.Phase == PhaseRunning && a.Unready == "" }

// fails says why a member that should be up is not, though it has had its time; empty when it is, or may still come up.
func (a *Assessment) fails(mem Memory) string {
	switch s := mem.Starts[a.Name]; {
	case a.Rejected != nil:
		return a.Blocked[0].Message
	case a.late:
		return a.Unready
	case s.Digest == a.Instance.Digest && s.Failures >= maxStarts:
		return fmt.Sprintf("it could not be started %d times: %s", s.Failures, s.Message)
	}
	return ""
}

// stopRollout holds a restart because another member of the group did not come up.
func (a *Assessment) stopRollout(why string) {
	message := fmt.Sprintf("the rollout of the group %s has stopped at %s; it goes on when that one is up, or when a revision changes it", a.Instance.Group.Name, why)
	for i := range a.Actions {
		if b := &a.Actions[i]; b.Effect == EffectRestart {
			*b = Action{Instance: b.Instance, Effect: EffectBlocked, Reason: "RolloutStopped", Message: message, Changes: b.Changes}
		}
	}
	a.Blocked = append(a.Blocked, Block{"RolloutStopped", message})
}

// restarts says whether a restart is meant that somebody asked for; one that has crashed is not kept waiting.
func (a *Assessment) restarts() bool {
	return slices.ContainsFunc(a.Actions, func(b Action) bool { return b.Effect == EffectRestart && b.Reason != "Crashed" })
}

// queue takes the steps out of a restart, until others of the group are back.
func (a *Assessment) queue() {
	g := a.Instance.Group
	for i := range a.Actions {
		if b := &a.Actions[i]; b.Effect == EffectRestart {
			b.Steps = nil
			b.Message += fmt.Sprintf("; it waits for other members of the group %s, of which %d may be away at once", g.Name, g.MaxUnavailable)
		}
	}
	a.note("Waiting", fmt.Sprintf("its restart waits for other members of the group %s", g.Name))
}
