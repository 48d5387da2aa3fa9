package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/source"
)

// fetcher asks the repository for revisions, where nothing else waits for it: a remote that hangs delays no answer to a
// guest's death.
type fetcher struct {
	opts   Options
	pins   *Pins
	ask    chan struct{} // asks at once
	wanted chan struct{} // asks for the pins alone
	news   chan struct{} // receives after each fetch, and when pins were read
	pace   *pacer        // for the goroutine that fetches

	mu       sync.Mutex
	snapshot *source.Snapshot
	allowed  int // by the snapshots since the last that was taken
	state    status.Source
	begun    int       // fetches; state counts those that have ended
	counted  time.Time // when the rewritten branch that was counted last was first held
}

func newFetcher(o Options) *fetcher {
	return &fetcher{
		opts: o, pins: NewPins(o.Source.At), ask: make(chan struct{}, 1), wanted: make(chan struct{}, 1), news: make(chan struct{}, 1),
		pace:  newPacer(o.Interval, !o.Source.Local()),
		state: status.Source{URL: o.URL, Branch: o.Branch},
	}
}

// run fetches at each interval, and when it is asked to, until the context ends.
func (f *fetcher) run(ctx context.Context) {
	if s, _ := f.latest(); s != nil {
		f.pins.read(ctx)
		poke(f.news)
		if !f.rest(ctx, f.pace.first()) {
			return
		}
	}
	for {
		f.fetch(ctx)
		f.pins.read(ctx)
		poke(f.news)
		if !f.rest(ctx, f.pace.next(time.Now())) {
			return
		}
	}
}

// rest waits until it is time to fetch, or until somebody asks for it and it may be done, and reads pins meanwhile. It
// says false when the context ends.
func (f *fetcher) rest(ctx context.Context, wait time.Duration) bool {
	due := time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	waiting := false // somebody
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			if waiting {
				f.pace.spend(time.Now())
			}
			return true
		case <-f.ask:
			waiting = true
			off := f.pace.triggered(time.Now())
			if off == 0 {
				return true
			}
			timer.Reset(min(off, max(0, time.Until(due))))
		case <-f.wanted:
			f.pins.read(ctx)
			poke(f.news)
		}
	}
}

// load takes the revision that was in force when the agent last ran.
func (f *fetcher) load(ctx context.Context) {
	s, err := f.opts.Source.Load(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.snapshot, f.state.Branch = s, s.Branch
	}
	f.showHeld()
	if h := f.opts.Source.Held(); h != nil {
		f.counted = h.Since // by the agent that ran before
	}
}

// showHeld takes over what the source holds. The lock is held.
func (f *fetcher) showHeld() {
	f.state.Held = nil
	if h := f.opts.Source.Held(); h != nil {
		f.state.Held = &status.Held{Commit: h.Commit, Reason: (&source.HeldError{Held: *h}).Error(), Since: h.Since}
	}
}

func (f *fetcher) fetch(ctx context.Context) {
	begun := time.Now()
	f.mu.Lock()
	f.begun++
	f.mu.Unlock()
	s, err := f.opts.Source.Fetch(ctx)
	if ctx.Err() != nil {
		return
	}
	var held *source.HeldError
	if errors.As(err, &held) {
		// The repository is in order; what is in force stays.
		if !held.Since.Equal(f.counted) {
			f.counted = held.Since
			f.opts.Metrics.Rewritten()
			f.opts.Logger.Error("the branch was rewritten and is held", "commit", held.Commit, "inForce", held.InForce, "to_follow_it", "gitvirt accept "+held.Commit)
		}
		s, err = f.opts.Source.Load(ctx)
		if ctx.Err() != nil {
			return
		}
	}
	if errors.Is(err, source.ErrUnverified) {
		f.refused(err)
		f.pace.answered(time.Now(), nil) // the repository is in order, and the next commit may be, too
	} else {
		f.pace.answered(time.Now(), err)
	}
	f.opts.Metrics.Fetched(time.Since(begun), err)
	f.mu.Lock()
	defer f.mu.Unlock()
	wasHeld := f.state.Held != nil
	f.showHeld()
	f.state.Fetches++
	if err != nil {
		f.state.Failures++
		if f.state.Error != err.Error() {
			message := "the last good revision stays in force"
			if f.snapshot == nil {
				message = "there is no revision yet"
			}
			f.opts.Logger.Error(message, "error", err)
		}
		f.state.Error = err.Error()
		return
	}
	if f.snapshot == nil || f.snapshot.Commit != s.Commit {
		f.opts.Logger.Info("revision", "commit", s.Commit, "branch", s.Branch, "forced", s.Forced)
	}
	if f.snapshot != s {
		f.allowed = max(f.allowed, s.Allowed)
		if s.Forced && held == nil && !wasHeld {
			f.opts.Metrics.Rewritten()
		}
	}
	f.state.Error, f.state.Success, f.state.Branch = "", time.Now(), s.Branch
	f.snapshot = s
}

// next is the number of the first fetch that begins after now.
func (f *fetcher) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun + 1
}

// refused counts a revision that is not verified, once for each reason.
func (f *fetcher) refused(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Error != err.Error() {
		f.opts.Metrics.Unverified()
	}
}

// latest is the newest revision, nil before the first, and how it stands.
func (f *fetcher) latest() (*source.Snapshot, status.Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snapshot, f.state
}

// take is how many removals are let through by the revisions that came since it was asked last: one that was overtaken
// before a pass could be made counts too.
func (f *fetcher) take() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.allowed
	f.allowed = 0
	return n
}

// poke leaves a note that is not left twice.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
