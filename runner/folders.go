package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// perFolder is how many files are made in a folder at once. Each folder has its own count, so that one on storage that
// hangs holds up only the machines that need it.
const perFolder = 8

// folders keeps what is known of the folders that files are made in.
type folders struct {
	mu    sync.Mutex
	turns map[string]*semaphore.Weighted
	swept map[string]bool
	lanes map[string]*lane
}

func newFolders() *folders {
	return &folders{turns: map[string]*semaphore.Weighted{}, swept: map[string]bool{}, lanes: map[string]*lane{}}
}

func (f *folders) turn(dir string) *semaphore.Weighted {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.turns[dir] == nil {
		f.turns[dir] = semaphore.NewWeighted(perFolder)
	}
	return f.turns[dir]
}

func (f *folders) sweepNow(dir string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := !f.swept[dir]
	f.swept[dir] = true
	return now
}

// inFolder does work on files. Storage that hangs blocks it in the kernel, where no context reaches, so it is given
// up on at the deadline, and keeps its turn until it returns.
func inFolder[T any](ctx context.Context, r *Runner, dir string, work func(context.Context) (T, error)) (T, error) {
	var none T
	limit := r.opts.Deadlines.Start
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		classed{ErrStuck, fmt.Errorf("the storage of %s gave no answer within %v", dir, limit)})
	defer cancel()
	turn := r.folders.turn(dir)
	if err := turn.Acquire(ctx, 1); err != nil {
		return none, context.Cause(ctx)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	started := r.work.start(func() {
		value, err := work(ctx)
		turn.Release(1)
		done <- result{value, err}
	})
	if !started {
		turn.Release(1)
		return none, errClosed
	}
	select {
	case res := <-done:
		return res.value, res.err
	case <-ctx.Done():
	}
	// What can be told to stop, stops now: qemu-img is killed. A moment is given for it to clean up.
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case res := <-done:
		return res.value, res.err
	case <-grace.C:
		return none, context.Cause(ctx)
	}
}
