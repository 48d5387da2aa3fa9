package adoption

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Host is what is known of the host that domains are imported from.
type Host struct {
	// Emulator is the program that libvirt takes where a domain says none; empty where that is not known.
	Emulator string
	// Capacity is the size of a storage volume in bytes; ok is false where that is not known. It may be nil.
	Capacity func(pool, volume string) (size int64, ok bool)
}

// Import writes the documents of a domain, and has the agent's own plan say that to adopt it changes nothing but its record.
// The error says why there are no such documents.
func Import(d plan.Domain, h Host, documents Documents) (imported.Machine, error) {
	if err := possible(d); err != nil {
		return imported.Machine{}, err
	}
	xml, err := domxml.Parse(d.Inactive.Text())
	if err != nil {
		return imported.Machine{}, fmt.Errorf("cannot read the XML that libvirt gives of it: %w", err)
	}
	state, restart := power(d, xml)
	m, err := imported.Make(imported.Domain{XML: xml, State: state, RestartPolicy: restart}, imported.Host{
		Name: documents.Host, DomainType: documents.DomainType, Emulator: h.Emulator, Capacity: h.Capacity,
		Complete: func(text []byte) (*render.Instance, []manifest.Problem) { return documents.complete(d.Name, text) },
	})
	if err != nil {
		return m, err
	}
	return m, verify(d, m.Instance, documents.Host)
}

// possible says why a domain cannot be imported as it is.
func possible(d plan.Domain) error {
	switch {
	case !imported.CanName(d.Name):
		return fmt.Errorf("%q is no name for a machine: letters a to z, digits and hyphens make one, at most 63; "+
			"stop it and rename it (virsh domrename %q NAME), which changes nothing else of it", d.Name, d.Name)
	case d.Stuck:
		return errors.New("libvirt gives no answer about it: try again once it does")
	case d.Meta() != nil:
		return errors.New("it is gitvirt's already")
	case !d.Persistent:
		return errors.New("it is transient, so that nothing of it is left once it stops: make it persistent first " +
			"(virsh dumpxml --security-info, and virsh define of that)")
	case d.Job != "":
		return fmt.Errorf("somebody has begun a %s of it: try again once that has ended", d.Job)
	}
	return nil
}

// power is what documents say of a domain's power so that nothing of that changes. Always stands for a domain that libvirt
// starts with the host; where the two do not go together, its power is left alone.
func power(d plan.Domain, xml *domxml.Element) (manifest.PowerState, manifest.RestartPolicy) {
	restart := manifest.RestartNever
	text := func(name string) string {
		if e := xml.Child(name); e != nil {
			return e.Text
		}
		return ""
	}
	switch {
	case d.Autostart:
		restart = manifest.RestartAlways
	case text("on_crash") == "restart":
		restart = manifest.RestartOnFailure
	}
	state := manifest.StateRunning
	switch {
	case d.Active() && d.State == plan.DomainPaused && d.Reason == "user":
		state = manifest.StatePaused
	case d.Active() && (d.State == plan.DomainCrashed || d.State == plan.DomainShutdown):
		state = manifest.StateManual
	case !d.Active():
		state = manifest.StateStopped
	}
	if d.Autostart && state != manifest.StateRunning {
		state = manifest.StateManual
	}
	return state, restart
}

// verify has the agent's plan adopt the domain.
func verify(d plan.Domain, i *render.Instance, host string) error {
	_, all := plan.Make(plan.Wanted{Host: host, Instances: []*render.Instance{i}, Budget: 1}, plan.World{Domains: []plan.Domain{d}}, plan.Memory{})
	var wrong []string
	for _, a := range all {
		for _, b := range a.Blocked {
			wrong = append(wrong, b.Message)
		}
		for _, action := range a.Actions {
			for _, c := range action.Changes {
				wrong = append(wrong, fmt.Sprintf("%s would change from %q to %q", c.Path, c.From, c.To))
			}
			for _, s := range action.Steps {
				if s.Op != plan.OpMetadata && s.Op != plan.OpVolumes {
					wrong = append(wrong, fmt.Sprintf("the agent would %s it: %s", s.Op, action.Message))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
