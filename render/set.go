package render

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Of completes the instance of a machine.
func (p *Placement) Of(m Placed, o Options) (*Instance, []manifest.Problem) {
	return Complete(p.input(m), o)
}

// Set is what the placement is of.
func (p *Placement) Set() *manifest.Set { return p.set }

// Having is the placement with the same machines of a set that says more of them.
func (p *Placement) Having(set *manifest.Set) *Placement {
	c := *p
	c.set, c.devices, c.networks = set, map[string]allocation{}, map[string][]*manifest.HostNetwork{}
	return &c
}

// Unplaced completes a config that nothing speaks of as if it ran, on no host in particular: so that it can be checked,
// and shown.
func (p *Placement) Unplaced(config string, o Options) (*Instance, []manifest.Problem) {
	return Complete(p.input(p.nowhere(config)), o)
}

func (p *Placement) nowhere(config string) Placed {
	r := &manifest.RunState{Header: p.set.Configs[config].Header}
	r.Metadata = manifest.Meta{Name: config}
	r.Spec.State = manifest.StateStopped
	return Placed{Run: r, said: r}
}

// Explain says of every field of an instance where its value is from.
func (p *Placement) Explain(i *Instance) ([]Explained, error) {
	m, ok := p.Find(i.Name)
	if !ok {
		m = p.nowhere(i.Config)
	}
	return Explain(p.input(m), i)
}

// Find is the machine of that name.
func (p *Placement) Find(name string) (Placed, bool) {
	for _, m := range p.Machines {
		if m.Run.Metadata.Name == name {
			return m, true
		}
	}
	return Placed{}, false
}

// Made is what an instance is made of, beside options. Documents are the same pointers for as long as their files are the
// same, so that what is equal here makes the same instance.
func (p *Placement) Made(m Placed) []any {
	in := p.input(m)
	made := []any{m.said, m.Index, in.RunState.Spec.Host, in.Config, in.Flavour, in.Instancetype, in.Preference, in.Host}
	for _, preset := range in.Presets {
		made = append(made, preset)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Claims)) {
		made = append(made, in.Claims[name])
	}
	for _, name := range slices.Sorted(maps.Keys(in.Devices)) {
		made = append(made, name, in.Devices[name])
	}
	for _, name := range slices.Sorted(maps.Keys(in.Short)) {
		made = append(made, name, in.Short[name])
	}
	made = append(made, secretTexts(in)...)
	for _, n := range in.Networks {
		made = append(made, n)
	}
	return append(made, fmt.Sprint(in.CPUs), in.NoCPUs)
}

// The field that names a file with domain XML.
const textField = "domainXMLFrom"

// textNames are the files with domain XML that a machine's documents name.
func (in Input) textNames() []string {
	layers := in.yielding()
	if in.Config.Spec.Template.Spec.Mentions(textField) {
		layers = in.layers()
	}
	var names []string
	for _, l := range layers {
		if name, _ := l.tree[textField].(string); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// documents are those of a machine.
func (p *Placement) documents(m Placed) Input {
	in := Input{}
	if pin := p.pins[m.Run.Metadata.Name]; pin != nil {
		in = pin.of
	} else {
		in = described(p.set, p.set.Configs[m.Run.ConfigName()])
	}
	in.RunState, in.Host = m.Run, p.set.Hosts[m.Run.Spec.Host]
	if text := in.Text; p.sealed != nil {
		in.Text = func(path string) ([]byte, bool) {
			if data, ok := text(path); ok {
				return data, true
			}
			return p.sealed(path)
		}
	}
	if g := m.Group; g != nil {
		in.Group = &Group{Name: g.Metadata.Name, Index: m.Index, MaxUnavailable: 1}
		if g.Spec.MaxUnavailable != nil {
			in.Group.MaxUnavailable = int(*g.Spec.MaxUnavailable)
		}
	}
	return in
}

// described is a config with the documents that its template is completed with.
func described(set *manifest.Set, c *manifest.Config) Input {
	in := Input{Config: c, Flavour: set.Flavours[c.Spec.Flavour], Presets: selectedPresets(set, c), Text: set.Text}
	if ref := c.Spec.Cluster.Instancetype; ref != nil {
		in.Instancetype = set.Instancetypes[*ref]
	}
	if ref := c.Spec.Cluster.Preference; ref != nil {
		in.Preference = set.Preferences[*ref]
	}
	return in
}

// input is all that completes a machine: its documents, and what of the host's and the cluster's they speak of.
func (p *Placement) input(m Placed) Input {
	in := p.documents(m)
	if in.Claims == nil {
		in.Claims = claimed(p.set, in)
	}
	in.Networks = p.networksOf(m.Run.Spec.Host)
	of := p.allocated(m.Run.Spec.Host)
	name := m.Run.Metadata.Name
	in.Devices, in.Short, in.CPUs, in.NoCPUs = of.given[name], of.short[name], of.cpus[name], of.noCPUs[name]
	return in
}

// claimed are the claims that a machine's documents speak of, by name.
func claimed(set *manifest.Set, in Input) map[string]*manifest.Claim {
	claims := map[string]*manifest.Claim{}
	layers := in.yielding()
	if spec := in.Config.Spec.Template.Spec; spec.Mentions(claimField) || spec.Mentions(dataVolumeField) {
		layers = in.layers()
	}
	for _, l := range layers {
		for _, name := range claimsOf(l.tree) {
			if c := set.DataVolumes[name]; c != nil {
				claims[name] = c
			} else if c := set.Claims[name]; c != nil {
				claims[name] = c
			}
		}
	}
	return claims
}

// The volume sources that name a claim and a data volume.
const claimField, dataVolumeField = "persistentVolumeClaim", "dataVolume"

// claimsOf are the names of the claims and data volumes that a spec speaks of.
func claimsOf(tree manifest.Tree) []string {
	var names []string
	volumes, _ := tree["volumes"].([]any)
	for _, v := range volumes {
		m, _ := v.(map[string]any)
		if e, ok := m["ephemeral"].(map[string]any); ok {
			m = e
		}
		for kind, key := range map[string]string{claimField: "claimName", dataVolumeField: "name"} {
			of, _ := m[kind].(map[string]any)
			if name, _ := of[key].(string); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
