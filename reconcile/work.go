package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// result is what became of one instance's actions.
type result struct {
	name    string
	id      int32 // the domain's
	digest  string
	actions []plan.Action
	done    int       // how many of them went well
	at      time.Time // when it ended
	err     error
	tries   map[string]plan.Try // by the actions' Try
}

// crew works at instances, each at its own pace: one that hangs holds up no other. There is never more than one at work
// at an instance.
type crew struct {
	apply   func(context.Context, []plan.Step) error
	acted   func(plan.Action, error)
	refused func(error) bool
	wg      sync.WaitGroup

	mu      sync.Mutex
	busy    map[string]bool
	results []result
	touched map[string]bool // instances that were worked at since the last look
	ready   chan struct{}   // receives when there are results
}

func newCrew(apply func(context.Context, []plan.Step) error, acted func(plan.Action, error), refused func(error) bool) *crew {
	return &crew{
		apply: apply, acted: acted, refused: refused, busy: map[string]bool{}, touched: map[string]bool{}, ready: make(chan struct{}, 1),
	}
}

// look begins an observation: what is at work now, or begins, or ends until idle is asked, may be seen half done.
func (c *crew) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.touched)
	for name := range c.busy {
		c.touched[name] = true
	}
}

// idle says whether nobody has been at work at the instance since the last look.
func (c *crew) idle(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.touched[name]
}

// start works at one instance's actions.
func (c *crew) start(ctx context.Context, r result) {
	c.mu.Lock()
	c.busy[r.name], c.touched[r.name] = true, true
	c.mu.Unlock()
	c.wg.Go(func() {
		for _, a := range r.actions {
			if len(a.Steps) > 0 {
				r.err = c.apply(ctx, a.Steps)
				c.acted(a, r.err)
			}
			if a.Try != "" && len(a.Steps) > 0 {
				r.try(a.Try, c.refused)
			}
			if r.err != nil {
				break
			}
			r.done++
		}
		r.at = time.Now()
		c.mu.Lock()
		delete(c.busy, r.name)
		c.results = append(c.results, r)
		c.mu.Unlock()
		select {
		case c.ready <- struct{}{}:
		default:
		}
	})
}

// try notes what became of a change that may be refused. That is then no failure of the instance.
func (r *result) try(name string, refused func(error) bool) {
	t := plan.Try{ID: r.id, At: time.Now()}
	if r.err != nil {
		if !refused(r.err) {
			return
		}
		t.Refused, r.err = r.err.Error(), nil
	}
	if r.tries == nil {
		r.tries = map[string]plan.Try{}
	}
	r.tries[name] = t
}

// take returns the results that have come in.
func (c *crew) take() []result {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.results
	c.results = nil
	return results
}
