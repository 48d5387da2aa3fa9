package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Probe is a guest that runs, and how to find out whether it is up.
type Probe struct {
	Name, UUID string
	ID         int32 // libvirt's number of the run
	// Agent says that the guest has opened the guest agent's channel.
	Agent bool
	// MACs are those of the guest's interfaces.
	MACs []string
	// Old says that the run is of another version than is wanted now: it goes on being asked as it was, because what is to be
	// asked of the new version may not hold for it.
	Old bool
	render.Readiness
}

// Readiness is what is known of a guest's being up.
type Readiness struct {
	// ID is the run that it is of.
	ID    int32
	Ready bool
	// Since is when the run was first seen; it began then, or before.
	Since time.Time
	// Message says why it is not ready, or how that is known.
	Message string
}

// Probes are the guests of which it matters whether they are up: those that say how to find out, members of groups, and
// those that are rolled back when they are not.
func Probes(w Wanted, world World) []Probe {
	var all []Probe
	for _, i := range w.Instances {
		if !asks(i) {
			continue
		}
		d := world.Domain(i.Name)
		if d == nil || d.State != DomainRunning || d.Stuck || d.Meta() == nil {
			continue
		}
		if use, _ := w.inForce(i, d); use != nil {
			i = use
		}
		if asks(i) {
			old := d.Live.Meta != nil && d.Live.Meta.Digest != i.Digest
			all = append(all, Probe{Name: d.Name, UUID: d.UUID, ID: d.ID, Agent: d.Live.Agent, MACs: strings.Fields(d.Live.MACs), Old: old, Readiness: i.Readiness()})
		}
	}
	return all
}

// asks says whether it matters that the guest is up.
func asks(i *render.Instance) bool {
	return i.State == manifest.StateRunning &&
		(i.Spec.ReadinessProbe != nil || i.Group != nil || i.Rollback == manifest.RollbackOnFailure)
}

// ready finds whether the guest is up, as far as that matters.
func (a *Assessment) ready(mem Memory) {
	i, d := a.Instance, a.Domain
	if mem.Ready == nil || a.Phase != PhaseRunning || !asks(i) {
		return
	}
	r, known := mem.Ready[a.Name]
	switch {
	case !known || r.ID != d.ID:
		a.Unready = "it has just started"
	case !r.Ready:
		a.Unready = r.Message
		a.late = !mem.Now.Before(r.Since.Add(i.Progress))
		if !a.late {
			a.wake(r.Since.Add(i.Progress))
		} else {
			a.Unready = fmt.Sprintf("it is not up after %v: %s", i.Progress, r.Message)
		}
	default:
		a.heard = true
	}
}
