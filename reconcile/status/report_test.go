package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

func TestConditions(t *testing.T) {
	wanted := func(state manifest.PowerState) *render.Instance { return &render.Instance{Name: "web", State: state} }
	action := []plan.Action{{Instance: "web", Effect: plan.EffectStart, Reason: "Wanted", Message: "run 2 is wanted"}}
	staged := []plan.Staged{{Change: plan.Change{Path: "vcpu"}}, {Change: plan.Change{Path: "memory"}}}
	for name, c := range map[string]struct {
		a       plan.Assessment
		failure *Failed
		want    string // the conditions' statuses and reasons, in order
	}{
		"runs":               {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseRunning}, nil, "True Running, True InSync, False NothingStaged, False NotBlocked"},
		"is to start":        {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseScheduling, Actions: action}, nil, "False Scheduling, False Wanted, False NothingStaged, False NotBlocked"},
		"is to stop":         {plan.Assessment{Instance: wanted("Stopped"), Phase: plan.PhaseRunning}, nil, "False Running, True InSync, False NothingStaged, False NotBlocked"},
		"stopped":            {plan.Assessment{Instance: wanted("Stopped"), Phase: plan.PhaseStopped}, nil, "True Stopped, True InSync, False NothingStaged, False NotBlocked"},
		"crashed":            {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseFailed}, nil, "False Failed, True InSync, False NothingStaged, False NotBlocked"},
		"completed":          {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseSucceeded}, nil, "True Succeeded, True InSync, False NothingStaged, False NotBlocked"},
		"paused":             {plan.Assessment{Instance: wanted("Paused"), Phase: plan.PhasePaused}, nil, "True Paused, True InSync, False NothingStaged, False NotBlocked"},
		"paused by a person": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhasePaused}, nil, "False Paused, True InSync, False NothingStaged, False NotBlocked"},
		"manual":             {plan.Assessment{Instance: wanted("Manual"), Phase: plan.PhaseStopped}, nil, "True Stopped, True InSync, False NothingStaged, False NotBlocked"},
		"staged":             {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseRunning, Staged: staged}, nil, "True Running, True InSync, True Staged, False NotBlocked"},
		"stuck":              {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseUnknown}, nil, "False Unknown, Unknown Stuck, False NothingStaged, False NotBlocked"},
		"failing":            {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseStopped, Actions: action}, &Failed{Message: "no"}, "False Stopped, False Failing, False NothingStaged, False NotBlocked"},
		"blocked": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseStopped, Blocked: []plan.Block{{Reason: "NotOurs"}}}, nil,
			"False Stopped, True InSync, False NothingStaged, True NotOurs"},
		"not wanted": {plan.Assessment{Phase: plan.PhaseRunning, Actions: action}, nil, "False NotWanted, False Wanted, False NothingStaged, False NotBlocked"},
	} {
		t.Run(name, func(t *testing.T) {
			var kinds, got []string
			for _, c := range conditions(c.a, c.failure) {
				kinds = append(kinds, c.Type)
				got = append(got, c.Status+" "+c.Reason)
			}
			if diff := cmp.Diff([]string{Ready, Synced, RestartRequired, Blocked}, kinds); diff != "" {
				t.Errorf("the kinds (-want +got):\n%s", diff)
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestTransitionTimesMoveWithTheStatusAlone(t *testing.T) {
	s := newScene(t)
	documents := web("1Gi", "") + runState("Running")
	s.converge(documents)
	before := s.latest.find("web").Status.Conditions
	s.observe(documents)
	if diff := cmp.Diff(before, s.latest.find("web").Status.Conditions); diff != "" {
		t.Errorf("nothing happened, and the conditions changed (-before +after):\n%s", diff)
	}
	s.off("crashed")
	s.observe(documents)
	after := s.latest.find("web").Status.Conditions
	if !after[0].LastTransitionTime.Equal(s.now) || after[3] != before[3] {
		t.Errorf("after a crash: %+v", after)
	}
}

func TestWhatWasSeenLastStaysWhenLibvirtIsAway(t *testing.T) {
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	away := s.facts
	away.Assessments, away.Plan, away.Libvirt = nil, plan.Plan{}, Libvirt{Error: "connection refused"}
	got := Report(s.latest, away)
	if diff := cmp.Diff(s.latest.Instances[0].Status, got.Instances[0].Status); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if last := got.Events[len(got.Events)-1]; last.Reason != "LibvirtFailed" || last.Message != "connection refused" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestEventsTellTheStoryOnce(t *testing.T) {
	s := newScene(t)
	documents := web("1Gi", "") + runState("Running")
	s.converge(documents)
	s.observe(documents)
	s.domain = nil
	s.observe("")
	var got []string
	for _, e := range s.latest.Events {
		if e.Instance != "" {
			got = append(got, e.Reason)
		}
	}
	if diff := cmp.Diff([]string{"Pending", "Running", "Removed"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
