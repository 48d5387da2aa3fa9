package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Snapshot is everything that is shown, as of one pass. It is never changed.
type Snapshot struct {
	Facts     Facts
	Instances []Instance // sorted by name
	Configs   []Config   // sorted by name
	Events    []Event    // the newest last

	devices map[string]Devices // by the hash of the XML that they were read from
}

// Report makes a snapshot of what the loop knows. It is a pure function; before is the last snapshot, nil at first: the
// times of conditions and the events come from it.
func Report(before *Snapshot, f Facts) *Snapshot {
	s := &Snapshot{Facts: f, devices: make(map[string]Devices, len(f.Assessments))}
	if before == nil {
		before = &Snapshot{}
	}
	if f.Assessments == nil && (!f.Libvirt.Up || f.Source.Revision == "") {
		// Nothing could be seen: what was seen last is still the best that is known, and the facts say how it stands.
		s.Instances, s.devices, s.Facts.Assessments, s.Facts.Plan = before.Instances, before.devices, before.Facts.Assessments, before.Facts.Plan
	} else {
		for _, a := range f.Assessments {
			s.Instances = append(s.Instances, s.instance(before, a))
		}
	}
	s.Configs = s.configs()
	s.Events = events(before, s)
	return s
}

// find returns the instance of a name, nil when there is none.
func (s *Snapshot) find(name string) *Instance {
	n, ok := slices.BinarySearchFunc(s.Instances, name, func(i Instance, name string) int { return cmp.Compare(i.Metadata.Name, name) })
	if !ok {
		return nil
	}
	return &s.Instances[n]
}

func (s *Snapshot) instance(before *Snapshot, a plan.Assessment) Instance {
	f := s.Facts
	out := Instance{APIVersion: manifest.APIVersion, Kind: manifest.KindInstance, rendered: a.Instance}
	out.Metadata = Metadata{Name: a.Name, Annotations: map[string]string{}}
	out.Status = InstanceStatus{Phase: a.Phase, Host: f.Host, Staged: a.Staged, Restarts: f.Restarts[a.Name]}
	if i := a.Instance; i != nil {
		out.Metadata = metadataOf(i)
		out.Status.Desired, out.Status.Revision.Desired = string(i.State), i.Revision
	}
	if d := a.Domain; d != nil {
		s.domain(before, &out, d)
	}
	if fail, ok := f.Failures[a.Name]; ok {
		out.Status.Failure = &Failed{Message: fail.Message, Time: fail.Time, Attempts: fail.Attempts, NextTry: fail.NotBefore}
	}
	out.Status.Conditions = conditions(a, out.Status.Failure)
	old := before.find(a.Name)
	for n := range out.Status.Conditions {
		c := &out.Status.Conditions[n]
		c.LastTransitionTime = f.Now
		if old != nil && n < len(old.Status.Conditions) && old.Status.Conditions[n].Status == c.Status {
			c.LastTransitionTime = old.Status.Conditions[n].LastTransitionTime
		}
	}
	return out
}

// domain adds what libvirt has of the instance.
func (s *Snapshot) domain(before *Snapshot, out *Instance, d *plan.Domain) {
	out.Status.Domain = &Domain{Name: d.Name, UUID: d.UUID}
	if d.Active() {
		out.Status.Domain.ID = d.ID
	}
	xml := d.Inactive
	if d.Live.Text != "" {
		xml = d.Live
	}
	devices, known := before.devices[xml.Hash]
	if !known {
		devices = devicesOf(xml.Text)
	}
	s.devices[xml.Hash] = devices
	out.Status.Devices = devices
	m := d.Meta()
	if m == nil {
		return
	}
	out.Status.Revision.NextStart = m.Revision
	out.Metadata.OwnerReferences = owner(m.Config)
	if l := d.Live.Meta; l != nil {
		m = l
		out.Status.Revision.Running = l.Revision
	}
	out.Metadata.UID = m.UID
	annotate := func(name, value string) {
		if value != "" {
			out.Metadata.Annotations["gitvirt.io/"+name] = value
		}
	}
	annotate("revision", m.Revision)
	annotate("flavour", m.Flavour)
	if m.Run > 0 {
		annotate("run", strconv.FormatInt(m.Run, 10))
	}
}

// conditions are the four, always in this order.
func conditions(a plan.Assessment, failure *Failed) []Condition {
	yes := func(kind string, ok bool, reason, message string) Condition {
		c := Condition{Type: kind, Status: "False", Reason: reason, Message: message}
		if ok {
			c.Status = "True"
		}
		return c
	}
	ready, why := isReady(a)
	list := []Condition{yes(Ready, ready, why.Reason, why.Message)}
	synced := yes(Synced, true, "InSync", "")
	var pending []string
	for _, action := range a.Actions {
		pending = append(pending, action.Reason)
	}
	switch {
	case a.Phase == plan.PhaseUnknown:
		synced = Condition{Type: Synced, Status: "Unknown", Reason: "Stuck", Message: "libvirt gives no answer about it"}
	case failure != nil:
		synced = yes(Synced, false, "Failing", failure.Message)
	case len(pending) > 0:
		synced = yes(Synced, false, a.Actions[0].Reason, a.Actions[0].Message)
	case len(a.Notes) > 0:
		synced.Reason, synced.Message = a.Notes[0].Reason, a.Notes[0].Message
	}
	list = append(list, synced)
	var fields []string
	for _, c := range a.Staged {
		fields = append(fields, c.Path)
	}
	if len(fields) > 0 {
		list = append(list, yes(RestartRequired, true, "Staged", "waiting for the next start: "+strings.Join(fields, ", ")))
	} else {
		list = append(list, yes(RestartRequired, false, "NothingStaged", ""))
	}
	if len(a.Blocked) > 0 {
		return append(list, yes(Blocked, true, a.Blocked[0].Reason, a.Blocked[0].Message))
	}
	return append(list, yes(Blocked, false, "NotBlocked", ""))
}

// isReady says whether the instance is in the state that is asked for.
func isReady(a plan.Assessment) (bool, plan.Block) {
	if a.Instance == nil {
		return false, plan.Block{Reason: "NotWanted", Message: "no run state asks for it here"}
	}
	want := a.Instance.State
	done := a.Phase == plan.PhaseSucceeded
	switch {
	case want == manifest.StateManual,
		want == manifest.StateRunning && (a.Phase == plan.PhaseRunning || done),
		want == manifest.StatePaused && a.Phase == plan.PhasePaused,
		want == manifest.StateStopped && (a.Phase == plan.PhaseStopped || a.Phase == plan.PhaseFailed || done):
		return true, plan.Block{Reason: string(a.Phase)}
	}
	return false, plan.Block{Reason: string(a.Phase), Message: "it is to be " + string(want)}
}

func (s *Snapshot) configs() []Config {
	runs := map[string][]RunState{}
	for _, r := range s.Facts.Documents.RunStates {
		state := RunState{Name: r.Metadata.Name, Host: r.Spec.Host, State: cmp.Or(string(r.Spec.State), string(manifest.StateRunning)), Run: max(r.Spec.Run, 1)}
		if i := s.find(state.Name); i != nil && r.Spec.Host == s.Facts.Host {
			state.Phase = i.Status.Phase
		}
		runs[r.ConfigName()] = append(runs[r.ConfigName()], state)
	}
	list := make([]Config, 0, len(s.Facts.Documents.Configs))
	for _, c := range s.Facts.Documents.Configs {
		states := runs[c.Metadata.Name]
		if states == nil {
			states = []RunState{}
		}
		list = append(list, Config{APIVersion: manifest.APIVersion, Kind: manifest.KindConfig, Metadata: c.Metadata, File: c.At.File, RunStates: states})
	}
	return list
}
