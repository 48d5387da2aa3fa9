package runner

import (
	"context"
	"time"

	"github.com/gitvirt/gitvirt/runner/imagecache"
)

// trimPatience is how long a fetch waits for room to be made. Where a folder of overlays hangs it goes on without.
const trimPatience = 5 * time.Second

// trim makes room in the cache of images, unless that is being done.
func (r *Runner) trim(ctx context.Context, more int64) {
	if !r.trimming.TryAcquire(1) {
		return
	}
	done := make(chan struct{})
	started := r.work.start(func() {
		defer close(done)
		defer r.trimming.Release(1)
		r.imageCache.Trim(r.ending, more)
	})
	if !started {
		r.trimming.Release(1)
		return
	}
	patience := time.NewTimer(trimPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-patience.C:
	}
}

// ImageCache is how it stands with the room for images.
func (r *Runner) ImageCache() imagecache.State { return r.imageCache.State() }
