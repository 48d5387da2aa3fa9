package runner

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/semaphore"
)

// caller makes libvirt's calls end. They take no context and have no timeout of their own.
type caller struct {
	pool *pool
	work *work
	gate *gate
	// pass waits until a call may be sent.
	pass func()
	// turns bounds how many calls are on their way, without those that are late. It may be nil.
	turns *semaphore.Weighted
	// late is how many calls have missed their deadline and are still on their way; from maxLate on, nothing more is
	// asked. 0 is no limit.
	late    *atomic.Int32
	maxLate int32
}

// turn waits for a place, and returns what gives it back, which may be called again.
func (c caller) turn(ctx context.Context) (leave func(), err error) {
	if c.turns == nil {
		return func() {}, nil
	}
	if err := c.turns.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	return sync.OnceFunc(func() { c.turns.Release(1) }), nil
}

// errLate says that a call missed its deadline.
type errLate struct{ limit time.Duration }

func (e errLate) Error() string { return fmt.Sprintf("libvirt gave no answer within %v", e.limit) }
func (e errLate) Unwrap() error { return ErrStuck }

// watcher is told what becomes of a call. Either may be nil. They do not run at once.
type watcher struct {
	late  func()          // the deadline has passed without an answer
	ended func(late bool) // the call has really returned, which may be long after the deadline; always called, once
}

// call makes one call on a connection of the pool. It returns when the call does, or when the deadline or the context
// ends; the call itself then goes on, and its connection gets no other if it was late.
//
// What f learns it must return: the caller may be gone when it learns it.
func call[T any](ctx context.Context, on caller, limit time.Duration, w watcher,
	f func(*libvirt.Libvirt) (T, error)) (T, error) {
	var none T
	type result struct {
		value T
		err   error
	}
	var mu sync.Mutex
	var over, late bool
	end := func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		if late {
			on.late.Add(-1)
		}
		if w.ended != nil {
			w.ended(late)
		}
	}
	if n := on.late.Load(); on.maxLate > 0 && n >= on.maxLate {
		end()
		return none, classed{ErrStuck, fmt.Errorf("libvirt has not answered %d earlier calls", n)}
	}
	leave, err := on.turn(ctx)
	if err != nil {
		end()
		return none, err
	}
	on.gate.pass() // opening a connection takes calls, too
	c, err := on.pool.take(ctx)
	if err != nil {
		leave()
		end()
		return none, err
	}
	on.pass()
	// The deadline also holds for a call that nobody waits for any more, because its context has ended.
	missed := make(chan struct{})
	timer := time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		late = true
		leave()
		on.late.Add(1)
		on.pool.retire(c)
		if w.late != nil {
			w.late()
		}
		close(missed)
	})
	done := make(chan result, 1)
	started := on.work.start(func() {
		value, err := f(c.lv)
		timer.Stop()
		end()
		on.pool.put(c)
		leave()
		done <- result{value, err}
	})
	if !started {
		timer.Stop()
		end()
		on.pool.put(c)
		leave()
		return none, errClosed
	}
	select {
	case r := <-done:
		return r.value, classify(r.err)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-missed:
		return none, errLate{limit}
	}
}

// read makes a call that asks.
func read[T any](ctx context.Context, r *Runner, f func(*libvirt.Libvirt) (T, error)) (T, error) {
	return call(ctx, r.reads, r.opts.Deadlines.Read, watcher{}, f)
}

// work is the goroutines that somebody waits for at the end.
type work struct {
	mu    sync.Mutex
	ended bool
	group sync.WaitGroup
}

// start runs f in a goroutine. It says false, and does not, after end.
func (w *work) start(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.group.Go(f)
	return true
}

// end lets nothing start any more and waits for what runs.
func (w *work) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.group.Wait()
}
