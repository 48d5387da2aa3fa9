package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// revision is the one in force, as far as it concerns this host.
type revision struct {
	snapshot *source.Snapshot
	wanted   plan.Wanted
	shown    status.Documents
	// placement is of all machines; fallbacks are instances as of earlier revisions.
	placement *render.Placement
	fallbacks map[fallback]*render.Instance
}

// adopt makes a snapshot the revision in force: it reads its documents, and lets the last good revision stand in for what
// is broken in them.
func (l *Loop) adopt(ctx context.Context, s *source.Snapshot, domainType string) error {
	set, err := l.documents.Read(s)
	if err != nil {
		return fmt.Errorf("cannot read revision %.12s: %w", s.Commit, err)
	}
	var good *manifest.Set
	if l.state.Good != "" && l.state.Good != s.Commit {
		if good, err = l.goodSet(ctx); err != nil {
			l.log.Warn("the last good revision cannot be read: what is broken now is left as it is", "revision", l.state.Good, "error", err)
		}
	}
	o := l.scope(domainType)
	if l.revision == nil || l.revision.snapshot != s {
		l.pins.begin(l.documents.files)
	}
	view := l.documents.View(s, set, good, l.state.Good, o)
	if l.pins.pending() && l.readPins(ctx) {
		view = l.documents.View(s, set, good, l.state.Good, o)
	}
	w := view.Wanted(l.opts.Host, s.Commit)
	w.Budget, w.Allowed = l.opts.Budget, max(s.Allowed, l.fetcher.take())
	if l.revision != nil && l.revision.snapshot.Commit == s.Commit {
		w.Allowed = max(w.Allowed, l.revision.wanted.Allowed)
	} else {
		l.memory.newRevision()
	}
	l.remember(view, s.Commit)
	l.fresh = true
	l.revision = &revision{snapshot: s, wanted: w, shown: shown(view), placement: view.Placement, fallbacks: map[fallback]*render.Instance{}}
	for _, p := range view.Problems {
		l.log.Warn("document problem", "problem", p.String())
	}
	return nil
}

func (l *Loop) scope(domainType string) Scope {
	return Scope{Host: l.opts.Host, DefaultHost: l.opts.DefaultHost, Pins: l.pins,
		Options: render.Options{Fleet: l.opts.Fleet, DomainType: domainType, CacheDir: l.opts.CacheDir}}
}

// readPins finds what pinned revisions say, and says whether that is done: where something waits for the passes, the fetcher
// does it.
func (l *Loop) readPins(ctx context.Context) bool {
	if !l.alone {
		poke(l.fetcher.wanted)
		return false
	}
	l.pins.read(ctx)
	l.pins.take()
	return true
}

// goodSet reads the documents of the last good revision.
func (l *Loop) goodSet(ctx context.Context) (*manifest.Set, error) {
	if l.good != nil && l.goodOf == l.state.Good {
		return l.good, nil
	}
	s, err := l.opts.Source.At(ctx, l.state.Good)
	if err != nil {
		return nil, err
	}
	// A reader of its own, because this one is not to forget the files of the newest revision; what is the same in both is
	// there once.
	if l.good, err = (&Documents{files: l.documents.files}).Read(s); err != nil {
		return nil, err
	}
	l.goodOf = l.state.Good
	return l.good, nil
}

// remember keeps what the next revision, or the next agent, has to know of this one.
func (l *Loop) remember(v View, commit string) {
	next := state{Good: l.state.Good, Hosts: map[string]string{}, MovedFrom: map[string]string{}, LetThrough: map[string]bool{}}
	if len(v.Problems) == 0 {
		next.Good = commit
		l.good, l.goodOf = v.Set, commit
	}
	placed := map[string]string{}
	for _, m := range v.Placement.Machines {
		name, host := m.Run.Metadata.Name, m.Run.Spec.Host
		placed[name] = host
		next.Hosts[name] = host
		if host != l.opts.Host {
			continue
		}
		if from := l.state.MovedFrom[name]; from != "" {
			next.MovedFrom[name] = from
		}
		if before := l.state.Hosts[name]; before != "" && before != host {
			next.MovedFrom[name] = before
		}
	}
	for name := range l.state.LetThrough {
		if placed[name] != l.opts.Host {
			next.LetThrough[name] = true
		}
	}
	l.keep(next)
}

// keep makes a state the one that outlives the agent.
func (l *Loop) keep(next state) {
	if l.readOnly || next.Good == l.state.Good && maps.Equal(next.Hosts, l.state.Hosts) &&
		maps.Equal(next.MovedFrom, l.state.MovedFrom) && maps.Equal(next.LetThrough, l.state.LetThrough) {
		l.state = next
		return
	}
	l.state = next
	if err := next.save(l.opts.StateFile); err != nil {
		l.log.Error("what should outlive the agent is not kept", "error", err)
	}
}

// letThrough remembers the removals that have begun, so that a later commit does not hold them half done; and that what is
// here has arrived.
func (l *Loop) letThrough(assessments []plan.Assessment) {
	next := l.state
	next.LetThrough, next.MovedFrom = maps.Clone(next.LetThrough), maps.Clone(next.MovedFrom)
	present := map[string]bool{}
	for _, a := range assessments {
		present[a.Name] = a.Domain != nil
		for _, action := range a.Actions {
			if action.Effect == plan.EffectRemove {
				next.LetThrough[a.Name] = true
			}
		}
		if a.Domain != nil && a.Instance != nil {
			delete(next.MovedFrom, a.Name)
		}
	}
	maps.DeleteFunc(next.LetThrough, func(name string, _ bool) bool { return !present[name] })
	l.keep(next)
}

func shown(v View) status.Documents {
	d := status.Documents{
		Configs:  slices.Collect(maps.Values(v.Set.Configs)),
		Count:    v.Set.Size(),
		Problems: append(slices.Clone(v.Problems), v.Unread...),
		Warnings: v.Set.Warnings,
		Mended:   slices.Sorted(maps.Keys(v.Set.Mended)),
	}
	for _, m := range v.Placement.Machines {
		d.RunStates = append(d.RunStates, m.Run)
	}
	slices.SortFunc(d.Configs, func(a, b *manifest.Config) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	return d
}
