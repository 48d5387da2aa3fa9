package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

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
	view     View
	epoch    uint64 // of the secrets that it was completed with
	// fallbacks are instances as of earlier revisions.
	fallbacks map[fallback]*render.Instance
}

// maxLogged is how many problems of a revision are logged one by one.
const maxLogged = 50

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
	o, epoch := l.scope(domainType), l.epoch()
	o.GoodFile = l.goodFile(ctx)
	if l.revision == nil || l.revision.snapshot != s {
		l.pins.begin(l.documents)
	}
	view, err := l.documents.View(s, set, good, l.state.Good, o)
	if err == nil && l.pins.pending() && l.readPins(ctx) {
		view, err = l.documents.View(s, set, good, l.state.Good, o)
	}
	if err != nil {
		return fmt.Errorf("cannot read revision %.12s: %w", s.Commit, err)
	}
	for _, name := range slices.Sorted(maps.Keys(view.Resources.Broken)) {
		l.log.Warn("a network or storage pool is left as it is", "resource", name, "problem", view.Resources.Broken[name])
	}
	for _, name := range slices.Sorted(maps.Keys(view.Locked)) {
		l.log.Warn("a secret cannot be used", "instance", name, "problem", view.Locked[name])
	}
	w := view.Wanted(l.opts.Host, s.Commit)
	w.Budget, w.Allowed = l.opts.Budget, max(s.Allowed, l.fetcher.take())
	if l.revision != nil && l.revision.snapshot.Commit == s.Commit {
		w.Allowed = max(w.Allowed, l.revision.wanted.Allowed)
	} else {
		l.memory.newRevision()
		l.keeper.newRevision()
	}
	l.remember(view, s.Commit)
	l.fresh = true
	l.revision = &revision{snapshot: s, wanted: w, shown: shown(view), view: view, epoch: epoch, fallbacks: map[fallback]*render.Instance{}}
	for n, p := range view.Problems {
		if n == maxLogged {
			l.log.Warn("more problems in the documents", "count", len(view.Problems)-n)
			break
		}
		l.log.Warn("document problem", "problem", p.String())
	}
	return nil
}

func (l *Loop) scope(domainType string) Scope {
	return Scope{Host: l.opts.Host, DefaultHost: l.opts.DefaultHost, Pins: l.pins,
		Options: render.Options{Fleet: l.opts.Fleet, DomainType: domainType, CacheDir: l.opts.CacheDir, Secrets: l.opts.Secrets}}
}

// epoch counts the changes of the host's keys and secrets.
func (l *Loop) epoch() uint64 {
	if l.opts.Secrets == nil {
		return 0
	}
	return l.opts.Secrets.Epoch()
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
	reader := l.documents.Fork()
	if l.good, err = reader.Read(s); err != nil {
		return nil, err
	}
	l.documents.take(reader)
	l.goodOf = l.state.Good
	return l.good, nil
}

// goodFile reads files of the last good revision. The newest one may have lost a secret, or have a broken one.
func (l *Loop) goodFile(ctx context.Context) func(path string) ([]byte, bool) {
	commit := l.state.Good
	open := sync.OnceValues(func() (*source.Snapshot, error) { return l.opts.Source.At(ctx, commit) })
	return func(path string) ([]byte, bool) {
		s, err := open()
		if err != nil {
			l.log.Warn("the last good revision cannot be read", "revision", commit, "error", err)
			return nil, false
		}
		return Sealed(s)(path)
	}
}

// remember keeps what the next revision, or the next agent, has to know of this one.
func (l *Loop) remember(v View, commit string) {
	next := state{Good: l.state.Good, MovedFrom: map[string]string{}, LetThrough: map[string]bool{}, Own: l.state.Own, Kept: l.state.Kept, LetGo: l.state.LetGo}
	if len(v.Problems) == 0 {
		next.Good = commit
		l.good, l.goodOf = v.Set, commit
	}
	here := map[string]bool{}
	for _, m := range v.Placement.Machines {
		name := m.Run.Metadata.Name
		if m.Run.Spec.Host != l.opts.Host {
			continue
		}
		here[name] = true
		if from := l.state.MovedFrom[name]; from != "" {
			next.MovedFrom[name] = from
		}
		if before := l.state.Hosts[name]; before != "" && before != l.opts.Host {
			next.MovedFrom[name] = before
		}
	}
	for name := range l.state.LetThrough {
		if !here[name] {
			next.LetThrough[name] = true
		}
	}
	var moved bool
	next.Hosts, moved = l.hosts(v)
	l.keep(next, moved)
}

// hosts are those of all machines, and whether a machine has come, gone or moved since the last revision. There may be very
// many machines, and most commits move none.
func (l *Loop) hosts(v View) (map[string]string, bool) {
	same := l.revision != nil && len(v.Problems)+len(l.revision.view.Problems) == 0
	for _, d := range l.documents.takeTouched() {
		switch {
		case !same:
		case d.Kind == manifest.KindConfig || d.Kind == manifest.KindFlavour || d.Kind == manifest.KindPreset:
		case d.Kind == manifest.KindRunState:
			now := v.Set.Find(d.Kind, d.Name)
			same = now != nil && now.Host() != "" && now.Host() == l.state.Hosts[d.Name]
		default:
			same = false
		}
	}
	if same {
		return l.state.Hosts, false
	}
	hosts := make(map[string]string, len(l.state.Hosts))
	for _, m := range v.Placement.Machines {
		hosts[m.Run.Metadata.Name] = m.Run.Spec.Host
	}
	for d, a := range v.Set.EachAway {
		hosts[d.Name] = a.Host
	}
	return hosts, !maps.Equal(hosts, l.state.Hosts)
}

// keep makes a state the one that outlives the agent. moved says that its hosts are others.
func (l *Loop) keep(next state, moved bool) {
	if l.readOnly || !moved && next.Good == l.state.Good &&
		maps.Equal(next.MovedFrom, l.state.MovedFrom) && maps.Equal(next.LetThrough, l.state.LetThrough) &&
		maps.Equal(next.Own, l.state.Own) && maps.Equal(next.Kept, l.state.Kept) && maps.Equal(next.LetGo, l.state.LetGo) {
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
	l.keep(next, false)
}

func shown(v View) status.Documents {
	d := status.Documents{
		Set:      v.Set,
		Problems: append(slices.Clone(v.Problems), v.Unread...),
		Unread:   len(v.Unread),
		Warnings: v.Set.Warnings,
		Mended:   slices.Sorted(maps.Keys(v.Set.Mended)),
	}
	for _, m := range v.Placement.Machines {
		d.RunStates = append(d.RunStates, m.Run)
	}
	return d
}
