package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// told are the reasons of a snapshot's events about instances.
func told(s *Snapshot) []string {
	var reasons []string
	for _, e := range s.Events {
		if e.Instance != "" {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func TestEventsTellTheStoryOnce(t *testing.T) {
	s := newScene(t)
	documents := web("1Gi", "") + runState("Running")
	s.converge(documents)
	s.observe(documents)
	s.converge(web("2Gi", "") + runState("Running"))
	s.converge(documents)
	s.facts.Failures = map[string]Failure{"web": {Message: "no", Time: s.now, Attempts: 1}}
	s.latest = Report(s.latest, s.facts)
	s.latest = Report(s.latest, s.facts)
	s.observe(documents)
	s.domain = nil
	s.observe("")
	want := []string{
		"NoDomain", "Wanted", "Running", // created and started
		"RestartRequired", "Edited", "NotRestartRequired", "Edited", // edited, and back
		"Failed", "Recovered", "Removed",
	}
	if diff := cmp.Diff(want, told(s.latest)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsAreBounded(t *testing.T) {
	s := newScene(t)
	for range 2 * maxEvents {
		s.observe("")
	}
	if n := len(s.latest.Events); n != maxEvents {
		t.Errorf("%d events are kept, want %d", n, maxEvents)
	}
	if last := s.latest.Events[maxEvents-1]; !last.Time.Equal(s.now) || s.now.Before(start.Add(time.Hour)) {
		t.Errorf("the newest event is %+v", last)
	}
}

// TestTheFirstLookTellsOnlyWhatIsWrong: an agent that starts beside a thousand running machines has no thousand news.
func TestTheFirstLookTellsOnlyWhatIsWrong(t *testing.T) {
	f := fleet(t, 3)
	f.Assessments[1].Blocked = []plan.Block{{Reason: "NotOurs", Message: "it is another's"}}
	// Before it sees the host it may have failed to.
	before := Report(nil, Facts{Source: f.Source, Libvirt: Libvirt{Error: "connection refused"}})
	first := Report(before, f)
	if diff := cmp.Diff([]string{"Blocked"}, told(first)); diff != "" {
		t.Errorf("at the first look (-want +got):\n%s", diff)
	}
	f.Assessments[1].Blocked = nil
	f.Assessments[2].Phase = plan.PhaseFailed
	if diff := cmp.Diff([]string{"Blocked", "NotBlocked", "Failed"}, told(Report(first, f))); diff != "" {
		t.Errorf("at the second (-want +got):\n%s", diff)
	}
}
