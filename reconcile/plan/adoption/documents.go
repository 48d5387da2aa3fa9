package adoption

import (
	"fmt"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Documents completes machines of new documents, together with those that a repository has.
type Documents struct {
	// Set is what the repository has that can bear on a new machine: Host documents and presets. It may be nil.
	Set *manifest.Set
	// Host is whose machines are completed.
	Host string
	render.Options
}

// complete completes the machine of a name of the documents in a text.
func (d Documents) complete(name string, text []byte) (*render.Instance, []manifest.Problem) {
	f := manifest.Read(name+".yaml", text)
	set := manifest.Next(d.Set, nil, []*manifest.File{&f}, func(string) ([]byte, bool) { return nil, false })
	var own []manifest.Problem
	for _, p := range set.Problems {
		if p.File == f.Path {
			own = append(own, p)
		}
	}
	if len(own) > 0 {
		return nil, own
	}
	placement := render.Place(set, d.Host)
	m, ok := placement.Find(name)
	if !ok {
		return nil, []manifest.Problem{{Message: fmt.Sprintf("there is no place for %s", name)}}
	}
	return placement.Of(m, d.Options)
}
