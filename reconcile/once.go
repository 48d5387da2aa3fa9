package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/status"
)

// Once makes one pass, waits until its work has ended, and says how it stands then. A guest that was asked to shut down is
// not waited for.
func (l *Loop) Once(ctx context.Context) (status.Facts, error) {
	if err := l.first(ctx); err != nil {
		return status.Facts{}, err
	}
	begun := time.Now()
	facts, err := l.once(ctx, true)
	l.waitForWork()
	l.opts.Metrics.Passed(time.Since(begun), err)
	if err != nil {
		return facts, err
	}
	facts, err = l.once(ctx, false)
	l.opts.Publish(facts)
	return facts, err
}

// Look says what a pass would do, and does nothing.
func (l *Loop) Look(ctx context.Context) (status.Facts, error) {
	l.readOnly = true
	if err := l.first(ctx); err != nil {
		return status.Facts{}, err
	}
	return l.once(ctx, false)
}

// first takes the newest revision, or the last one when the repository cannot be reached.
func (l *Loop) first(ctx context.Context) error {
	l.alone = true
	l.fetcher.load(ctx)
	l.fetcher.fetch(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if s, state := l.fetcher.latest(); s == nil {
		return fmt.Errorf("%w: %s", errNoRevision, state.Error)
	}
	return nil
}
