package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// rest is how long the loop rests between two passes that events ask for. The first is answered at once; a storm of them
// is answered together.
const rest = 50 * time.Millisecond

// quiet is how long nothing has to happen for the memory to be given back that passes were made with. An agent is idle
// nearly always, and the host has better uses for it.
const quiet = time.Second

// Loop is the agent.
type Loop struct {
	opts     Options
	log      *slog.Logger
	fetcher  *fetcher
	crew     *crew
	keeper   *keeper
	pins     *Pins
	guard    *guard
	readOnly bool
	alone    bool // nothing runs beside the passes, and nothing waits for them

	// What is below is for the goroutine that makes passes.
	documents  *Documents
	memory     *memory
	state      state
	revision   *revision
	good       *manifest.Set
	goodOf     string
	domainType string
	begun      time.Time // of the pass before
	fresh      bool      // a revision was read since memory was given back
	told       string    // what the last pass failed with

	mu     sync.Mutex
	alive  time.Time // of the last pass
	askers []*asker
}

// New makes a loop and reads what the last one left.
func New(o Options) (*Loop, error) {
	s, err := loadState(o.StateFile)
	if err != nil {
		o.Logger.Warn("the agent begins without its memory", "error", err)
	}
	f := newFetcher(o)
	return &Loop{
		opts: o, log: o.Logger, fetcher: f, pins: f.pins, crew: newCrew(o.Runner.Apply, o.Metrics.Acted, o.Refused), keeper: newKeeper(o),
		guard:     newGuard(o.Policy, HostFiles{}, o.Logger),
		documents: NewDocuments(o.Host), memory: newMemory(), state: s,
	}, nil
}

// Trigger asks for a fetch and a pass at once.
func (l *Loop) Trigger() { poke(l.fetcher.ask) }

// Documents is a reader of revisions that begins with the newest one.
func (l *Loop) Documents() *Documents {
	if d := l.pins.documents(); d != nil {
		return d
	}
	return NewDocuments(l.opts.Host)
}

// Alive is when the last pass ended; zero before the first.
func (l *Loop) Alive() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive
}

// Run makes passes until the context ends: when the repository has news, when libvirt has, when work has ended, when
// something is due, and at each interval. It returns once everything that it began has ended.
func (l *Loop) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.waitForWork()
	defer stop()
	l.fetcher.load(ctx)
	wg.Go(func() { l.fetcher.run(ctx) })
	wg.Go(func() { l.watch(ctx) })
	if l.opts.Prober != nil {
		wg.Go(func() { l.opts.Prober.Run(ctx) })
	}
	if l.opts.Addresses != nil {
		wg.Go(func() { l.opts.Addresses.Run(ctx) })
	}
	for {
		wake := l.pass(ctx)
		if err := l.wait(ctx, wake); err != nil {
			return nil
		}
	}
}

// watch has a local repository's changes fetched at once.
func (l *Loop) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.opts.Source.Watch(ctx, l.Trigger)
		if err == nil {
			return
		}
		l.log.Error("the repository is polled only", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(l.opts.Interval):
		}
	}
}

// wait returns when there is a reason for a pass.
func (l *Loop) wait(ctx context.Context, wake time.Time) error {
	due := l.opts.Interval
	if !wake.IsZero() {
		due = min(due, max(time.Until(wake), time.Millisecond))
	}
	timer := time.NewTimer(due)
	defer timer.Stop()
	var probed, addressed <-chan struct{}
	if l.opts.Prober != nil {
		probed = l.opts.Prober.Changed()
	}
	if l.opts.Addresses != nil {
		addressed = l.opts.Addresses.Changed()
	}
	idle := time.NewTimer(quiet)
	defer idle.Stop()
	for woken := false; !woken; {
		woken = true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.fetcher.news:
			return nil
		case <-timer.C:
		case <-l.opts.Runner.Wake():
		case <-l.crew.ready:
		case <-l.keeper.ready():
		case <-probed:
		case <-addressed:
		case <-idle.C:
			debug.FreeOSMemory()
			woken = false
		}
	}
	pause := time.NewTimer(rest - time.Since(l.begun))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.fetcher.news:
	case <-pause.C:
	}
	return nil
}

// pass observes, plans and sets to work, and says when to look again though nothing happens.
func (l *Loop) pass(ctx context.Context) time.Time {
	l.begun = time.Now()
	facts, err := l.once(ctx, true)
	if !errors.Is(err, errNoRevision) { // which the fetcher says, and counts
		l.opts.Metrics.Passed(time.Since(l.begun), err)
		l.tell(ctx, err)
	}
	l.opts.Publish(facts)
	l.answer(facts)
	if l.fresh {
		// Reading a revision leaves much behind that no later pass needs.
		debug.FreeOSMemory()
		l.fresh = false
	}
	l.mu.Lock()
	l.alive = time.Now()
	l.mu.Unlock()
	var wake time.Time
	for _, a := range facts.Assessments {
		if !a.Wake.IsZero() && (wake.IsZero() || a.Wake.Before(wake)) {
			wake = a.Wake
		}
	}
	for _, a := range facts.Resources {
		if !a.Wake.IsZero() && (wake.IsZero() || a.Wake.Before(wake)) {
			wake = a.Wake
		}
	}
	if err != nil && wake.IsZero() {
		wake = l.begun.Add(firstBackOff)
	}
	return wake
}

// tell logs what a pass failed with, once for as long as it is the same: a pass is tried again each second.
func (l *Loop) tell(ctx context.Context, err error) {
	said := ""
	if err != nil && ctx.Err() == nil {
		said = err.Error()
	}
	if said != "" && said != l.told {
		l.log.Error("pass", "error", err)
	}
	l.told = said
}

var errNoRevision = errors.New("there is no revision yet")

// once is one pass. Without act it only looks.
func (l *Loop) once(ctx context.Context, act bool) (facts status.Facts, err error) {
	for _, r := range l.crew.take() {
		refused := r.err != nil && l.opts.Refused(r.err)
		if r.err != nil && ctx.Err() == nil {
			l.log.Error("instance", "instance", r.name, "error", r.err)
		}
		l.memory.done(r, refused)
	}
	facts = status.Facts{Now: time.Now(), Host: l.opts.Host, Fleet: l.opts.Fleet, Version: l.opts.Version, Restarts: map[string]int{}}
	snapshot, from := l.fetcher.latest()
	facts.Source = from
	defer func() {
		if l.revision != nil {
			facts.Source.Revision, facts.Source.Committed = l.revision.snapshot.Commit, l.revision.snapshot.Time
			facts.Documents = l.revision.shown
		}
	}()
	l.crew.look()
	l.finishedResources(ctx)
	world, err := l.observe(ctx, &facts)
	if err != nil {
		return facts, err
	}
	if snapshot == nil {
		return facts, errNoRevision
	}
	if pinned := l.pins.take(); l.revision == nil || l.revision.snapshot != snapshot || pinned || l.revision.epoch != l.epoch() {
		if err := l.adopt(ctx, snapshot, l.domainType); err != nil {
			facts.Source.Error = err.Error()
			if l.revision == nil {
				return facts, err
			}
			l.log.Error("the revision before stays in force", "error", err)
		}
	}
	wanted := l.revision.wanted
	wanted.Elsewhere, wanted.Gone = l.revision.view.left(world)
	wanted.Fallback = l.fallbacks(ctx, world)
	l.guard.judge(&wanted, world, l.revision)
	memory := l.memory.forPlan(facts.Now, world, l.state)
	memory.Patience, memory.Ready = l.opts.Patience, l.probe(ctx, wanted, world)
	p, assessments := plan.Make(wanted, world, memory)
	facts.Plan, facts.Assessments = p, assessments
	l.memory.learn(assessments)
	if l.opts.Addresses != nil {
		l.opts.Addresses.Watch(plan.Guests(world))
		facts.Addresses = l.opts.Addresses.Known()
	}
	l.resources(ctx, wanted, world, &facts, act)
	if act {
		l.letThrough(assessments)
		for _, a := range assessments {
			l.work(ctx, a)
		}
	}
	l.show(&facts)
	return facts, nil
}

// observe asks libvirt for all domains.
func (l *Loop) observe(ctx context.Context, facts *status.Facts) (plan.World, error) {
	if l.domainType == "" {
		kind, err := l.opts.Runner.DomainType(ctx)
		if err != nil {
			facts.Libvirt.Error = err.Error()
			return plan.World{}, err
		}
		l.domainType = kind
	}
	world, err := l.opts.Runner.Observe(ctx)
	if err != nil {
		facts.Libvirt.Error = err.Error()
		return world, err
	}
	facts.Libvirt.Up = true
	return world, nil
}

// work hands an instance's actions to the crew, unless it is at work there, or was while the world was observed.
func (l *Loop) work(ctx context.Context, a plan.Assessment) {
	steps := 0
	for _, action := range a.Actions {
		steps += len(action.Steps)
	}
	if steps == 0 || !l.crew.idle(a.Name) || !l.guard.still(a) {
		return
	}
	r := result{name: a.Name, id: -1, actions: a.Actions}
	if a.Domain != nil {
		r.id = a.Domain.ID
	}
	if a.Instance != nil {
		r.digest = a.Instance.Digest
	}
	for _, action := range a.Actions {
		if len(action.Steps) > 0 {
			l.log.Info("action", "instance", a.Name, "effect", action.Effect, "reason", action.Reason, "message", action.Message)
		}
	}
	l.crew.start(ctx, r)
}

// show adds what the loop remembers of instances. The maps are copies: what was published is not changed any more.
func (l *Loop) show(facts *status.Facts) {
	facts.Failures = make(map[string]status.Failure, len(l.memory.failures))
	for name, f := range l.memory.failures {
		facts.Failures[name] = f
	}
	for name, n := range l.memory.restarts {
		facts.Restarts[name] = n
	}
}
