package reconcile

import (
	"context"
	"errors"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// probe has the guests asked that it matters of, and says what is known of them; nil when nobody asks.
func (l *Loop) probe(ctx context.Context, w plan.Wanted, world plan.World) map[string]plan.Readiness {
	p := l.opts.Prober
	if p == nil {
		return nil
	}
	if probes := plan.Probes(w, world); l.alone {
		p.Once(ctx, probes)
	} else {
		p.Watch(probes)
	}
	return p.Ready()
}

// fallbacks completes the instances whose wanted version failed, as of the revisions that they last ran well on.
func (l *Loop) fallbacks(ctx context.Context, world plan.World) map[string]plan.Fallback {
	var out map[string]plan.Fallback
	for _, i := range l.revision.wanted.Instances {
		if i.Rollback != manifest.RollbackOnFailure {
			continue
		}
		commit := plan.RolledBack(i, world.Domain(i.Name))
		if commit == "" {
			continue
		}
		if out == nil {
			out = map[string]plan.Fallback{}
		}
		out[i.Name] = l.fallback(ctx, i, commit)
	}
	return out
}

// fallback completes one instance as of a commit. What its run state, its group and its host say is the newest, and so is
// whether it is rolled back.
func (l *Loop) fallback(ctx context.Context, i *render.Instance, commit string) plan.Fallback {
	pin, err := l.pins.of(commit, i.Config)
	if errors.Is(err, errUnread) && l.readPins(ctx) {
		pin, err = l.pins.of(commit, i.Config)
	}
	if err != nil {
		return plan.Fallback{Why: err.Error()}
	}
	key := fallback{i.Name, pin.Commit}
	if made := l.revision.fallbacks[key]; made != nil {
		return plan.Fallback{Instance: made}
	}
	placement := l.revision.view.Placement.Pinning(i.Name, pin)
	m, _ := placement.Find(i.Name) // it is wanted, so it is placed
	back, problems := placement.Of(m, l.scope(l.domainType).Options)
	if back == nil {
		return plan.Fallback{Why: problems[0].String()}
	}
	back.Revision, back.Pinned, back.Rollback = pin.Commit, true, manifest.RollbackOnFailure
	l.revision.fallbacks[key] = back
	return plan.Fallback{Instance: back}
}

// fallback names an instance as of a commit.
type fallback struct{ name, commit string }
