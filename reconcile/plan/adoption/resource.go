package adoption

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Network and Pool are the kinds of resources.
const (
	Network = resource.Network
	Pool    = resource.Pool
)

// ImportResource writes the document of a network or a storage pool, under a name that no other document of its kind has, and
// has the agent's own plan say that it does nothing about it. It returns what the document renders to as well.
func ImportResource(r plan.Resource, document string, d Documents) ([]byte, resource.Resource, error) {
	var made resource.Resource
	xml, err := domxml.Parse(r.Inactive)
	if err != nil {
		return nil, made, fmt.Errorf("cannot read the XML that libvirt gives of it: %w", err)
	}
	there := imported.Resource{Kind: r.Kind, Name: r.Name, UUID: r.UUID, XML: xml, Active: r.Active, Autostart: r.Autostart}
	text, err := imported.MakeResource(there, document, d.Host, func(text []byte) (resource.Resource, error) {
		made, err = d.resource(r.Kind, document, text)
		return made, err
	})
	if err != nil {
		return nil, made, err
	}
	var wrong []string
	for _, a := range plan.MakeResources(plan.ResourcesWanted{Fleet: d.Fleet, List: []resource.Resource{made}}, []plan.Resource{r}, plan.World{}) {
		for _, b := range a.Blocked {
			wrong = append(wrong, b.Message)
		}
		for _, action := range a.Actions {
			wrong = append(wrong, action.Message)
		}
	}
	if len(wrong) > 0 {
		return nil, made, fmt.Errorf("it would be changed: %s", strings.Join(wrong, "; "))
	}
	return text, made, nil
}

// resource renders the document of a name that a text has.
func (d Documents) resource(kind resource.Kind, document string, text []byte) (resource.Resource, error) {
	set, problems := d.read(document, text)
	if len(problems) > 0 {
		return resource.Resource{}, errors.New(problems[0].String())
	}
	var made resource.Resource
	var bad *manifest.FieldProblem
	if n := set.Networks[document]; kind == Network && n != nil {
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
}
