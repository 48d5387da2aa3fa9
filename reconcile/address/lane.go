package address

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const (
	// firstDelay is between the first two questions about a guest: it boots, and has no address yet.
	firstDelay = 2 * time.Second
	// usualDelay is between two questions about a guest whose address is known.
	usualDelay = time.Minute
	// maxDelay is the longest that is waited after one failure more.
	maxDelay = 10 * time.Minute
	// patience is how many failures in a row leave what was known before.
	patience = 3
)

// lane asks one source about guests, each at its own times.
type lane struct {
	ask     func(context.Context, plan.Guest) ([]plan.Address, error)
	turns   *semaphore.Weighted
	changed chan<- struct{}
	news    chan struct{} // somebody's next time may be earlier

	mu     sync.Mutex
	guests map[string]*guest
}

// guest is one that is watched.
type guest struct {
	plan.Guest
	next     time.Time
	delay    time.Duration
	failures int
	busy     bool
	found    []plan.Address
}

func newLane(ask func(context.Context, plan.Guest) ([]plan.Address, error), atOnce int64, changed chan<- struct{}) *lane {
	return &lane{ask: ask, turns: semaphore.NewWeighted(atOnce), changed: changed, news: make(chan struct{}, 1), guests: map[string]*guest{}}
}

func (l *lane) watch(guests []plan.Guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := make(map[string]bool, len(guests))
	for _, g := range guests {
		wanted[g.Name] = true
		if old := l.guests[g.Name]; old == nil || old.UUID != g.UUID || old.ID != g.ID || !slices.Equal(old.MACs, g.MACs) {
			l.guests[g.Name] = &guest{Guest: g, next: time.Now()}
			poke(l.news)
		}
	}
	maps.DeleteFunc(l.guests, func(name string, _ *guest) bool { return !wanted[name] })
}

func (l *lane) known() map[string][]plan.Address {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string][]plan.Address{}
	for name, g := range l.guests {
		if len(g.found) > 0 {
			all[name] = g.found
		}
	}
	return all
}

func (l *lane) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		due, next := l.due()
		for _, g := range due {
			if l.turns.Acquire(ctx, 1) != nil {
				return
			}
			group.Go(func() {
				defer l.turns.Release(1)
				found, err := l.ask(ctx, g.Guest)
				if ctx.Err() == nil {
					l.note(g, found, err)
				}
			})
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.news:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// due are those whose time has come, the longest waiting first, and how long it is until the next one's does.
func (l *lane) due() (due []*guest, next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = usualDelay
	for _, g := range l.guests {
		switch wait := time.Until(g.next); {
		case g.busy: // it says so when it is not any more
		case wait <= 0:
			g.busy = true
			due = append(due, g)
		default:
			next = min(next, wait)
		}
	}
	slices.SortFunc(due, func(a, b *guest) int { return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.Name, b.Name)) })
	return due, next
}

// note keeps an answer, and says when to ask again.
func (l *lane) note(g *guest, found []plan.Address, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.busy = false
	g.delay = max(2*g.delay, firstDelay)
	if err != nil {
		g.failures++
		g.delay = min(g.delay, maxDelay)
		if found = nil; g.failures < patience {
			found = g.found
		}
	} else {
		g.failures = 0
		g.delay = min(g.delay, usualDelay)
		if len(found) > 0 {
			g.delay = usualDelay
		}
	}
	g.next = time.Now().Add(g.delay)
	if !slices.Equal(g.found, found) {
		g.found = found
		poke(l.changed)
	}
	poke(l.news)
}

// poke leaves a note that is not left twice.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
