package plan

import (
	"fmt"
	"slices"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// declared is what is compared with the domain: what the instance declares, with the UUID that the domain was made with, and
// without the names of devices that were there before the domain was ours. Those carry none, and to give them one would be a
// change that nobody asked for. It needs them to be what is declared when they are taken over.
func (a *Assessment) declared(m metadata.Metadata) (*domxml.Element, error) {
	i, d := a.Instance, a.Domain
	want := i.Domain.Clone()
	want.Ensure("uuid").Text = d.UUID
	adopts := d.Meta() == nil
	if !adopts && len(m.Unnamed) == 0 {
		return want, nil
	}
	have, err := defined(d)
	if err != nil {
		return nil, err
	}
	names := domxml.Unnamed(want, have)
	if !adopts {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(m.Unnamed, name) })
	}
	nameless := domxml.Unname(want, names)
	if adopts {
		if next, changes := domxml.Converge(have, nameless, nil); len(changes) > 0 || next.String() != have.String() {
			return want, nil
		}
	}
	a.unnamed = names
	return nameless, nil
}

// defined is the definition that there is.
func defined(d *Domain) (*domxml.Element, error) {
	text := d.Inactive.Text()
	if text == "" {
		text = d.Live.Text() // somebody undefined it while it runs
	}
	have, err := domxml.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the XML that libvirt gives of it: %w", err)
	}
	return have, nil
}
