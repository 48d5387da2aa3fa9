package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/gitvirt/gitvirt/runner/image"
)

// Options say how files are fetched. All may be left out.
type Options struct {
	// Logger is told of the beginning, the progress and the end of each fetch; slog.Default() when it is left out.
	Logger *slog.Logger
	// AtOnce is how many files are fetched at once, 2 when it is left out: more would only make each slower.
	AtOnce int
	// Bandwidth is how many bytes a second all fetches together take from the network; no bound when it is 0.
	Bandwidth int64
	// Limit is how many bytes a file may have; 1 TiB when it is left out.
	Limit int64
	// Reserve is how many bytes a fetch leaves free in its file system; 512 MiB when it is left out.
	Reserve int64
	// Patience is how long a server may send nothing; a minute when it is left out.
	Patience time.Duration
	// Named says whether the host's administrator names a place, HOST[:PORT]/PATH, so that servers may redirect to it though
	// it is at an address that is not public. Without it none is.
	Named func(place string) bool
	// Room is told how many bytes a fetch is going to write, as soon as that is known, and may make room for them.
	Room func(bytes int64)
}

// Source is where a file comes from.
type Source interface {
	// Origin is what a file is recorded to be of, and told to be of in logs and errors: it holds no secret.
	Origin() Origin
	// Bring writes the file under a temporary name, and says what was written, such as sha256:…: of the image or of the
	// download that the file was in. A file that it returns has been verified. Its error is image.ErrUnusable when the source
	// does not hold what is wanted; anything else may be better next time.
	Bring(ctx context.Context, j *Job) (file *image.Temp, digest string, err error)
}

// Fetcher fetches files. Its methods may be called from several goroutines.
type Fetcher struct {
	opts  Options
	slots *semaphore.Weighted
	pace  *rate.Limiter // nil without a bound
	all   sync.WaitGroup

	transport http.RoundTripper

	mu      sync.Mutex
	closed  bool
	flights map[string]*flight // by the file's place
	bad     map[string]verdict
}

// flight is a fetch that is on its way, for all who wait for it.
type flight struct {
	from    Origin
	waiting map[string]int // by who waits
	cancel  context.CancelCauseFunc
	done    chan struct{}
	seen    *progress
	digest  string // once done
	err     error
}

// verdict says that what a source held, by its digest or what else it is told by, is not what was wanted of it, so that it
// is not fetched only to find that out again.
type verdict struct {
	from Origin
	key  string
	err  error
}

// New makes a fetcher.
func New(opts Options) *Fetcher {
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	opts.AtOnce = cmp.Or(opts.AtOnce, 2)
	opts.Limit = cmp.Or(opts.Limit, 1<<40)
	opts.Reserve = cmp.Or(opts.Reserve, 512<<20)
	opts.Patience = cmp.Or(opts.Patience, time.Minute)
	if opts.Named == nil {
		opts.Named = func(string) bool { return false }
	}
	if opts.Room == nil {
		opts.Room = func(int64) {}
	}
	f := &Fetcher{opts: opts, slots: semaphore.NewWeighted(int64(opts.AtOnce)), flights: map[string]*flight{}, bad: map[string]verdict{}}
	if opts.Bandwidth > 0 {
		f.pace = rate.NewLimiter(rate.Limit(opts.Bandwidth), portion(opts.Bandwidth))
	}
	f.transport = newTransport()
	return f
}

// Fetch brings a file of a source to the place to, unless there is one already, and returns its digest; it is empty for a
// file that somebody else put there. What was found first is recorded beside the file, and from then on only that will do.
// User is who waits, for show.
//
// The file is readable by all, because QEMU has a user of its own, and writable by none. Several calls for one place
// share one fetch, which ends when the last of them has been given up. An error is image.ErrUnusable when the source does
// not hold what is wanted; what the server or the network did may be better next time.
func (f *Fetcher) Fetch(ctx context.Context, src Source, to, user string) (digest string, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	fl, err := f.join(ctx, src, to, user)
	if err != nil {
		return "", fmt.Errorf("cannot fetch %s: %w", src.Origin(), err)
	}
	select {
	case <-fl.done:
	case <-ctx.Done():
		f.leave(fl, to, user, context.Cause(ctx))
		return "", fmt.Errorf("cannot fetch %s: %w", src.Origin(), context.Cause(ctx))
	}
	if fl.err != nil {
		return "", fmt.Errorf("cannot fetch %s: %w", src.Origin(), fl.err)
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
func (f *Fetcher) join(ctx context.Context, src Source, to, user string) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if fl := f.flights[to]; fl != nil {
		if fl.from != src.Origin() {
			return nil, fmt.Errorf("another file is being fetched to %s", to)
		}
		fl.waiting[user]++
		return fl, nil
	}
	// It does not end with the one who began it, as long as others wait.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight{from: src.Origin(), waiting: map[string]int{user: 1}, cancel: cancel, done: make(chan struct{}), seen: f.newProgress(src.Origin(), to)}
	f.flights[to] = fl
	f.all.Go(func() {
		defer cancel(nil)
		fl.digest, fl.err = f.fetch(work, cancel, fl.seen, src, to)
		f.forget(fl, to)
		close(fl.done)
	})
	return fl, nil
}

// leave ends a fetch that nobody waits for any more. What comes next begins another.
func (f *Fetcher) leave(fl *flight, to, user string, cause error) {
	f.mu.Lock()
	if fl.waiting[user]--; fl.waiting[user] <= 0 {
		delete(fl.waiting, user)
	}
	last := len(fl.waiting) == 0
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

// judged is the error that a source had before, when it held what key tells.
func (f *Fetcher) judged(from Origin, to, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.bad[to]; v.from == from && v.key == key {
		return v.err
	}
	return nil
}

func (f *Fetcher) judge(from Origin, to, key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad[to] = verdict{from, key, err}
}
