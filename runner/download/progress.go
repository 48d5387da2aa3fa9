package download

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sayEvery is how often a fetch says how far it is.
	sayEvery = 10 * time.Second
	// syncPatience is how long a file may take to reach the disk.
	syncPatience = 10 * time.Minute
)

// progress counts what a fetch does, tells of it, and ends a fetch in which nothing moves any more.
type progress struct {
	log      *slog.Logger
	began    time.Time
	received atomic.Int64 // bytes from the server, and those that an earlier try left
	written  atomic.Int64 // bytes of the file, holes too
	worked   atomic.Int64 // bytes that were read again: to verify them, to unpack them
	total    atomic.Int64 // that are to be received; 0 while that is not known
	running  atomic.Bool  // its turn has come
	syncing  atomic.Bool
	stop     context.CancelFunc
	stopped  sync.WaitGroup
}

func (f *Fetcher) newProgress(from Origin, to string) *progress {
	return &progress{log: f.opts.Logger.With("image", from.String(), "to", to), began: time.Now()}
}

func (p *progress) watch(ctx context.Context, cancel context.CancelCauseFunc, patience time.Duration) {
	watching, stop := context.WithCancel(ctx)
	p.stop = stop
	p.running.Store(true)
	p.log.Info("fetching an image")
	p.stopped.Go(func() { p.look(watching, cancel, patience) })
}

func (p *progress) look(ctx context.Context, cancel context.CancelCauseFunc, patience time.Duration) {
	tick := time.NewTicker(min(time.Second, patience/2))
	defer tick.Stop()
	said, moved, last := time.Now(), time.Now(), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			count := p.received.Load() + p.written.Load() + p.worked.Load()
			if count != last {
				moved, last = now, count
			}
			limit := patience
			if p.syncing.Load() {
				limit = syncPatience
			}
			if now.Sub(moved) > limit {
				cancel(fmt.Errorf("nothing has moved for %v, after %d bytes from the server", limit, p.received.Load()))
				return
			}
			if now.Sub(said) >= sayEvery {
				said = now
				p.log.Info("fetching an image", "received", p.received.Load(), "total", p.total.Load(), "written", p.written.Load())
			}
		}
	}
}

func (p *progress) end() {
	p.stop()
	p.stopped.Wait()
}

func (p *progress) arrived(digest string) {
	p.log.Info("fetched an image", "digest", digest, "received", p.received.Load(), "written", p.written.Load(),
		"seconds", time.Since(p.began).Seconds())
}

// State is how far a fetch is.
type State struct {
	From Origin
	To   string
	// Users are who waits for it, sorted.
	Users []string
	// Waiting says that its turn has not come: others are fetched.
	Waiting bool
	// Received are bytes of Total, which is 0 while it is not known.
	Received, Total int64
	Began           time.Time
}

// States are the fetches that are on their way, sorted by their places. It does not wait.
func (f *Fetcher) States() []State {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []State
	for to, fl := range f.flights {
		p := fl.seen
		all = append(all, State{
			From: fl.from, To: to, Users: slices.Sorted(maps.Keys(fl.waiting)), Waiting: !p.running.Load(),
			Received: p.received.Load(), Total: p.total.Load(), Began: p.began,
		})
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Compare(a.To, b.To) })
	return all
}
