package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Libvirt's daemon has 20 workers (max_workers), for all of its clients. A call that a frozen QEMU does not answer holds
// one of them until QEMU answers or ends, whatever the client does. With all 20 held, lists, states and destroying
// still work, because they have workers of their own; reading XML, defining and starting do not (all measured with
// 9.0). So the number of calls that are on their way is bounded, and those that time has run out for are counted.
const (
	// maxChanges is how many calls that change are on their way at once; four workers are left for reading.
	maxChanges = 16
	// maxMonitor is how many of them ask a QEMU something through its monitor: those are what a frozen one holds.
	maxMonitor = 12
	// maxFresh is how many of them have begun within the last longCall. It bounds the load that many quick calls
	// make, and slow ones do not count.
	maxFresh = 8
	longCall = 3 * time.Second
)

// gate bounds the calls that change.
type gate struct {
	changes, monitor, fresh *semaphore.Weighted

	mu   sync.Mutex
	late int // calls to monitors that have missed their deadline and are still on their way
}

func newGate() *gate {
	return &gate{
		changes: semaphore.NewWeighted(maxChanges),
		monitor: semaphore.NewWeighted(maxMonitor),
		fresh:   semaphore.NewWeighted(maxFresh),
	}
}

// enter waits for a place, and returns what gives it back. Waiting for one among the monitor's ends after patience.
func (g *gate) enter(ctx context.Context, monitor bool, patience time.Duration) (leave func(late bool), err error) {
	if monitor {
		if err := g.enterMonitor(ctx, patience); err != nil {
			return nil, err
		}
	}
	if err := g.changes.Acquire(ctx, 1); err != nil {
		g.leaveMonitor(monitor)
		return nil, context.Cause(ctx)
	}
	if err := g.fresh.Acquire(ctx, 1); err != nil {
		g.changes.Release(1)
		g.leaveMonitor(monitor)
		return nil, context.Cause(ctx)
	}
	var once sync.Once
	stale := func() { once.Do(func() { g.fresh.Release(1) }) }
	timer := time.AfterFunc(longCall, stale)
	return func(late bool) {
		timer.Stop()
		stale()
		g.changes.Release(1)
		g.leaveMonitor(monitor)
		if late && monitor {
			g.count(-1)
		}
	}, nil
}

func (g *gate) enterMonitor(ctx context.Context, patience time.Duration) error {
	tooMany := classed{ErrStuck, fmt.Errorf("%d machines have not answered libvirt yet, and more may not be asked, "+
		"or it would answer nobody", maxMonitor)}
	if g.count(0) >= maxMonitor {
		return tooMany
	}
	waiting, cancel := context.WithTimeoutCause(ctx, patience, ErrStuck)
	defer cancel()
	if g.monitor.Acquire(waiting, 1) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return tooMany
}

// missed notes that a call with a place has missed its deadline.
func (g *gate) missed(monitor bool) {
	if monitor {
		g.count(1)
	}
}

func (g *gate) count(more int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late += more
	return g.late
}

func (g *gate) leaveMonitor(monitor bool) {
	if monitor {
		g.monitor.Release(1)
	}
}
