package status

import (
	"slices"
)

// maxEvents bounds what is kept of the past.
const maxEvents = 256

// events adds to those before what is new in the snapshot.
func events(before, s *Snapshot) []Event {
	list := slices.Clip(before.Events)
	add := func(instance, reason, message string) {
		list = append(list, Event{s.Facts.Now, instance, reason, message})
	}
	if r := s.Facts.Source.Revision; r != before.Facts.Source.Revision && r != "" {
		add("", "Revision", "revision "+r+" is in force")
	}
	if e := s.Facts.Source.Error; e != before.Facts.Source.Error && e != "" {
		add("", "SourceFailed", e)
	}
	if e := s.Facts.Libvirt.Error; e != before.Facts.Libvirt.Error && e != "" {
		add("", "LibvirtFailed", e)
	}
	for n := range s.Instances {
		i := &s.Instances[n]
		name := i.Metadata.Name
		old := before.find(name)
		if old == nil || old.Status.Phase != i.Status.Phase {
			add(name, string(i.Status.Phase), "the instance is "+string(i.Status.Phase))
		}
		if f := i.Status.Failure; f != nil && (old == nil || old.Status.Failure == nil || old.Status.Failure.Attempts != f.Attempts) {
			add(name, "Failed", f.Message)
		}
		for n, c := range i.Status.Conditions {
			changed := old == nil || n >= len(old.Status.Conditions) || old.Status.Conditions[n].Status != c.Status
			if changed && (c.Type == Blocked || c.Type == RestartRequired) && c.Status == "True" {
				add(name, c.Type, c.Message)
			}
		}
	}
	for n := range before.Instances {
		if name := before.Instances[n].Metadata.Name; s.find(name) == nil {
			add(name, "Removed", "the instance is gone")
		}
	}
	if len(list) > maxEvents {
		list = slices.Clone(list[len(list)-maxEvents:])
	}
	return list
}
