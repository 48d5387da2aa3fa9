package render

import (
	"fmt"
	"maps"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Pinned is what an earlier revision says of a config: the config itself, and all that its template is completed with. It
// holds no other document of that revision.
type Pinned struct {
	// Commit is that revision, in full.
	Commit string
	of     Input
}

// Pin takes a config out of the documents of a commit. The error says why that revision cannot be used for it.
func Pin(set *manifest.Set, commit, config string) (*Pinned, error) {
	c := set.Configs[config]
	if c == nil {
		for _, p := range set.Problems {
			if p.Name == config {
				return nil, fmt.Errorf("the config %s is broken there: %s", config, p)
			}
		}
		return nil, fmt.Errorf("there is no config %s in it", config)
	}
	of := described(set, c)
	for _, p := range set.Problems {
		if of.mayBeOf(p) {
			return nil, fmt.Errorf("its documents are broken: %s", p)
		}
	}
	of.Claims = claimed(set, of)
	texts := map[string][]byte{}
	for _, name := range of.textNames() {
		texts[name], _ = set.Text(name) // the set has all that its documents name
	}
	of.Text = func(path string) ([]byte, bool) {
		text, ok := texts[path]
		return text, ok
	}
	return &Pinned{Commit: commit, of: of}, nil
}

// Keep keeps the encrypted files that the config names, of those that read has.
func (p *Pinned) Keep(read func(path string) ([]byte, bool)) {
	text, sealed := p.of.Text, map[string][]byte{}
	for _, l := range p.of.layers() {
		for _, name := range manifest.SecretsOf(l.tree) {
			if data, ok := read(name); ok {
				sealed[name] = data
			}
		}
	}
	p.of.Text = func(path string) ([]byte, bool) {
		if data, ok := sealed[path]; ok {
			return data, true
		}
		return text(path)
	}
}

// mayBeOf says whether a broken document may be one that the config is completed with: one that it names, a preset, which
// may be meant for it by its labels, or one that cannot be told.
func (in Input) mayBeOf(p manifest.Problem) bool {
	switch p.Kind {
	case "", manifest.KindPreset, manifest.KindKubeVirtPreset:
		return true
	case manifest.KindFlavour:
		return p.Name == "" || p.Name == in.Config.Spec.Flavour
	case in.Config.Written.Kind:
		return p.Name == "" || p.Name == in.Config.Metadata.Name
	}
	return false
}

// Pin has a machine completed with what an earlier revision says of its config. Its run state, group and host stay those of
// the placement's revision.
func (p *Placement) Pin(machine string, to *Pinned) { p.pins[machine] = to }

// Pinning is the placement with one more machine pinned.
func (p *Placement) Pinning(machine string, to *Pinned) *Placement {
	c := *p
	c.pins, c.devices, c.networks = maps.Clone(p.pins), map[string]allocation{}, map[string][]*manifest.HostNetwork{}
	c.pins[machine] = to
	return &c
}

// PinOf is what a machine is pinned to; nil for nothing.
func (p *Placement) PinOf(machine string) *Pinned { return p.pins[machine] }
