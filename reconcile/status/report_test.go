package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

func TestConditions(t *testing.T) {
	wanted := func(state manifest.PowerState) *render.Instance { return &render.Instance{Name: "web", State: state} }
	action := []plan.Action{{Instance: "web", Effect: plan.EffectStart, Reason: "Wanted", Message: "run 2 is wanted"}}
	staged := []plan.Staged{{Change: plan.Change{Path: "vcpu"}, Restart: true}, {Change: plan.Change{Path: "memory"}, Restart: true}}
	for name, c := range map[string]struct {
		a       plan.Assessment
		failure *Failed
		want    string // the conditions' statuses and reasons, in order
	}{
		"runs": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseRunning}, nil, "True Running, True InSync, False NothingStaged, False NotBlocked"},
		"runs, and is not up": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseRunning, Unready: "connection refused"}, nil,
			"False NotReady, True InSync, False NothingStaged, False NotBlocked"},
		"is to stop, and is not up": {plan.Assessment{Instance: wanted("Stopped"), Phase: plan.PhaseRunning, Unready: "connection refused"}, nil,
			"False Running, True InSync, False NothingStaged, False NotBlocked"},
		"is to start":        {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseScheduling, Actions: action}, nil, "False Scheduling, False Wanted, False NothingStaged, False NotBlocked"},
		"is to stop":         {plan.Assessment{Instance: wanted("Stopped"), Phase: plan.PhaseRunning}, nil, "False Running, True InSync, False NothingStaged, False NotBlocked"},
		"stopped":            {plan.Assessment{Instance: wanted("Stopped"), Phase: plan.PhaseStopped}, nil, "True Stopped, True InSync, False NothingStaged, False NotBlocked"},
		"crashed":            {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseFailed}, nil, "False Failed, True InSync, False NothingStaged, False NotBlocked"},
		"completed":          {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseSucceeded}, nil, "True Succeeded, True InSync, False NothingStaged, False NotBlocked"},
		"paused":             {plan.Assessment{Instance: wanted("Paused"), Phase: plan.PhasePaused}, nil, "True Paused, True InSync, False NothingStaged, False NotBlocked"},
		"paused by a person": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhasePaused}, nil, "False Paused, True InSync, False NothingStaged, False NotBlocked"},
		"manual":             {plan.Assessment{Instance: wanted("Manual"), Phase: plan.PhaseStopped}, nil, "True Stopped, True InSync, False NothingStaged, False NotBlocked"},
		"staged":             {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseRunning, Staged: staged}, nil, "True Running, True InSync, True Staged, False NotBlocked"},
		"stuck":              {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseUnknown}, nil, "False Unknown, Unknown Stuck, Unknown Stuck, False NotBlocked"},
		"failing":            {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseStopped, Actions: action}, &Failed{Message: "no"}, "False Stopped, False Failing, False NothingStaged, False NotBlocked"},
		"blocked": {plan.Assessment{Instance: wanted("Running"), Phase: plan.PhaseStopped, Blocked: []plan.Block{{Reason: "NotOurs"}}}, nil,
			"False Stopped, True InSync, False NothingStaged, True NotOurs"},
		"held": {plan.Assessment{Phase: plan.PhaseRunning, Blocked: []plan.Block{{Reason: "RemovalBudget"}}}, nil,
			"False RemovalBudget, True InSync, False NothingStaged, True RemovalBudget"},
		"not wanted": {plan.Assessment{Phase: plan.PhaseRunning, Actions: action}, nil, "False NotWanted, False Wanted, False NothingStaged, False NotBlocked"},
	} {
		t.Run(name, func(t *testing.T) {
			var kinds, got []string
			var want manifest.PowerState
			if c.a.Instance != nil {
				want = c.a.Instance.State
			}
			for _, c := range conditions(c.a, want, c.failure) {
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

// TestAnnotationsAreOfTheRun: not of what is defined since, for the next one.
func TestAnnotationsAreOfTheRun(t *testing.T) {
	s := newScene(t)
	run := func(what string, want string) {
		t.Helper()
		i := s.latest.find("web")
		if got := i.Metadata.Annotations[revisionNote]; got != want {
			t.Errorf("%s: the instance is of revision %q, want %q", what, got, want)
		}
		if (i.Metadata.UID == "") != (want == "") {
			t.Errorf("%s: the instance has uid %q", what, i.Metadata.UID)
		}
	}
	s.converge(web("1Gi", "") + runState("Stopped"))
	run("never started", "")
	s.converge(web("1Gi", "") + runState("Running"))
	first := s.latest.find("web").Status.Revision.Running
	run("running", first)
	s.converge(web("2Gi", "") + runState("Running"))
	run("running and edited", first)
	s.converge(web("2Gi", "") + runState("Stopped"))
	s.converge(web("4Gi", "") + runState("Stopped"))
	run("stopped and edited", first)
	if next := s.latest.find("web").Status.Revision.NextStart; next == first {
		t.Error("nothing was edited")
	}
	s.converge(web("4Gi", "") + runState("Running, run: 2"))
	run("started again", s.latest.find("web").Status.Revision.Running)
	if second := s.latest.find("web").Status.Revision.Running; second == first || second == "" {
		t.Errorf("the second run is of revision %q, the first of %q", second, first)
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
	again := Report(got, s.facts)
	if last := again.Events[len(again.Events)-1]; last.Reason != "LibvirtRecovered" || len(again.Events) != len(got.Events)+1 {
		t.Errorf("the last event is %+v", last)
	}
}

// TestDesiredIsWhatIsWanted: of a machine that was rolled back, not what it was rolled back to.
func TestDesiredIsWhatIsWanted(t *testing.T) {
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	f := s.facts
	rejected := *f.Assessments[0].Instance
	rejected.Revision = "rejected"
	f.Assessments[0].Rejected = &rejected
	if got := Report(s.latest, f).Instances[0].Status.Revision; got.Desired != "rejected" || got.NextStart == "rejected" {
		t.Errorf("revisions = %+v", got)
	}
}

// TestASnapshotHoldsNoDomainXML, for it outlives the pass, and a thousand machines' XML is most of an agent's memory.
func TestASnapshotHoldsNoDomainXML(t *testing.T) {
	s := newScene(t)
	s.observe(web("1Gi", "") + runState("Running"))
	if f := s.latest.Facts; f.Assessments != nil || len(f.Plan.Actions) != 2 || f.Plan.Actions[0].Steps != nil {
		t.Errorf("the snapshot holds %+v and %+v", f.Assessments, f.Plan)
	}
	if len(s.facts.Plan.Actions[0].Steps) == 0 {
		t.Error("the facts were changed, which the loop works by")
	}
}
