package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Libvirt's daemon works with 5 to 20 threads (min_workers, max_workers), for all of its clients. A call that a frozen
// QEMU does not answer holds one of them until QEMU answers or ends, whatever the client does. When all are held,
// lists, states and destroying still work, because they have threads of their own; reading XML, defining and
// starting do not (all measured with 9.0). So the number of calls that are on their way is bounded.
//
// The daemon begins a new thread when a call comes and as many calls wait as threads are idle. It compares unsigned
// numbers, so it begins none when more calls wait than that (virThreadPoolSendJob). If calls come in a burst, the
// threads that there are take those that are never answered, and at least one call is left waiting, the daemon never
// begins another thread: 11 of 20 were seen to be its end. So calls that may hang do not come in bursts, and where
// some do hang, each further change is sent with nothing else around it.
const (
	// maxChanges is how many calls that change are on their way at once; four threads are left for reading.
	maxChanges = 16
	// maxMonitor is how many of them ask a QEMU something through its monitor: those are what a frozen one holds.
	maxMonitor = 12
	// maxFresh is how many of them have not taken long yet, and maxFreshMonitor how many of those that ask a QEMU, which
	// must be fewer than the threads that the daemon begins with. They bound bursts, and the load that many quick
	// calls make; slow calls do not count.
	maxFresh        = 8
	maxFreshMonitor = 3
	// A start takes QEMU a second on a busy host; what is asked through a monitor takes milliseconds.
	longCall    = 3 * time.Second
	longMonitor = time.Second
	// someHang is how many calls take long when changes begin to be sent alone: this long after what was sent before,
	// and this long before what is sent next, for a thread to take it.
	someHang   = 2
	hushBefore = 5 * time.Millisecond
	hushAfter  = 50 * time.Millisecond
)

// gate bounds the calls that change.
type gate struct {
	changes, monitor, fresh, freshMonitor *semaphore.Weighted

	mu   sync.Mutex
	long int // calls on their way that have taken long
	late int // calls to monitors on their way that have missed their deadline

	sending sync.RWMutex // held by a change that is sent alone, and for a moment by each other call
}

func newGate() *gate {
	return &gate{
		changes:      semaphore.NewWeighted(maxChanges),
		monitor:      semaphore.NewWeighted(maxMonitor),
		fresh:        semaphore.NewWeighted(maxFresh),
		freshMonitor: semaphore.NewWeighted(maxFreshMonitor),
	}
}

// place is a change's place in the gate.
type place struct {
	g       *gate
	monitor bool
	fresh   []*semaphore.Weighted // the places that it holds while it is fresh
	held    []*semaphore.Weighted // those that it holds until it is answered
	timer   *time.Timer

	// These are under the gate's lock.
	aged, late, left bool
}

// enter waits for a place. Waiting for one among those that ask a QEMU ends after patience.
func (g *gate) enter(ctx context.Context, monitor bool, patience time.Duration) (*place, error) {
	p := &place{g: g, monitor: monitor}
	if monitor {
		if err := g.enterMonitor(ctx, patience); err != nil {
			return nil, err
		}
		p.held = append(p.held, g.monitor)
		if err := g.freshMonitor.Acquire(ctx, 1); err != nil {
			release(p.held)
			return nil, context.Cause(ctx)
		}
		p.fresh = append(p.fresh, g.freshMonitor)
	}
	for _, kind := range []struct {
		sem  *semaphore.Weighted
		mine *[]*semaphore.Weighted
	}{{g.changes, &p.held}, {g.fresh, &p.fresh}} {
		if err := kind.sem.Acquire(ctx, 1); err != nil {
			release(p.held)
			release(p.fresh)
			return nil, context.Cause(ctx)
		}
		*kind.mine = append(*kind.mine, kind.sem)
	}
	limit := longCall
	if monitor {
		limit = longMonitor
	}
	p.timer = time.AfterFunc(limit, p.age)
	return p, nil
}

func (g *gate) enterMonitor(ctx context.Context, patience time.Duration) error {
	tooMany := classed{ErrStuck, fmt.Errorf("%d machines have not answered libvirt yet, and more may not be asked, "+
		"or it would answer nobody", maxMonitor)}
	g.mu.Lock()
	late := g.late
	g.mu.Unlock()
	if late >= maxMonitor {
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

// age notes that the call takes long.
func (p *place) age() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if !p.aged && !p.left {
		p.aged = true
		p.g.long++
		release(p.fresh)
	}
}

// missed notes that the call has missed its deadline.
func (p *place) missed() {
	p.age()
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.monitor && !p.late && !p.left {
		p.late = true
		p.g.late++
	}
}

// leave gives the place back when the call has been answered.
func (p *place) leave() {
	p.timer.Stop()
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.left = true
	if p.aged {
		p.g.long--
	} else {
		release(p.fresh)
	}
	if p.late {
		p.g.late--
	}
	release(p.held)
}

func release(places []*semaphore.Weighted) {
	for _, s := range places {
		s.Release(1)
	}
}

// pass waits while a change is sent alone.
func (g *gate) pass() {
	g.sending.RLock()
	defer g.sending.RUnlock()
}

// passAlone is pass for a change. If some calls hang, nothing else is sent around it.
func (g *gate) passAlone() {
	g.mu.Lock()
	alone := g.long >= someHang
	g.mu.Unlock()
	if !alone {
		g.pass()
		return
	}
	g.sending.Lock()
	time.Sleep(hushBefore)
	time.AfterFunc(hushAfter, g.sending.Unlock)
}
