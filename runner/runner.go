package runner

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/runner/imagecache"
)

// Runner observes and changes the domains of one libvirt. It connects when it has to, and again after libvirt's daemon
// was away. Its methods may be called from several goroutines; Apply for one domain at a time.
type Runner struct {
	opts     Options
	log      *slog.Logger
	endpoint endpoint

	// Reads and changes have connections of their own, and so have events (see listen): what is slow in one of them
	// holds up none of the others.
	reads, changes caller
	work           work
	ending         context.Context
	end            context.CancelFunc

	gate       *gate
	calls      *unanswered
	pings      *semaphore.Weighted
	suspects   *suspects
	suspicion  *quarantine
	cache      *cache
	refreshes  *refreshes
	folders    *folders
	ledger     ledger
	claims     *claims
	images     image.Maker
	fetcher    *download.Fetcher
	imageCache *imagecache.Cache
	digests    *digests
	trimming   *semaphore.Weighted // a token while the cache of images is looked at
	observing  chan struct{}       // holds a token while an observation runs
	wake       chan struct{}
	neighbours *neighbours
	known      *capabilities
}

// New makes a runner. It does not connect yet.
func New(opts Options) (*Runner, error) {
	opts = opts.withDefaults()
	endpoint, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	ending, end := context.WithCancel(context.Background())
	r := &Runner{
		opts: opts, log: opts.Logger, endpoint: endpoint,
		ending: ending, end: end,
		gate: newGate(), calls: newUnanswered(), pings: semaphore.NewWeighted(maxPings), suspects: newSuspects(), suspicion: newQuarantine(),
		cache: newCache(), folders: newFolders(), claims: newClaims(), ledger: ledger{file: opts.LedgerFile},
		images:    image.Maker{QemuImg: opts.QemuImg, Secrets: opts.Secrets},
		observing: make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
		known:     newCapabilities(), neighbours: newNeighbours(opts.ARPTable),
	}
	r.trimming = semaphore.NewWeighted(1)
	r.digests = &digests{known: map[string]string{}}
	r.imageCache = imagecache.New(opts.Images.CacheDir, opts.Images.CacheSize, opts.Logger)
	r.fetcher = download.New(download.Options{
		Logger: opts.Logger, AtOnce: opts.Images.AtOnce, Bandwidth: opts.Images.Bandwidth, Named: opts.Images.Named,
		Room: func(bytes int64) { r.trim(ending, bytes) },
	})
	dial := func(ctx context.Context) (*conn, error) { return endpoint.dial(ctx, opts.Deadlines.Connect) }
	r.reads = caller{pool: newPool(readsPerConnection, maxReads/readsPerConnection, dial), work: &r.work,
		gate: r.gate, pass: r.gate.pass, turns: semaphore.NewWeighted(maxReads), late: new(atomic.Int32), maxLate: maxLateReads}
	r.changes = caller{pool: newPool(1, maxFresh, dial), work: &r.work,
		gate: r.gate, pass: r.gate.passAlone, late: new(atomic.Int32)}
	r.refreshes = newRefreshes(r)
	return r, nil
}

// Run listens to libvirt's events, and connects again whenever the daemon was away. It returns nil when the context
// ends, after everything that the runner began has ended; the runner is of no use then.
func (r *Runner) Run(ctx context.Context) error {
	r.trim(ctx, 0)
	r.upkeep(ctx)
	r.Close()
	return nil
}

// Close closes all connections and waits until everything that the runner began has ended. It is for a runner that
// is not Run.
func (r *Runner) Close() {
	r.end()
	r.reads.pool.close()
	r.changes.pool.close()
	r.fetcher.Close()
	r.work.end()
}

// Wake receives when there is something new to observe: an event about a domain, the daemon's coming or going, an
// answer that nobody hoped for any more. What comes before it was received is one.
func (r *Runner) Wake() <-chan struct{} { return r.wake }

func (r *Runner) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
