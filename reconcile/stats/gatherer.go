package stats

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// share bounds what gathering costs: it rests for so many times as long as it took.
const share = 4

// Source says what each domain uses.
type Source interface {
	Usage(ctx context.Context) ([]plan.Usage, error)
}

// Gatherer asks for the usage of all domains again and again.
type Gatherer struct {
	source   Source
	interval time.Duration
	log      *slog.Logger
	latest   atomic.Pointer[sample]
}

// sample is what was last gathered.
type sample struct {
	usage []plan.Usage
	at    time.Time
	up    bool
}

// New makes a gatherer that asks each interval.
func New(source Source, interval time.Duration, log *slog.Logger) *Gatherer {
	g := &Gatherer{source: source, interval: interval, log: log}
	g.latest.Store(&sample{})
	return g
}

// Run gathers until the context ends. What could not be gathered anew is shown for three intervals, and then no more.
func (g *Gatherer) Run(ctx context.Context) {
	told := ""
	for {
		began := time.Now()
		usage, err := g.source.Usage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			g.latest.Store(&sample{usage, time.Now(), true})
			told = ""
		} else {
			last := *g.latest.Load()
			if last.up = false; time.Since(last.at) > 3*g.interval {
				last.usage = nil
			}
			g.latest.Store(&last)
			if told != err.Error() {
				told = err.Error()
				g.log.Warn("cannot find out what domains use", "error", err)
			}
		}
		timer := time.NewTimer(max(g.interval, share*time.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
