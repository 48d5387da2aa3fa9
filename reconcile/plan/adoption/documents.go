package adoption

import (
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/imported"
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
