package plan

import (
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Forbidden is an instance that the host's policy refuses as it is wanted.
type Forbidden struct {
	// Message says by which rule, and where the documents say it.
	Message string
	// Start says that what is defined may be started: it is an earlier version, which the policy let through.
	Start bool
}

// forbid leaves a machine as it is defined, because the host's policy refuses what is wanted. What runs goes on; it is
// stopped when its RunState says so, and comes back as it was defined where that may be.
func (a *Assessment) forbid(f Forbidden, mem Memory) {
	a.block("Policy", f.Message)
	d := a.Domain
	switch {
	case d == nil, d.Stuck, d.Meta() == nil:
	case d.Job != "":
		a.busy(mem)
	case a.Instance.State == manifest.StateStopped, f.Start && !d.Active() && comesBack(d.Meta()):
		// The volumes that are wanted are refused with the rest: nothing of them is made.
		wanted, bare := a.Instance, *a.Instance
		bare.Volumes, bare.TemporaryVolumes = nil, nil
		a.Instance = &bare
		a.power(definition{meta: *d.Meta()}, mem)
		a.Instance = wanted
	default:
		a.ready(mem)
	}
}

// comesBack says whether a domain can be started as it is recorded. What is made anew at every run could not be: how, only
// the documents said that it was made of. A seed stays as it is.
func comesBack(m *metadata.Metadata) bool {
	return !slices.ContainsFunc(m.Volumes, func(v metadata.Volume) bool { return !v.Keep && !strings.HasSuffix(v.File, ".iso") })
}
