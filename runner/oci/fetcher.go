package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/runner/image"
)

// atOnce is how many images are fetched at once: more would only make each slower.
const atOnce = 2

// Options say how files are fetched. All may be left out.
type Options struct {
	// Logger is told of the beginning, the progress and the end of each fetch; slog.Default() when it is left out.
	Logger *slog.Logger
	// Limit is how many bytes a file may have; 1 TiB when it is left out.
	Limit int64
	// Reserve is how many bytes a fetch leaves free in its file system; 512 MiB when it is left out.
	Reserve int64
	// Patience is how long a registry may send nothing; a minute when it is left out.
	Patience time.Duration
}

// Fetcher fetches files. Its methods may be called from several goroutines.
type Fetcher struct {
	opts  Options
	slots *semaphore.Weighted
	all   sync.WaitGroup

	transport http.RoundTripper

	mu      sync.Mutex
	closed  bool
	flights map[string]*flight // by the file's place
	bad     map[string]verdict
}

// flight is a fetch that is on its way, for all who wait for it.
type flight struct {
	from    source
	waiting int
	cancel  context.CancelCauseFunc
	done    chan struct{}
	digest  string // once done
	err     error
}

// source is a file in an image.
type source struct{ image, path string }

// verdict says that an image, by its digest, does not hold what was wanted of it, so that it is not fetched only to find
// that out again. A tag may move to another one.
type verdict struct {
	from   source
	digest string
	err    error
}

// New makes a fetcher.
func New(opts Options) *Fetcher {
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	opts.Limit = cmp.Or(opts.Limit, 1<<40)
	opts.Reserve = cmp.Or(opts.Reserve, 512<<20)
	opts.Patience = cmp.Or(opts.Patience, time.Minute)
	return &Fetcher{opts: opts, slots: semaphore.NewWeighted(atOnce), transport: newTransport(), flights: map[string]*flight{}, bad: map[string]verdict{}}
}

// Fetch brings a file out of an image to the path to, unless there is one already, and returns the image's digest; it is
// empty for a file that somebody else put there. Image is REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST]; its tag is looked up
// once: from then on the digest is what counts, which is recorded beside the file. Path is the file's in the image; if
// it is empty, the only regular file below /disk is taken. The platform is Linux on this host's architecture.
//
// The file is readable by all, because QEMU has a user of its own, and writable by none. Several calls for one place
// share one fetch, which ends when the last of them has been given up. An error is image.ErrUnusable when the image does
// not hold what is wanted; what the registry or the network did may be better next time, and so may a missing tag.
func (f *Fetcher) Fetch(ctx context.Context, img, path, to string) (digest string, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	from := source{img, path}
	fl, err := f.join(ctx, from, to)
	if err != nil {
		return "", fmt.Errorf("cannot fetch %s: %w", img, err)
	}
	select {
	case <-fl.done:
	case <-ctx.Done():
		f.leave(fl, to, context.Cause(ctx))
		return "", fmt.Errorf("cannot fetch %s: %w", img, context.Cause(ctx))
	}
	if fl.err != nil {
		return "", fmt.Errorf("cannot fetch %s: %w", img, fl.err)
	}
	return fl.digest, nil
}

// Close ends all fetches, and returns when they have cleaned up. Nothing is fetched any more then.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	for _, fl := range f.flights {
		fl.cancel(errClosed)
	}
	f.mu.Unlock()
	f.all.Wait()
}

var errClosed = errors.New("the fetcher is closed")

// join begins a fetch, or joins one that is on its way.
func (f *Fetcher) join(ctx context.Context, from source, to string) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if fl := f.flights[to]; fl != nil {
		if fl.from != from {
			return nil, fmt.Errorf("another file is being fetched to %s", to)
		}
		fl.waiting++
		return fl, nil
	}
	// It does not end with the one who began it, as long as others wait.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight{from: from, waiting: 1, cancel: cancel, done: make(chan struct{})}
	f.flights[to] = fl
	f.all.Go(func() {
		defer cancel(nil)
		fl.digest, fl.err = f.fetch(work, cancel, from, to)
		f.forget(fl, to)
		close(fl.done)
	})
	return fl, nil
}

// leave ends a fetch that nobody waits for any more. What comes next begins another.
func (f *Fetcher) leave(fl *flight, to string, cause error) {
	f.mu.Lock()
	fl.waiting--
	last := fl.waiting == 0
	f.mu.Unlock()
	if last {
		fl.cancel(cause)
		f.forget(fl, to)
	}
}

func (f *Fetcher) forget(fl *flight, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flights[to] == fl {
		delete(f.flights, to)
	}
}

// fetch does what Fetch says, once its turn has come.
func (f *Fetcher) fetch(ctx context.Context, cancel context.CancelCauseFunc, from source, to string) (string, error) {
	pinned, err := readPin(from, to)
	if err != nil {
		return "", err
	}
	there, err := isThere(to)
	if err != nil || there {
		return pinned, err
	}
	if err := f.slots.Acquire(ctx, 1); err != nil {
		return "", context.Cause(ctx)
	}
	defer f.slots.Release(1)
	p := f.watch(ctx, cancel, from, to)
	defer p.end()
	digest, err := f.bring(ctx, p, from, pinned, to)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	p.arrived(digest)
	return digest, nil
}

// isThere says whether there is a file at its place already.
func isThere(to string) (bool, error) {
	if err := image.CheckPath(to); err != nil {
		return false, err
	}
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, unusable("%s is there, and is no regular file", to)
	}
	return true, nil
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", image.ErrUnusable, fmt.Errorf(format, args...))
}

// judged is the error that an image had before, by its digest.
func (f *Fetcher) judged(from source, to, digest string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.bad[to]; v.from == from && v.digest == digest {
		return v.err
	}
	return nil
}

func (f *Fetcher) judge(from source, to, digest string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad[to] = verdict{from, digest, err}
}
