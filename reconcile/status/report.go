package status

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Snapshot is everything that is shown, as of one pass. It is never changed.
type Snapshot struct {
	// Facts are those of the pass, without what is shown in another form or not at all: the assessments, and the steps of
	// actions. Both hold domain XML, which is most of what an agent could keep in memory.
	Facts     Facts
	Instances []Instance // sorted by name
	Resources []Resource // networks and storage pools, sorted by kind and name
	Events    []Event    // the newest last

	devices map[string]Devices // by the hash of the XML that they were read from
	begun   map[deed]bool      // what the pass set to work on
	seen    bool               // there was a pass that saw the host
}

// Report makes a snapshot of what the loop knows. It is a pure function; before is the last snapshot, nil at first: the
// times of conditions and the events come from it.
func Report(before *Snapshot, f Facts) *Snapshot {
	s := &Snapshot{Facts: f}
	s.Facts.Assessments, s.Facts.Resources = nil, nil
	if before == nil {
		before = &Snapshot{}
	}
	if f.Assessments == nil && (!f.Libvirt.Up || f.Source.Revision == "") {
		// Nothing could be seen: what was seen last is still the best that is known, and the facts say how it stands.
		s.Instances, s.devices, s.begun, s.seen = before.Instances, before.devices, before.begun, before.seen
		s.Facts.Plan, s.Resources = before.Facts.Plan, before.Resources
	} else {
		s.seen = true
		s.devices = make(map[string]Devices, len(f.Assessments))
		s.Instances = make([]Instance, 0, len(f.Assessments))
		for _, a := range f.Assessments {
			s.Instances = append(s.Instances, s.instance(before, a))
		}
		s.Facts.Plan.Actions, s.begun = begin(f.Plan.Actions)
		s.Facts.Plan.Resources, s.Resources = withoutSteps(f.Plan.Resources), resourcesOf(before, &f)
	}
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

// instance reports one of them.
func (s *Snapshot) instance(before *Snapshot, a plan.Assessment) Instance {
	f := &s.Facts
	old := before.find(a.Name)
	out := Instance{APIVersion: manifest.APIVersion, Kind: manifest.KindInstance, rendered: a.Instance}
	out.Metadata = Metadata{Name: a.Name, Annotations: map[string]string{}}
	out.Status = InstanceStatus{Phase: a.Phase, Host: f.Host, Staged: a.Staged, Restarts: f.Restarts[a.Name]}
	if i := a.Instance; i != nil {
		out.Metadata = metadataOf(i)
		out.Status.Desired, out.Status.Revision.Desired = string(i.State), i.Revision
		if a.Rejected != nil {
			out.Status.Revision.Desired = a.Rejected.Revision
		}
	} else if r := f.Documents.runState(a.Name, f.Host); r != nil {
		// It is wanted, though it cannot be rendered.
		out.Metadata.OwnerReferences = owner(r.ConfigName())
		out.Status.Desired = string(stateOf(r))
	}
	if d := a.Domain; d != nil {
		s.domain(before, old, &out, d)
	}
	if fail, ok := f.Failures[a.Name]; ok {
		out.Status.Failure = &Failed{Message: fail.Message, Time: fail.Time, Attempts: fail.Attempts, NextTry: fail.NotBefore}
	}
	out.Status.Conditions = conditions(a, manifest.PowerState(out.Status.Desired), out.Status.Failure)
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
func (s *Snapshot) domain(before *Snapshot, old, out *Instance, d *plan.Domain) {
	out.Status.Domain = &Domain{Name: d.Name, UUID: d.UUID}
	if d.Active() {
		out.Status.Domain.ID = d.ID
	}
	xml := d.Inactive
	if d.Live.Packed != nil {
		xml = d.Live
	}
	devices, known := before.devices[xml.Hash]
	if !known {
		devices = devicesOf(xml.Text())
	}
	s.devices[xml.Hash] = devices
	out.Status.Devices = devices.with(s.Facts.Addresses[d.Name])
	m := d.Meta()
	if m == nil {
		if d.Stuck && old != nil && old.Status.Domain != nil && old.Status.Domain.UUID == d.UUID {
			// What was seen of it last is still the best that is known.
			out.Metadata.UID, out.Status.Devices = old.Metadata.UID, old.Status.Devices
			out.Status.Revision.NextStart, out.Status.Revision.Running = old.Status.Revision.NextStart, old.Status.Revision.Running
			out.annotate(old.Metadata.Annotations)
		}
		return
	}
	out.Status.Revision.NextStart = m.Revision
	out.Metadata.OwnerReferences = owner(m.Config)
	if d.Live.Meta != nil {
		m = d.Live.Meta
		out.Status.Revision.Running = m.Revision
	}
	if m.UID == "" {
		return // it has not run yet
	}
	out.Metadata.UID = m.UID
	if d.Live.Meta == nil && old != nil && old.Metadata.UID == m.UID {
		// The run is over, and the inactive XML may have been written anew since, for the next one.
		out.annotate(old.Metadata.Annotations)
		return
	}
	out.annotate(map[string]string{revisionNote: m.Revision, flavourNote: m.Flavour, runNote: strconv.FormatInt(m.Run, 10)})
}

// annotate says of which run the instance is.
func (i *Instance) annotate(from map[string]string) {
	for _, note := range []string{revisionNote, flavourNote, runNote} {
		delete(i.Metadata.Annotations, note)
		if from[note] != "" {
			i.Metadata.Annotations[note] = from[note]
		}
	}
}
