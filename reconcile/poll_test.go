package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/source"
)

// server is one that many agents ask. It counts what it is asked in each second.
type server struct {
	begun  time.Time
	head   *source.Snapshot
	mu     sync.Mutex
	asked  []int
	answer func() error
}

func (s *server) ask() error {
	s.mu.Lock()
	answer := s.answer
	second := int(time.Since(s.begun) / time.Second)
	for len(s.asked) <= second {
		s.asked = append(s.asked, 0)
	}
	s.asked[second]++
	s.mu.Unlock()
	return answer()
}

// is sets how the server answers from now on.
func (s *server) is(answer func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// rate is the mean and the largest number of requests in a second of those seconds.
func (s *server) rate(from, to time.Duration) (mean float64, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for n := int(from / time.Second); n < int(to/time.Second); n++ {
		if n < len(s.asked) {
			sum += s.asked[n]
			most = max(most, s.asked[n])
		}
	}
	return float64(sum) / (to - from).Seconds(), most
}

// follower is one agent's source.
type follower struct {
	*server
	loaded bool // it has a revision from before
	local  bool
}

func (f follower) Load(context.Context) (*source.Snapshot, error) {
	if !f.loaded {
		return nil, source.ErrNoRevision
	}
	return f.head, nil
}

func (f follower) Fetch(context.Context) (*source.Snapshot, error) {
	if err := f.ask(); err != nil {
		return nil, err
	}
	return f.head, nil
}

func (f follower) At(context.Context, string) (*source.Snapshot, error) {
	return nil, source.ErrUnknownCommit
}
func (f follower) Watch(context.Context, func()) error { return nil }
func (f follower) Held() *source.Held                  { return nil }
func (f follower) Local() bool                         { return f.local }

type uncounted struct{}

func (uncounted) Fetched(time.Duration, error) {}
func (uncounted) Rewritten()                   {}
func (uncounted) Unverified()                  {}
func (uncounted) Passed(time.Duration, error)  {}
func (uncounted) Acted(plan.Action, error)     {}

func newServer() *server {
	return &server{begun: time.Now(), head: &source.Snapshot{Commit: "1"}, answer: func() error { return nil }}
}

// start runs an agent's fetcher.
func start(ctx context.Context, wg *sync.WaitGroup, s Source) *fetcher {
	f := newFetcher(Options{Interval: time.Minute, Source: s, Logger: slog.New(slog.DiscardHandler), Metrics: uncounted{}})
	f.load(ctx)
	wg.Go(func() { f.run(ctx) })
	return f
}

// TestThousandAgents is the fetchers of a fleet that is switched on at once: how often a server is asked then, in the
// steady state, while it is down in each way, and after it is back. The clock is the test's own.
func TestThousandAgents(t *testing.T) {
	const agents = 1000
	down := errors.New("no route to host")
	for _, outage := range []struct {
		name   string
		answer func() error
		// most is the most requests in a second after the first minutes of the outage.
		most int
	}{
		{"unreachable", func() error { return down }, 20},
		{"hangs", func() error { time.Sleep(30 * time.Second); return context.DeadlineExceeded }, 20},
		{"busy", func() error { return &source.BusyError{Status: "429 Too Many Requests", Wait: 4 * time.Minute} }, 30},
	} {
		t.Run(outage.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range agents {
					start(ctx, &wg, follower{server: s, loaded: true})
				}
				check := func(what string, from, to time.Duration, leastMean, mostMean float64, most int) {
					mean, peak := s.rate(from, to)
					t.Logf("%-28s %6.1f requests a second, at most %d", what, mean, peak)
					if mean < leastMean || mean > mostMean || peak > most {
						t.Errorf("%s: %.1f requests a second, at most %d; want %.1f to %.1f, at most %d", what, mean, peak, leastMean, mostMean, most)
					}
				}
				pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
				pass(20 * time.Minute)
				// All were switched on in the same instant: that is the mean for a minute, not a thousand in a second.
				check("switched on", 0, time.Minute, 13, 18, 40)
				check("steady", 10*time.Minute, 20*time.Minute, 14.5, 16.7, 40)
				s.is(outage.answer)
				pass(30 * time.Minute)
				check("the outage begins", 20*time.Minute, 22*time.Minute, 5, 20, 40)
				check("the outage lasts", 30*time.Minute, 50*time.Minute, 2, 5, outage.most)
				s.is(func() error { return nil })
				pass(20 * time.Minute)
				check("the server is back", 50*time.Minute, 51*time.Minute, 2, 8, 25)
				check("in the ten minutes then", 51*time.Minute, time.Hour, 8, 16.7, 40)
				check("steady again", time.Hour, 70*time.Minute, 14.5, 16.7, 40)
				stop()
				wg.Wait()
			})
		})
	}
}

// TestFirstFetch: an agent without a revision has nothing to go on with, and one whose repository is on its own disk
// troubles nobody.
func TestFirstFetch(t *testing.T) {
	for _, f := range []follower{{loaded: false}, {loaded: true, local: true}} {
		synctest.Test(t, func(t *testing.T) {
			f.server = newServer()
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			start(ctx, &wg, f)
			synctest.Wait()
			if _, most := f.rate(0, time.Second); most != 1 {
				t.Errorf("asked %d times at once, want 1: %+v", most, f)
			}
			stop()
			wg.Wait()
		})
	}
}

// TestTriggers: one is answered at once, also while the server is down; a flood is limited, and its last one is
// answered. A server that asked for rest gets it.
func TestTriggers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer error
		local  bool
		// first is how many requests a first trigger brings, flood how many a minute of ten a second, after is how many
		// the last trigger of all brings.
		first, least, most int
	}{
		{"well", nil, false, 1, 10, 18},
		{"down", errors.New("no route to host"), false, 1, 10, 18},
		{"busy", &source.BusyError{Wait: 10 * time.Minute}, false, 0, 0, 0},
		{"local", nil, true, 1, 500, 601},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.is(func() error { return tt.answer })
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				f := start(ctx, &wg, follower{server: s, local: tt.local})
				time.Sleep(30 * time.Second)
				count := func() int {
					mean, _ := s.rate(0, time.Since(s.begun)+time.Second)
					return int(mean*(time.Since(s.begun)+time.Second).Seconds() + 0.5)
				}
				before := count()
				poke(f.ask)
				synctest.Wait()
				if n := count() - before; n != tt.first {
					t.Errorf("a trigger brought %d requests at once, want %d", n, tt.first)
				}
				time.Sleep(20 * time.Second)
				before = count()
				for range 600 {
					poke(f.ask)
					time.Sleep(100 * time.Millisecond)
				}
				if n := count() - before; n < tt.least || n > tt.most {
					t.Errorf("a flood of a minute brought %d requests, want %d to %d", n, tt.least, tt.most)
				}
				// What is asked for last is done, a little later.
				before = count()
				poke(f.ask)
				time.Sleep(2 * refill)
				if n := count() - before; (n == 0) != (tt.most == 0) {
					t.Errorf("the last trigger brought %d requests", n)
				}
				stop()
				wg.Wait()
			})
		})
	}
}

// TestPace looks at the waits themselves.
func TestPace(t *testing.T) {
	down := errors.New("no route to host")
	now := time.Now()
	for _, tt := range []struct {
		interval    time.Duration
		failures    int
		err         error
		least, most time.Duration
	}{
		{time.Minute, 0, nil, time.Minute, 66 * time.Second},
		{time.Minute, 1, down, 30 * time.Second, 90 * time.Second},
		{time.Minute, 2, down, time.Minute, 3 * time.Minute},
		{time.Minute, 3, down, 2 * time.Minute, 6 * time.Minute},
		{time.Minute, 1000, down, 150 * time.Second, 450 * time.Second},
		{time.Second, 1000, down, 8 * time.Second, 24 * time.Second},
		{time.Hour, 1, down, 30 * time.Second, 90 * time.Second},
		{time.Hour, 1000, down, 30 * time.Minute, 90 * time.Minute},
		{time.Minute, 1, &source.BusyError{Wait: 20 * time.Minute}, 20 * time.Minute, 21 * time.Minute},
		{time.Minute, 1, &source.BusyError{Wait: time.Second}, 30 * time.Second, 90 * time.Second},
	} {
		p := newPacer(tt.interval, true)
		for range tt.failures {
			p.answered(now, tt.err)
		}
		least, most := time.Duration(1<<62), time.Duration(0)
		for range 1000 {
			w := p.next(now)
			least, most = min(least, w), max(most, w)
		}
		if what := fmt.Sprintf("every %v, %d failures, %v", tt.interval, tt.failures, tt.err); least < tt.least || most > tt.most || most-least < (tt.most-tt.least)/2 {
			t.Errorf("%s: %v to %v, want %v to %v", what, least, most, tt.least, tt.most)
		}
		p.answered(now, nil)
		if w := p.next(now); w > tt.interval+tt.interval/10 {
			t.Errorf("after a success: %v", w)
		}
	}
}
