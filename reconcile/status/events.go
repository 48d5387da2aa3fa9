package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// maxEvents bounds what is kept of the past.
const maxEvents = 256

// Event is something that changed from one pass to the next.
type Event struct {
	Time time.Time `json:"time"`
	// Instance is empty for what concerns the whole host.
	Instance string `json:"instance,omitempty"`
	Reason   string `json:"reason"` // a code in CamelCase
	Message  string `json:"message"`
}

// A deed is an action that was set to work on.
type deed struct {
	instance        string
	effect          plan.Effect
	reason, message string
}

func deedOf(a plan.Action) deed { return deed{a.Instance, a.Effect, a.Reason, a.Message} }

// begin returns the actions without their steps, and those among them that had any.
func begin(actions []plan.Action) ([]plan.Action, map[deed]bool) {
	actions = slices.Clone(actions)
	begun := map[deed]bool{}
	for n := range actions {
		a := &actions[n]
		if len(a.Steps) > 0 {
			begun[deedOf(*a)] = true
		}
		a.Steps = nil
	}
	return actions, begun
}

// events adds to those before what is new in the snapshot.
func events(before, s *Snapshot) []Event {
	l := eventList{now: s.Facts.Now, list: slices.Clip(before.Events)}
	was, is := &before.Facts, &s.Facts
	if r := is.Source.Revision; r != was.Source.Revision && r != "" {
		l.add("", "Revision", "revision "+r+" is in force")
	}
	l.trouble("Source", "the repository is reached again", was.Source.Error, is.Source.Error)
	if h := is.Source.Held; h != nil && (was.Source.Held == nil || was.Source.Held.Commit != h.Commit) {
		l.add("", "Held", h.Reason)
	}
	l.trouble("Libvirt", "libvirt answers again", was.Libvirt.Error, is.Libvirt.Error)
	for n := range s.Instances {
		i := &s.Instances[n]
		l.instance(before.find(i.Metadata.Name), i, !before.seen)
	}
	for n := range before.Instances {
		if name := before.Instances[n].Metadata.Name; s.find(name) == nil {
			l.add(name, "Removed", "the instance is gone")
		}
	}
	l.resourceEvents(before, s)
	for _, a := range s.Facts.Plan.Actions {
		if d := deedOf(a); s.begun[d] && !before.begun[d] {
			l.add(a.Instance, a.Reason, begunMessage(a))
		}
	}
	if len(l.list) > maxEvents {
		l.list = slices.Clone(l.list[len(l.list)-maxEvents:])
	}
	return l.list
}

type eventList struct {
	now  time.Time
	list []Event
}

func (l *eventList) add(instance, reason, message string) {
	l.list = append(l.list, Event{l.now, instance, reason, message})
}

// trouble tells when something begins to fail, when it fails in another way, and when it no longer does.
func (l *eventList) trouble(what, over, was, is string) {
	switch {
	case is == was:
	case is == "":
		l.add("", what+"Recovered", over)
	default:
		l.add("", what+"Failed", is)
	}
}

// instance tells what changed of one; old is nil when it was not there. At an agent's first look all are new to it: then
// only what is wrong is told, or a thousand that run would push out all else.
func (l *eventList) instance(old, i *Instance, first bool) {
	name := i.Metadata.Name
	if old == nil && !first || old != nil && old.Status.Phase != i.Status.Phase {
		l.add(name, string(i.Status.Phase), "the instance is "+string(i.Status.Phase))
	}
	if f := i.Status.Failure; f != nil && (old == nil || old.Status.Failure == nil || !old.Status.Failure.Time.Equal(f.Time)) {
		l.add(name, "Failed", f.Message)
	} else if f == nil && old != nil && old.Status.Failure != nil {
		l.add(name, "Recovered", "what failed before went well")
	}
	for n, c := range i.Status.Conditions {
		var was Condition
		if old != nil && n < len(old.Status.Conditions) {
			was = old.Status.Conditions[n]
		}
		switch {
		case c.Type != Blocked && c.Type != RestartRequired: // the others follow the phase, the actions and the failures
		case c.Status == "True" && (was.Status != "True" || was.Message != c.Message):
			l.add(name, c.Type, c.Message)
		case c.Status == "False" && was.Status == "True":
			l.add(name, "Not"+c.Type, map[string]string{Blocked: "nothing stands in the way any more", RestartRequired: "nothing waits for the next start any more"}[c.Type])
		}
	}
}

// begunMessage says what is begun, and for which fields.
func begunMessage(a plan.Action) string {
	text := fmt.Sprintf("%s: %s", a.Effect, a.Message)
	var fields []string
	for _, c := range a.Changes {
		fields = append(fields, c.Path)
	}
	if len(fields) > 0 {
		text += " (" + strings.Join(fields, ", ") + ")"
	}
	return text
}
