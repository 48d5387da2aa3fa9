package status

import (
	"cmp"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Config is a config and what runs of it, on whatever host.
type Config struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   manifest.Meta `json:"metadata"`
	File       string        `json:"file"`
	// RunStates are those that name the config; none when it runs nowhere.
	RunStates []RunState `json:"runStates"`
}

// RunState is a run state in few words.
type RunState struct {
	Name  string `json:"name"`
	Host  string `json:"host"`
	State string `json:"state"`
	Run   int64  `json:"run"`
	// Phase is of an instance on this host.
	Phase plan.Phase `json:"phase,omitempty"`
}

// Configs are all of the revision in force, sorted by name: those that run and those that do not. They are made when
// somebody asks, and not at each pass: a repository may have many times what one host runs.
func (s *Snapshot) Configs() []Config {
	docs := s.Facts.Documents
	if docs.Set == nil {
		return []Config{}
	}
	runs := map[string][]RunState{}
	for _, r := range docs.RunStates {
		state := RunState{Name: r.Metadata.Name, Host: r.Spec.Host, State: string(stateOf(r)), Run: max(r.Spec.Run, 1)}
		if i := s.find(state.Name); i != nil && r.Spec.Host == s.Facts.Host {
			state.Phase = i.Status.Phase
		}
		runs[r.ConfigName()] = append(runs[r.ConfigName()], state)
	}
	for d, a := range docs.Set.EachAway {
		state := RunState{Name: d.Name, Host: a.Host, State: string(cmp.Or(a.State, manifest.StateRunning)), Run: max(a.Run, 1)}
		runs[d.ConfigName()] = append(runs[d.ConfigName()], state)
	}
	list := []Config{}
	for _, c := range docs.Set.Documents(manifest.KindConfig) {
		states := runs[c.Name]
		if states == nil {
			states = []RunState{}
		}
		slices.SortFunc(states, func(a, b RunState) int { return cmp.Compare(a.Name, b.Name) })
		list = append(list, Config{APIVersion: manifest.APIVersion, Kind: manifest.KindConfig, Metadata: c.Metadata(), File: c.File, RunStates: states})
	}
	return list
}

// count is the number of sound documents.
func (d *Documents) count() int {
	if d.Set == nil {
		return 0
	}
	return d.Set.Size()
}

// runState returns the run state of a name on a host, nil when there is none.
func (d *Documents) runState(name, host string) *manifest.RunState {
	n, ok := slices.BinarySearchFunc(d.RunStates, name, func(r *manifest.RunState, name string) int { return cmp.Compare(r.Metadata.Name, name) })
	if !ok || d.RunStates[n].Spec.Host != host {
		return nil
	}
	return d.RunStates[n]
}

// stateOf is the state that a run state asks for.
func stateOf(r *manifest.RunState) manifest.PowerState {
	return cmp.Or(r.Spec.State, manifest.StateRunning)
}
