package reconcile

import (
	"context"
	"errors"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// Look is View with no good revision to fall back to, and with pinned revisions read on the spot.
func (d *Documents) Look(ctx context.Context, s *source.Snapshot, set *manifest.Set, o Scope) (View, error) {
	if o.Pins != nil {
		o.Pins.begin(d)
	}
	v, err := d.View(s, set, nil, "", o)
	if err == nil && o.Pins != nil && o.Pins.pending() {
		o.Pins.read(ctx)
		v, err = d.View(s, set, nil, "", o)
	}
	return v, err
}

// pin pins the machines whose run states say a revision, and says of those for which that cannot be done why.
func (v *View) pin(s *source.Snapshot, o Scope) map[string]string {
	failed := map[string]string{}
	for _, m := range v.Placement.Machines {
		commit := m.Run.Spec.Revision
		if commit == "" || o.Host != "" && m.Run.Spec.Host != o.Host {
			continue
		}
		err := errUnread
		if o.Pins != nil {
			var to *render.Pinned
			if to, err = o.Pins.of(commit, m.Run.ConfigName()); err == nil {
				v.Placement.Pin(m.Run.Metadata.Name, to)
				continue
			}
		}
		p := v.pinProblem(s, m, err)
		failed[m.Run.Metadata.Name] = p.String()
		if errors.Is(err, errUnread) {
			v.Unread = append(v.Unread, p)
		} else {
			v.Problems = append(v.Problems, p)
		}
	}
	return failed
}

// pinProblem is a problem of what a machine is pinned to.
func (v *View) pinProblem(s *source.Snapshot, m render.Placed, err error) manifest.Problem {
	p := m.Run.Problem("spec.revision", err.Error())
	if m.Group != nil {
		p = m.Group.Problem("spec.revision", err.Error())
	}
	return Locate(s, []manifest.Problem{p})[0]
}
