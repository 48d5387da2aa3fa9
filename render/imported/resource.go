package imported

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Resource is a network or a storage pool of a host that documents are made of.
type Resource struct {
	Kind resource.Kind
	// Name and UUID are libvirt's.
	Name, UUID string
	// XML is its definition. It is not changed.
	XML       *domxml.Element
	Active    bool
	Autostart bool
}

// MakeResource writes the document of a network or a storage pool, under a name that no other has. Render renders the document
// in a text. What it renders to has no difference to what there is; the error says what has even when libvirt's own language
// says all of it.
func MakeResource(r Resource, document, host string, render func(text []byte) (resource.Resource, error)) ([]byte, error) {
	said, xml := network(r.XML), "networkXML"
	if r.Kind == resource.Pool {
		said, xml = pool(r.XML), "poolXML"
	}
	have := r.XML.Clone()
	for _, name := range []string{"name", "uuid", "capacity", "allocation", "available"} {
		if c := have.Child(name); c != nil {
			have.Remove(c)
		}
	}
	have.RemoveAttr("connections")
	if f := have.Child("forward"); f != nil && onlyNAT(f) {
		f.Children = nil
	}
	for _, ip := range have.All("ip") {
		if bits, ok := prefix(ip); ok {
			ip.RemoveAttr("netmask")
			ip.SetAttr("prefix", strconv.Itoa(bits))
		}
	}
	text, err := r.say(said, xml, have, document, host, render)
	if err != nil {
		text, err = r.say(map[string]any{}, xml, have, document, host, render)
	}
	return text, err
}

// say writes the document with what is said in its own words, and the rest in libvirt's.
func (r Resource) say(said map[string]any, xml string, have *domxml.Element, document, host string, render func([]byte) (resource.Resource, error)) ([]byte, error) {
	spec := map[string]any{"hosts": []any{host}, "uuid": r.UUID, "adopt": true}
	for name, value := range said {
		spec[name] = value
	}
	if document != r.Name {
		spec["name"] = r.Name
	}
	if !r.Active {
		spec["active"] = false
	}
	if !r.Autostart {
		spec["autostart"] = false
	}
	if r.Kind == resource.Pool {
		spec["type"] = r.XML.Attr("type")
	}
	write := func() []byte {
		return Documents([]map[string]any{{
			"apiVersion": manifest.APIVersion, "kind": string(r.Kind), "metadata": map[string]any{"name": document}, "spec": spec,
		}})
	}
	made, err := render(write())
	if err != nil {
		return nil, err
	}
	if rest := domxml.Rest(have, made.XML); rest != nil {
		spec[xml] = indented(rest)
	}
	text := write()
	if made, err = render(text); err != nil {
		return nil, err
	}
	if made.Active != r.Active || made.Autostart != r.Autostart {
		return nil, errors.New("it would be started or stopped")
	}
	for _, d := range resource.Compare(r.Kind, made.XML, r.XML, func(string) bool { return false }) {
		return nil, fmt.Errorf("%s would change from %q to %q", d.Path, resource.Show(d.From), resource.Show(d.To))
	}
	return text, nil
}
