package probe

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// atOnce bounds how many guests are asked at the same time.
const atOnce = 16

// Prober asks guests whether they are up. Its methods may be called from several goroutines.
type Prober struct {
	guests  Guests
	turns   *semaphore.Weighted
	changed chan struct{}
	news    chan struct{} // there is something to start

	mu      sync.Mutex
	first   bool // nothing has been watched yet
	watched map[string]*guest
	heard   map[string]bool // whose agent has answered, or was seen to be there
}

// guest is one that is watched.
type guest struct {
	probe  plan.Probe
	open   bool          // the agent's channel, at the guest's end
	delay  time.Duration // before the first question
	known  plan.Readiness
	stop   context.CancelFunc // nil before it was started
	passed int                // answers of the same kind in a row: good ones, or bad ones below 0
}

// New makes a prober that asks nothing yet.
func New(guests Guests) *Prober {
	return &Prober{
		guests: guests, turns: semaphore.NewWeighted(atOnce), changed: make(chan struct{}, 1), news: make(chan struct{}, 1),
		first: true, watched: map[string]*guest{}, heard: map[string]bool{},
	}
}

// Changed receives when a guest has come up, or is not up any more.
func (p *Prober) Changed() <-chan struct{} { return p.changed }

// Watch says which guests are to be asked from now on. A run, or a probe, that is new begins anew; a run
// of an old version keeps the probe that it has.
func (p *Prober) Watch(probes []plan.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := make(map[string]bool, len(probes))
	for _, q := range probes {
		wanted[q.Name] = true
		p.heard[q.Name] = p.heard[q.Name] || q.Agent
		g := p.watched[q.Name]
		if g != nil && g.probe.ID == q.ID && g.probe.UUID == q.UUID && (q.Old || reflect.DeepEqual(g.probe.Readiness, q.Readiness)) {
			g.open = q.Agent
			continue
		}
		if g != nil {
			g.end()
		}
		p.watched[q.Name] = p.begin(q)
	}
	maps.DeleteFunc(p.watched, func(name string, g *guest) bool {
		if !wanted[name] {
			g.end()
		}
		return !wanted[name]
	})
	p.first = false
	poke(p.news)
}

func (p *Prober) begin(q plan.Probe) *guest {
	g := &guest{probe: q, open: q.Agent, delay: q.InitialDelay, known: plan.Readiness{ID: q.ID, Since: time.Now(), Message: "it has not been asked yet"}}
	if p.first {
		g.delay = 0 // it ran before this agent did
	}
	return g
}

func (g *guest) end() {
	if g.stop != nil {
		g.stop()
	}
}

// Ready is what is known of the guests that are watched.
func (p *Prober) Ready() map[string]plan.Readiness {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]plan.Readiness, len(p.watched))
	for name, g := range p.watched {
		out[name] = g.known
	}
	return out
}

// Run asks until the context ends. It returns when nothing that it began goes on.
func (p *Prober) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		p.mu.Lock()
		for _, g := range p.watched {
			if g.stop == nil {
				var running context.Context
				running, g.stop = context.WithCancel(ctx)
				group.Go(func() { p.follow(running, g) })
			}
		}
		p.mu.Unlock()
	}
}

// Once asks each guest one time, where nothing goes on between two passes. One of which nothing is declared, and whose agent
// does not answer, counts as up: how long it has run is not known.
func (p *Prober) Once(ctx context.Context, probes []plan.Probe) {
	p.Watch(probes)
	p.mu.Lock()
	guests := make([]*guest, 0, len(p.watched))
	for _, g := range p.watched {
		guests = append(guests, g)
	}
	p.mu.Unlock()
	var group sync.WaitGroup
	defer group.Wait()
	for _, g := range guests {
		group.Go(func() {
			message, err := p.ask(ctx, g, true)
			p.mu.Lock()
			defer p.mu.Unlock()
			g.known.Ready, g.known.Message = err == nil, message
			if err != nil {
				g.known.Message = err.Error()
			}
		})
	}
}

// follow asks one guest again and again. A guest of which nothing is declared is asked until it is up, and then no more.
func (p *Prober) follow(ctx context.Context, g *guest) {
	defer g.end()
	if !sleep(ctx, g.delay) {
		return
	}
	for {
		message, err := p.ask(ctx, g, false)
		if ctx.Err() != nil {
			return
		}
		if ready := p.note(g, message, err); ready && g.probe.Check == "" || !sleep(ctx, g.probe.Period) {
			return
		}
	}
}

// note keeps an answer, and says whether the guest counts as up.
func (p *Prober) note(g *guest, message string, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := g.known.Ready
	if err == nil {
		g.passed = max(g.passed, 0) + 1
		if g.passed >= g.probe.Successes {
			g.known.Ready = true
		}
		if g.known.Ready {
			g.known.Message = message
		}
	} else {
		g.passed = min(g.passed, 0) - 1
		if -g.passed >= g.probe.Failures {
			g.known.Ready = false
		}
		if !g.known.Ready {
			g.known.Message = err.Error()
		}
	}
	if g.known.Ready != before {
		poke(p.changed)
	}
	return g.known.Ready
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// poke leaves a note that is not left twice.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
