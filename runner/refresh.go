package runner

import (
	"context"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

const (
	// A pool with a job of libvirt's own, such as a volume that is being made, refuses to be refreshed.
	refreshTries = 20
	refreshPause = 250 * time.Millisecond

	maxRefreshPause = time.Second
)

// refreshes has libvirt look at its pools' folders again. A refresh opens every file of the pool, so those who want one
// at the same time share it: whoever comes while one runs is served by the next, which begins after he came, and so
// sees his files. The next begins when as much time has passed as the last took, so that more of them come together,
// and libvirt has time for something else.
type refreshes struct {
	r    *Runner
	mu   sync.Mutex
	next map[string]*refresh // by pool: the one that has not begun yet
	busy map[string]bool     // by pool: one runs
}

type refresh struct {
	done chan struct{}
	err  error
}

func newRefreshes(r *Runner) *refreshes {
	return &refreshes{r: r, next: map[string]*refresh{}, busy: map[string]bool{}}
}

// do returns when a refresh that began after the call has ended.
func (f *refreshes) do(ctx context.Context, pool libvirt.StoragePool) error {
	f.mu.Lock()
	mine := f.next[pool.Name]
	if mine == nil {
		mine = &refresh{done: make(chan struct{})}
		f.next[pool.Name] = mine
	}
	if !f.busy[pool.Name] {
		if !f.r.work.start(func() { f.run(pool) }) {
			f.mu.Unlock()
			return errClosed
		}
		f.busy[pool.Name] = true
	}
	f.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run refreshes a pool until nobody wants it any more. It belongs to no single caller, so it ends with the runner.
func (f *refreshes) run(pool libvirt.StoragePool) {
	var took time.Duration
	for {
		pause(f.r.ending, min(took, maxRefreshPause))
		f.mu.Lock()
		mine := f.next[pool.Name]
		delete(f.next, pool.Name)
		if mine == nil {
			delete(f.busy, pool.Name)
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		began := time.Now()
		mine.err = f.r.refresh(f.r.ending, pool)
		took = time.Since(began)
		close(mine.done)
	}
}

func (r *Runner) refresh(ctx context.Context, pool libvirt.StoragePool) error {
	for try := 1; ; try++ {
		_, err := call(ctx, r.changes, r.opts.Deadlines.Start, watcher{}, func(lv *libvirt.Libvirt) (struct{}, error) {
			return struct{}{}, lv.StoragePoolRefresh(pool, 0)
		})
		if code(err) != libvirt.ErrOperationInvalid && code(err) != libvirt.ErrInternalError || try == refreshTries {
			return err
		}
		pause(ctx, refreshPause)
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
