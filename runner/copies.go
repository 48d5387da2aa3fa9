package runner

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/runner/image"
)

const (
	// copiesPerFolder is how many images are copied into a folder at once. More at a time take longer together, and leave
	// the machines that run there less of their disk.
	copiesPerFolder = 2
	// tellCopy is how often the log says how far a copy is.
	tellCopy = 10 * time.Second
	// lookAtCopies is how many times within its time a copy is looked at that may hang.
	lookAtCopies = 10
)

// lane is where the copies into a folder wait for each other. They have turns of their own: a copy may take an hour, and the
// small files of other machines do not wait for it.
type lane struct {
	turn  *semaphore.Weighted
	moved atomic.Int64 // when any of the folder's copies last went on, in nanoseconds of the epoch
}

func (f *folders) lane(dir string) *lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lanes[dir] == nil {
		f.lanes[dir] = &lane{turn: semaphore.NewWeighted(copiesPerFolder)}
	}
	return f.lanes[dir]
}

// copying is one copy.
type copying struct {
	log   *slog.Logger
	lane  *lane
	moved atomic.Int64 // when this one last went on
	begun time.Time
	told  atomic.Int64
}

func (c *copying) goesOn() {
	now := time.Now().UnixNano()
	c.moved.Store(now)
	c.lane.moved.Store(now)
}

// progress takes what is done, and says so in the log now and then.
func (c *copying) progress(done, total int64) {
	c.goesOn()
	told, now := c.told.Load(), time.Now().UnixNano()
	if now-told < int64(tellCopy) || total <= 0 || !c.told.CompareAndSwap(told, now) {
		return
	}
	c.log.Info("copying an image", "percent", done*100/total, "since", c.begun)
}

// inTurn does a copy into a folder. It may take as long as it likes for as long as it goes on; one that has not gone on for
// the time that storage has to answer is given up, and so is one that waits behind such copies.
func (r *Runner) inTurn(ctx context.Context, dir string, log *slog.Logger, work func(context.Context, image.Progress) (bool, error)) (bool, error) {
	limit := r.opts.Deadlines.Start
	c := &copying{log: log, lane: r.folders.lane(dir)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hangs := func(moved *atomic.Int64) {
		if time.Since(time.Unix(0, moved.Load())) > limit {
			cancel(classed{ErrStuck, fmt.Errorf("a copy into %s has not gone on for %v: its storage gives no answer", dir, limit)})
		}
	}
	if !c.lane.turn.TryAcquire(1) {
		if err := c.wait(ctx, limit, hangs); err != nil {
			return false, context.Cause(ctx)
		}
	}
	c.begun = time.Now()
	c.told.Store(c.begun.UnixNano())
	c.goesOn()
	type result struct {
		made bool
		err  error
	}
	done := make(chan result, 1)
	started := r.work.start(func() {
		made, err := work(ctx, c.progress)
		c.lane.turn.Release(1)
		done <- result{made, err}
	})
	if !started {
		c.lane.turn.Release(1)
		return false, errClosed
	}
	look := time.NewTicker(max(limit/lookAtCopies, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case res := <-done:
			if res.err == nil {
				log.Info("copied an image", "took", time.Since(c.begun).Round(time.Millisecond))
			}
			return res.made, res.err
		case <-look.C:
			hangs(&c.moved)
			continue
		case <-ctx.Done():
		}
		break
	}
	// What can be told to stop, stops now. A moment is given for it to clean up.
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case res := <-done:
		return res.made, res.err
	case <-grace.C:
		return false, context.Cause(ctx)
	}
}

// wait is for a turn, for as long as any of the folder's copies goes on.
func (c *copying) wait(ctx context.Context, limit time.Duration, hangs func(*atomic.Int64)) error {
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		look := time.NewTicker(max(limit/lookAtCopies, time.Millisecond))
		defer look.Stop()
		for {
			select {
			case <-look.C:
				hangs(&c.lane.moved)
			case <-ended:
				return
			}
		}
	}()
	err := c.lane.turn.Acquire(ctx, 1)
	close(ended)
	<-watched
	return err
}
