package adoption

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Documents completes machines of new documents, together with those that a repository has.
type Documents struct {
	// Set is what the repository has that can bear on a new machine: Host documents and presets. It may be nil.
	Set *manifest.Set
	// Host is whose machines are completed.
	Host string
	render.Options
}

// read reads a text beside the documents that there are, and says what is wrong with it.
func (d Documents) read(name string, text []byte) (*manifest.Set, []manifest.Problem) {
	f := manifest.Read(name+".yaml", text)
	set := manifest.Next(d.Set, nil, []*manifest.File{&f}, func(string) ([]byte, bool) { return nil, false })
	var own []manifest.Problem
	for _, p := range set.Problems {
		if p.File == f.Path {
			own = append(own, p)
		}
	}
	return set, own
}

// complete completes the machine of a name of the documents in a text.
func (d Documents) complete(name string, text []byte) (*render.Instance, []manifest.Problem) {
	set, problems := d.read(name, text)
	if len(problems) > 0 {
		return nil, problems
	}
	placement := render.Place(set, d.Host)
	m, ok := placement.Find(name)
	if !ok {
		return nil, []manifest.Problem{{Message: fmt.Sprintf("there is no place for %s", name)}}
	}
	return placement.Of(m, d.Options)
}

// Network and Pool are the kinds of Resource.
const (
	Network = resource.Network
	Pool    = resource.Pool
)

// Resource is a network or a storage pool of a host.
type Resource = imported.Resource

// ImportResource writes the document of a network or a storage pool, under a name that no other document of its kind has.
// What it renders to has no difference to what there is.
func ImportResource(r Resource, document string, d Documents) ([]byte, error) {
	return imported.MakeResource(r, document, d.Host, func(text []byte) (resource.Resource, error) {
		set, problems := d.read(document, text)
		if len(problems) > 0 {
			return resource.Resource{}, errors.New(problems[0].String())
		}
		var made resource.Resource
		var bad *manifest.FieldProblem
		if n := set.Networks[document]; r.Kind == Network && n != nil {
			made, bad = resource.OfNetwork(n, d.Fleet, nil)
		} else if p := set.Pools[document]; p != nil {
			made, bad = resource.OfPool(p, d.Fleet)
		} else {
			return made, fmt.Errorf("there is no document %s", document)
		}
		if bad != nil {
			return made, fmt.Errorf("%s: %s", bad.Field, bad.Message)
		}
		return made, nil
	})
}

// Name is a name that a document can have, made of one of libvirt's: taken says which are no more to be had.
func Name(libvirts, host string, taken func(string) bool) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, libvirts)
	if name = strings.Trim(name[:min(len(name), 40)], "-"); name == "" {
		name = "unnamed"
	}
	if !taken(name) {
		return name
	}
	own, _, _ := strings.Cut(host, ".")
	if own = strings.Trim(name+"-"+own[:min(len(own), 15)], "-"); imported.CanName(own) {
		name = own
	}
	next := name
	for n := 2; taken(next); n++ {
		next = fmt.Sprintf("%s-%d", name, n)
	}
	return next
}
