package oci

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
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
	via      http.RoundTripper
	began    time.Time
	received atomic.Int64 // bytes from the registry
	written  atomic.Int64 // bytes of the file, holes too
	syncing  atomic.Bool
	stop     context.CancelFunc
	stopped  sync.WaitGroup
}

func (f *Fetcher) watch(ctx context.Context, cancel context.CancelCauseFunc, from source, to string) *progress {
	p := &progress{via: f.transport, log: f.opts.Logger.With("image", from.image, "to", to), began: time.Now()}
	watching, stop := context.WithCancel(ctx)
	p.stop = stop
	p.log.Info("fetching an image")
	p.stopped.Go(func() { p.look(watching, cancel, f.opts.Patience) })
	return p
}

func (p *progress) look(ctx context.Context, cancel context.CancelCauseFunc, patience time.Duration) {
	tick := time.NewTicker(min(time.Second, patience/2))
	defer tick.Stop()
	said, moved, last := p.began, p.began, int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			count := p.received.Load() + p.written.Load()
			if count != last {
				moved, last = now, count
			}
			limit := patience
			if p.syncing.Load() {
				limit = syncPatience
			}
			if now.Sub(moved) > limit {
				cancel(fmt.Errorf("nothing has moved for %v, after %d bytes from the registry", limit, p.received.Load()))
				return
			}
			if now.Sub(said) >= sayEvery {
				said = now
				p.log.Info("fetching an image", "received", p.received.Load(), "written", p.written.Load())
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
