package status

import (
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// The conditions of an instance.
const (
	Ready           = "Ready"           // it is in the state that its run state asks for
	Synced          = "Synced"          // its definition is what its config says
	RestartRequired = "RestartRequired" // some of it waits for the next start
	Blocked         = "Blocked"         // something cannot be done, and why
)

// Condition is one of an instance's, in Kubernetes' form.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True, False or Unknown
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"` // when Status changed
}

// conditions are the four, always in this order. want is the state that the run state asks for; empty when there is none.
func conditions(a plan.Assessment, want manifest.PowerState, failure *Failed) []Condition {
	yes := func(kind string, ok bool, reason, message string) Condition {
		c := Condition{Type: kind, Status: "False", Reason: reason, Message: message}
		if ok {
			c.Status = "True"
		}
		return c
	}
	ready, why := isReady(a, want)
	list := []Condition{yes(Ready, ready, why.Reason, why.Message)}
	synced := yes(Synced, true, "InSync", "")
	switch {
	case a.Phase == plan.PhaseUnknown:
		synced = stuck(Synced)
	case failure != nil:
		synced = yes(Synced, false, "Failing", failure.Message)
	case len(a.Actions) > 0:
		synced = yes(Synced, false, a.Actions[0].Reason, a.Actions[0].Message)
	case len(a.Notes) > 0:
		synced.Reason, synced.Message = a.Notes[0].Reason, a.Notes[0].Message
	}
	restart := yes(RestartRequired, false, "NothingStaged", "")
	var fields []string
	for _, c := range a.Staged {
		switch {
		case c.Restart && c.Why != "":
			fields = append(fields, c.Path+" ("+c.Why+")")
		case c.Restart:
			fields = append(fields, c.Path)
		}
	}
	switch {
	case a.Phase == plan.PhaseUnknown:
		restart = stuck(RestartRequired)
	case len(fields) > 0:
		restart = yes(RestartRequired, true, "Staged", "waiting for the next start: "+strings.Join(fields, ", "))
	}
	list = append(list, synced, restart)
	if len(a.Blocked) > 0 {
		var messages []string
		for _, b := range a.Blocked {
			messages = append(messages, b.Message)
		}
		return append(list, yes(Blocked, true, a.Blocked[0].Reason, strings.Join(messages, "; ")))
	}
	return append(list, yes(Blocked, false, "NotBlocked", ""))
}

// stuck is a condition of an instance that nothing can be said of.
func stuck(kind string) Condition {
	return Condition{Type: kind, Status: "Unknown", Reason: "Stuck", Message: "libvirt gives no answer about it"}
}

// isReady says whether the instance is in the state that is asked for.
func isReady(a plan.Assessment, want manifest.PowerState) (bool, plan.Block) {
	done := a.Phase == plan.PhaseSucceeded
	switch {
	case want == manifest.StateRunning && a.Phase == plan.PhaseRunning && a.Unready != "":
		return false, plan.Block{Reason: "NotReady", Message: a.Unready}
	case want == "" && len(a.Blocked) > 0: // it is held, or its run state cannot be read
		return false, a.Blocked[0]
	case want == "":
		return false, plan.Block{Reason: "NotWanted", Message: "no run state asks for it here"}
	case want == manifest.StateManual,
		want == manifest.StateRunning && (a.Phase == plan.PhaseRunning || done),
		want == manifest.StatePaused && a.Phase == plan.PhasePaused,
		want == manifest.StateStopped && (a.Phase == plan.PhaseStopped || a.Phase == plan.PhaseFailed || done):
		return true, plan.Block{Reason: string(a.Phase)}
	}
	return false, plan.Block{Reason: string(a.Phase), Message: "it is to be " + string(want)}
}
