package notice

import "github.com/gitvirt/gitvirt/reconcile/status"

// The states of an instance, the worst that is true of it.
const (
	Failed   State = "Failed"   // an action failed, and is tried again
	Blocked  State = "Blocked"  // something stands in the way
	Unknown  State = "Unknown"  // libvirt gives no answer about it
	NotReady State = "NotReady" // it is not in the state that its run state asks for
	Ready    State = "Ready"
	Removed  State = "Removed" // it is gone
)

// Instance is how one does.
type Instance struct {
	Name  string
	State State
	Text  string
}

// Instances are those of a snapshot, as far as libvirt has shown them.
func Instances(s *status.Snapshot) []Instance {
	all := make([]Instance, 0, len(s.Instances))
	for n := range s.Instances {
		i := &s.Instances[n]
		ready, synced, blocked := condition(i, status.Ready), condition(i, status.Synced), condition(i, status.Blocked)
		out := Instance{Name: i.Metadata.Name, State: NotReady, Text: ready.Message}
		switch {
		case i.Status.Failure != nil:
			out.State, out.Text = Failed, i.Status.Failure.Message
		case blocked.Status == "True":
			out.State, out.Text = Blocked, blocked.Message
		case synced.Status == "Unknown":
			out.State, out.Text = Unknown, synced.Message
		case ready.Status == "True":
			out.State, out.Text = Ready, string(i.Status.Phase)
		}
		all = append(all, out)
	}
	return all
}

func condition(i *status.Instance, kind string) status.Condition {
	for _, c := range i.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return status.Condition{}
}
