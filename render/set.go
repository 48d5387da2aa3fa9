package render

import (
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Named completes the instance of a run state of the set.
func Named(set *manifest.Set, runState string, o Options) (*Instance, []manifest.Problem) {
	return Of(set, set.RunStates[runState], o)
}

// Of completes the instance of a run state that need not be the set's own; its config is.
func Of(set *manifest.Set, r *manifest.RunState, o Options) (*Instance, []manifest.Problem) {
	return Complete(input(set, r), o)
}

// Unplaced completes a config that no run state speaks of as if it ran: so that it can be checked, and shown.
func Unplaced(set *manifest.Set, config string, o Options) (*Instance, []manifest.Problem) {
	r := &manifest.RunState{}
	r.Metadata.Name = config
	r.Spec.State = manifest.StateStopped
	return Of(set, r, o)
}

func input(set *manifest.Set, r *manifest.RunState) Input {
	c := set.Configs[r.ConfigName()]
	return Input{
		Config: c, Flavour: set.Flavours[c.Spec.Flavour], RunState: r,
		ConfigFile: c.At.File, Text: set.Text,
	}
}
