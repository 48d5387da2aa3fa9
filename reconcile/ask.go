package reconcile

import (
	"context"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/status"
)

// asker waits for a pass.
type asker struct {
	fetch  int // the number of the fetch that the pass has to know of
	enough func(status.Facts) bool
	done   chan struct{}
}

// Ask has the repository asked at once, and shows the caller every pass that knows of the answer, until enough says that it
// has seen enough, or the context ends, whose error is returned then. Enough is called by the loop: it must not wait, and
// not keep the facts, of which the domains' XML is a large part. When Ask has returned, it is not called any more.
func (l *Loop) Ask(ctx context.Context, enough func(status.Facts) bool) error {
	a := &asker{fetch: l.fetcher.next(), enough: enough, done: make(chan struct{})}
	l.mu.Lock()
	l.askers = append(l.askers, a)
	l.mu.Unlock()
	l.Trigger()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.askers = slices.DeleteFunc(l.askers, func(b *asker) bool { return a == b })
	return ctx.Err()
}

// answer shows a pass to those who wait for it.
func (l *Loop) answer(facts status.Facts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.askers = slices.DeleteFunc(l.askers, func(a *asker) bool {
		over := facts.Source.Fetches >= a.fetch && a.enough(facts)
		if over {
			close(a.done)
		}
		return over
	})
}
