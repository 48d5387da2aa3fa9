package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/source"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// slow is a repository that takes its time. What was pushed after a fetch has begun, the fetch does not see.
type slow struct {
	*repository
	mu      sync.Mutex
	takes   time.Duration
	fetches int
}

// Load finds nothing: the agent never ran here.
func (s *slow) Load(context.Context) (*source.Snapshot, error) { return nil, source.ErrNoRevision }

func (s *slow) Fetch(ctx context.Context) (*source.Snapshot, error) {
	s.mu.Lock()
	s.fetches++
	seen, err := s.repository.Fetch(ctx)
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(takes):
	}
	return seen, err
}

func (s *slow) push(t *testing.T, documents string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repository.commit(t, documents, 0)
	return s.head.Commit
}

func (s *slow) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

// asking runs a loop that fetches each hour of a repository where a fetch takes 10 s.
func asking(t *testing.T, scenario func(t *testing.T, s *slow, l *reconcile.Loop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{repository: newRepository(t), takes: 10 * time.Second}
		s.push(t, config("web", "", small))
		a := &agent{t: t}
		loop, err := reconcile.New(reconcile.Options{
			Host: "kvm1", Fleet: "test", Interval: time.Hour, Budget: 3, StateFile: filepath.Join(t.TempDir(), "state.json"), Policy: policy.Default(),
			Source: s, Runner: fakevirt.New(), Logger: slog.New(slog.DiscardHandler), Metrics: a, Publish: func(status.Facts) {},
			Refused: func(error) bool { return false },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := loop.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Second) // the first fetch is under way
		scenario(t, s, loop)
		stop()
		running.Wait()
	})
}

func TestAskWaitsForAPassThatKnowsOfTheNewest(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		commit := s.push(t, config("web", "", small)+"\n====\n"+run("web", "state: Running"))
		passes, got := 0, ""
		err := l.Ask(t.Context(), func(f status.Facts) bool {
			passes++
			got = f.Source.Revision
			return true
		})
		if err != nil || got != commit || passes != 1 {
			t.Errorf("a pass of %s (%d passes), %v; want %s: the fetch that was under way does not count", got, passes, err, commit)
		}
	})
}

func TestAskGoesOnUntilThereIsEnough(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		commit := s.push(t, config("web", "", small)+"\n====\n"+run("web", "state: Running"))
		passes := 0
		err := l.Ask(t.Context(), func(f status.Facts) bool {
			passes++
			if f.Source.Revision != commit {
				t.Errorf("pass %d is of %s", passes, f.Source.Revision)
			}
			return len(f.Plan.Actions) == 0
		})
		if err != nil || passes < 2 {
			t.Errorf("%d passes, %v; want that the machine was made and started", passes, err)
		}
	})
}

func TestManyAskersAreOneFetch(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		time.Sleep(time.Minute) // nothing is under way
		before := s.count()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if err := l.Ask(t.Context(), func(status.Facts) bool { return true }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if n := s.count() - before; n > 2 {
			t.Errorf("%d fetches", n)
		}
	})
}

func TestWhoNoLongerAsksIsNotCalled(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		ended := false
		err := l.Ask(ctx, func(status.Facts) bool {
			if ended {
				t.Error("called after the end")
			}
			return false
		})
		ended = true
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		time.Sleep(2 * time.Hour)
	})
}

// TestAskHearsOfFailure: a fetch that fails is an answer, too.
func TestAskHearsOfFailure(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.err = errors.New("no route")
		s.mu.Unlock()
		got := ""
		if err := l.Ask(t.Context(), func(f status.Facts) bool { got = f.Source.Error; return true }); err != nil || got != "no route" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestWhatIsNotReadYetIsNoFault: until the revision was read that a machine is pinned to, the facts say that of each problem.
func TestWhatIsNotReadYetIsNoFault(t *testing.T) {
	asking(t, func(t *testing.T, s *slow, l *reconcile.Loop) {
		first := s.head.Commit
		s.push(t, config("web", "", memory(small, "128Mi"))+"\n====\n"+run("web", "state: Running, revision: '"+first+"'"))
		unread := 0
		err := l.Ask(t.Context(), func(f status.Facts) bool {
			unread += f.Documents.Unread
			if f.Documents.Unread != len(f.Documents.Problems) {
				t.Errorf("%d of these are unread: %v", f.Documents.Unread, f.Documents.Problems)
			}
			return len(f.Documents.Problems) == 0
		})
		if err != nil || unread != 1 {
			t.Errorf("%d were unread, %v; want that one was, for a pass", unread, err)
		}
	})
}
