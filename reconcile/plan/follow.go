package plan

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Patience is how long a guest usually has to follow: to give up a device, to take CPUs, to give back memory. Linux does so
// in a second; one that has not after this does not mean to.
const Patience = 30 * time.Second

// lookAgain is how often a guest is looked at that has been asked for something.
const lookAgain = time.Second

// todo is what a running machine is behind with and can come by while it runs.
type todo struct {
	now   []Behind // to be done
	asked []Behind // done, and not to be seen yet
	until time.Time
}

func (t todo) changes() []Change {
	var list []Change
	for _, b := range slices.Concat(t.now, t.asked) {
		list = append(list, b.Changes...)
	}
	return list
}

// sort tells what is done while the machine runs from what waits for its next start, and says why it waits.
func (a *Assessment) sort(mem Memory) todo {
	i, d := a.Instance, a.Domain
	a.Staged = nil
	var t todo
	for _, b := range a.behind {
		if b.Guests && i.Rollout == manifest.RolloutStage {
			continue
		}
		if b.Effect != EffectLive || !b.Temporary && i.Rollout == manifest.RolloutStage {
			a.stage(b, b.Why)
			continue
		}
		tried, ok := mem.Tries[i.Name][b.Try]
		end := tried.At.Add(cmp.Or(mem.Patience, Patience))
		switch {
		case !ok || tried.ID != d.ID:
			t.now = append(t.now, b)
		case tried.Refused != "":
			a.stage(b, "libvirt refuses it: "+tried.Refused)
		case mem.Now.Before(end):
			t.asked = append(t.asked, b)
			if t.until.IsZero() || end.Before(t.until) {
				t.until = end
			}
		default:
			a.stage(b, fmt.Sprintf("the guest was asked at %s, and has not followed by %s", tried.At.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)))
		}
	}
	a.stageSeeds()
	return t
}

// stage notes that something waits for the next start. A temporary device waits for nothing: it cannot come, or go.
func (a *Assessment) stage(b Behind, why string) {
	if b.Temporary {
		a.block("TemporaryDevice", fmt.Sprintf("the temporary device cannot come or go while the machine runs: %s: %s", b.Changes[0].Path, why), b.Changes...)
		return
	}
	restart := b.Effect != EffectNextStart && b.Effect != EffectRebuild && !b.Guests
	effect := EffectNextStart
	if restart && a.Instance.Rollout == manifest.RolloutRestart {
		effect = EffectRestart
	}
	if a.Instance.Rollout == manifest.RolloutStage {
		why = ""
	}
	if b.Effect == EffectRebuild {
		effect, why = EffectRebuild, seedWaits
	}
	for _, c := range b.Changes {
		a.Staged = append(a.Staged, Staged{Change: a.named(c), Effect: effect, Restart: restart, Why: why})
	}
}

// staged are the changes that a restart brings.
func (a *Assessment) staged() []Change {
	var list []Change
	for _, s := range a.Staged {
		list = append(list, s.Change)
	}
	return list
}

// restartsFor says whether the config has the machine restarted for what is staged. For what somebody changed by hand in the
// running machine that happens once: what is there again after the restart is libvirt's own doing, and would be for ever.
// The record then says what it was restarted for.
func (a *Assessment) restartsFor(m *metadata.Metadata) bool {
	if a.Instance.Rollout != manifest.RolloutRestart {
		return false
	}
	var behind []Change
	for _, s := range a.Staged {
		if s.Restart {
			behind = append(behind, s.Change)
		}
	}
	if len(behind) == 0 {
		return false
	}
	live := a.Domain.Live.Meta
	if live == nil || live.Digest != a.Instance.Digest {
		return true
	}
	drift := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%v", behind)))[:16]
	if live.Drift == drift {
		a.note("NotKept", fmt.Sprintf("%s is not as it is declared, and a restart has not changed that: it has %q for %q", behind[0].Path, behind[0].From, behind[0].To))
		return false
	}
	m.Drift = drift
	return true
}

// byHand says who said what, where something is not as it was left.
func (a *Assessment) byHand(what string) string {
	return fmt.Sprintf("somebody changed %s by hand: what the config %s (%s) says is put back", what, a.Instance.Config, a.Instance.Source)
}

// recordedDrift is what the inactive XML says that the machine was restarted for.
func (a *Assessment) recordedDrift() string {
	if m := a.Domain.Meta(); m != nil {
		return m.Drift
	}
	return ""
}

// writeBeside writes the definition of a machine that runs, and says of each change what becomes of it.
func (a *Assessment) writeBeside(def *definition, t todo) {
	live := t.changes()
	var rest []Change
	for _, c := range def.changes {
		// A device that comes while the machine runs comes with all that is said of it; and what the definition has under
		// another value, the running machine may not have at all.
		of := func(o Change) bool { return within(o.Path, c.Path) || within(c.Path, o.Path) }
		if !slices.ContainsFunc(live, of) || slices.ContainsFunc(a.staged(), of) {
			rest = append(rest, c)
		}
	}
	def.changes = rest
	if len(rest) == 0 && len(live) > 0 {
		def.changes = live
		a.write(def, EffectLive)
		return
	}
	a.write(def, written(rest))
	if len(live) > 0 {
		a.act(EffectLive, def.reason, def.message, live)
	}
}

// within says whether a field is another one or a part of it.
func within(part, whole string) bool {
	rest, ok := strings.CutPrefix(part, whole)
	return ok && (rest == "" || strings.ContainsRune("./@[", rune(rest[0])))
}

// follow brings the running machine to what is declared, as far as that can be.
func (a *Assessment) follow(t todo, mem Memory) {
	memo := a.Memo
	if memo == nil {
		return
	}
	if len(t.now) > 0 {
		var steps []Step
		if memo.Config != nil {
			steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: memo.Config, Config: true}))
		}
		if memo.Before != nil {
			steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: memo.Before, Live: true}))
		}
		if len(steps) > 0 {
			a.act(EffectLive, "Record", "what is about to be changed in the running machine is noted first", nil, steps...)
		}
	}
	for _, b := range t.now {
		reason, message := "Edited", "its config says that a change is applied to the running machine"
		switch live := a.Domain.Live.Meta; {
		case b.Temporary:
			reason, message = "Attach", "its RunState says which devices this run has beside its definition"
		case live != nil && live.Digest == a.Instance.Digest:
			reason, message = "Drift", a.byHand("the running machine")
		}
		a.act(EffectLive, reason, message, b.Changes, b.Steps...)
		a.Actions[len(a.Actions)-1].Try = b.Try
	}
	for _, b := range t.asked {
		a.act(EffectLive, "Waiting", fmt.Sprintf("waiting until %s for the guest to follow", t.until.UTC().Format(time.RFC3339)), b.Changes)
		a.wake(t.until)
		a.wake(mem.Now.Add(lookAgain)) // the balloon makes no event
	}
	if after := memo.After; after != nil && len(t.now)+len(t.asked) == 0 && len(a.Blocked) == 0 {
		a.act(EffectLive, "Record", "the running machine is what is declared", nil, a.step(Step{Op: OpMetadata, Metadata: after, Live: true}))
	}
}
