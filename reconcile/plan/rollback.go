package plan

import (
	"cmp"
	"fmt"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// maxStarts is how often a revision may fail to start before it counts as one that does not run.
const maxStarts = 3

// Fallback is an instance as of the revision that it last ran well on, or why it cannot be had.
type Fallback struct {
	Instance *render.Instance
	Why      string
}

// RolledBack says which revision an instance goes back to, because the one that is wanted failed; empty when it did not.
// What failed stands in the domain's record, so that it outlives everything but the domain.
func RolledBack(i *render.Instance, d *Domain) string {
	if i.Rollback != manifest.RollbackOnFailure || d == nil || d.Meta() == nil {
		return ""
	}
	if m := d.Meta(); m.Failed.Digest == i.Digest && m.Good.Revision != "" {
		return m.Good.Revision
	}
	return ""
}

// inForce is the instance to compare with: the wanted one, or the one that it was rolled back to. rejected is the wanted one
// then. The first is nil when the earlier one cannot be had.
func (w Wanted) inForce(i *render.Instance, d *Domain) (use, rejected *render.Instance) {
	if RolledBack(i, d) == "" {
		return i, nil
	}
	return w.Fallback[i.Name].Instance, i
}

// rolledBack says that what is wanted failed.
func (a *Assessment) rolledBack(to *render.Instance, why string) {
	m := a.Domain.Meta()
	message := fmt.Sprintf("revision %.12s failed: %s; ", m.Failed.Revision, m.Failed.Reason)
	if to == nil {
		message += fmt.Sprintf("it is left as it is, because it cannot be rolled back to revision %.12s: %s", m.Good.Revision, why)
	} else {
		message += fmt.Sprintf("it is back on revision %.12s, which ran well, until a revision comes that changes it", m.Good.Revision)
	}
	a.block("RolledBack", message)
}

// onTrial says whether a run of that digest is the first of a new version of a machine that can go back.
func (a *Assessment) onTrial(digest string, m metadata.Metadata) bool {
	i := a.Instance
	return i.Rollback == manifest.RollbackOnFailure && a.Rejected == nil && i.State == manifest.StateRunning &&
		digest == i.Digest && m.Good.Digest != "" && m.Good.Digest != digest
}

// failsRunning says why the run that goes on is no good; empty when it is, or may become so. A run that was changed while it
// went on is no first run of anything.
func (a *Assessment) failsRunning(live, m metadata.Metadata, mem Memory) string {
	if _, asked := mem.Asked[a.Name]; asked || m.Started != live.Digest || !a.onTrial(live.Digest, m) || live.Run > 0 && a.Instance.Run > live.Run {
		return ""
	}
	switch {
	case a.Domain.State == DomainCrashed:
		return "the guest crashed before it was ready"
	case a.late:
		return a.Unready
	}
	return ""
}

// failsOff says why what was to run is no good: it went down before it was ready, or cannot be started.
func (a *Assessment) failsOff(m metadata.Metadata, mem Memory) string {
	if !a.onTrial(m.Digest, m) {
		return ""
	}
	if m.Outcome == metadata.OutcomeStarted && m.Started == m.Digest {
		switch reason := a.Domain.Reason; {
		case reason == "crashed", reason == "failed", reason == "shutdown" && a.Instance.RestartPolicy == manifest.RestartAlways:
			return fmt.Sprintf("the guest went down before it was ready (%s)", reason)
		}
	}
	if s := mem.Starts[a.Name]; s.Digest == a.Instance.Digest && s.Failures >= maxStarts {
		return fmt.Sprintf("it could not be started %d times: %s", s.Failures, s.Message)
	}
	return ""
}

// rollBack records that the wanted version failed. It is all that is done now: the next look finds the record, and goes back.
func (a *Assessment) rollBack(m metadata.Metadata, why string) {
	i := a.Instance
	m.Failed = metadata.Failure{Version: metadata.Version{Revision: i.Revision, Digest: i.Digest}, Reason: why}
	a.act(EffectLive, "RollingBack", fmt.Sprintf("revision %.12s failed: %s; it goes back to revision %.12s", i.Revision, why, m.Good.Revision), nil,
		a.step(Step{Op: OpMetadata, Metadata: &m, Config: true}))
}

// learn keeps in the record what the machine runs well on, and forgets a failure that is of something else than is wanted
// now. It runs well on what it was started from: what was changed while it ran may still keep it from starting. Old is the
// record before; learn says whether anything is new.
func (a *Assessment) learn(live, old metadata.Metadata) (metadata.Metadata, bool) {
	m := old
	if a.Rejected == nil {
		m.Failed = metadata.Failure{}
	}
	if a.Instance.Rollback != manifest.RollbackOnFailure {
		m.Good, m.Started = metadata.Version{}, ""
	} else if live.Digest != "" {
		m.Started = cmp.Or(m.Started, live.Digest)
		if a.heard && live.Digest == m.Started && (a.Rejected == nil || live.Digest == a.Instance.Digest) {
			m.Good = metadata.Version{Revision: live.Revision, Digest: live.Digest}
		}
	}
	return m, m.Good.Digest != old.Good.Digest || m.Failed != old.Failed || m.Started != old.Started
}

// began notes of a record which version a run was started from.
func (a *Assessment) began(m *metadata.Metadata, digest string) {
	m.Started = ""
	if a.Instance.Rollback == manifest.RollbackOnFailure {
		m.Started = digest
	}
}
