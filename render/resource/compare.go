package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// Difference is one element in which what there is differs from what is wanted.
type Difference struct {
	// Path is for people: ip[192.0.2.1]/dhcp/host[52:54:00:12:34:56].
	Path string
	// Place is the path without what tells elements of one name apart: ip/dhcp/host.
	Place string
	// In is the number of the <ip> that it is in, in what there is; -1 when it is in none.
	In int
	// From is what there is, To what is wanted; nil for nothing.
	From, To *domxml.Element
}

// Compare finds the differences between what a resource is to be and what libvirt has, in the order of libvirt's elements.
// What libvirt fills in by itself is none. leaving says of a DHCP host of a name that nobody wants that it stays for now.
func Compare(kind Kind, want, have *domxml.Element, leaving func(name string) bool) []Difference {
	w, h := normal(kind, want), normal(kind, have)
	unsaid(kind, w, h)
	c := comparison{leaving: leaving}
	c.element("", "", -1, w, h)
	return c.found
}

// unsaid takes out of what there is what the declaration leaves to libvirt.
func unsaid(kind Kind, want, have *domxml.Element) {
	paths := []string{"mac", "bridge"}
	if kind == Pool {
		paths = []string{"source/name", "source/format", "target/permissions", "target/path"}
		for _, id := range []string{"mode", "owner", "group"} {
			paths = append(paths, "target/permissions/"+id)
		}
	}
	for _, path := range paths {
		h := have.Child(path)
		if h == nil || want.Child(path) != nil {
			continue
		}
		parent := have
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			parent = have.Child(path[:i])
		}
		parent.Remove(h)
	}
	if w, h := want.Child("bridge"), have.Child("bridge"); kind == Network && w != nil && h != nil && w.Attr("name") == "" {
		h.RemoveAttr("name")
	}
	prune(have)
}

type comparison struct {
	leaving func(name string) bool
	found   []Difference
}

// transparent elements only hold others: each of those is a difference of its own.
func transparent(place string) bool {
	return place == "ip/dhcp" || place == "dns" || place == "source" || place == "target" || place == "target/permissions"
}

func (c *comparison) element(path, place string, in int, want, have *domxml.Element) {
	if want != nil && have != nil && (attrsOf(want) != attrsOf(have) || want.Text != have.Text || whole(place) && Show(want) != Show(have)) {
		c.found = append(c.found, Difference{path, place, in, have, want})
		if whole(place) {
			return
		}
	}
	type pair struct{ want, have *domxml.Element }
	pairs, order := map[string]*pair{}, []string{}
	at := func(list []*domxml.Element, put func(*pair, *domxml.Element)) {
		count := map[string]int{}
		for _, e := range list {
			key := label(join(place, e.Name), e)
			if count[key]++; count[key] > 1 {
				key = fmt.Sprintf("%s#%d", key, count[key])
			}
			if pairs[key] == nil {
				pairs[key] = &pair{}
				order = append(order, key)
			}
			put(pairs[key], e)
		}
	}
	at(childrenOf(want), func(p *pair, e *domxml.Element) { p.want = e })
	at(childrenOf(have), func(p *pair, e *domxml.Element) { p.have = e })
	for _, key := range order {
		p := pairs[key]
		name := key[:strings.IndexAny(key+"[#", "[#")]
		here, of, n := join(path, key), join(place, name), in
		if of == "ip" && p.have != nil {
			n = slices.Index(have.All("ip"), p.have)
		}
		switch {
		case p.want != nil && p.have != nil || transparent(of) && attrsOf(p.want)+attrsOf(p.have) == "":
			c.element(here, of, n, p.want, p.have)
		case of == "ip/dhcp/host" && p.want == nil && c.leaving != nil && c.leaving(p.have.Attr("name")):
		default:
			c.found = append(c.found, Difference{here, of, n, p.have, p.want})
		}
	}
}

// whole elements differ as one.
func whole(place string) bool {
	switch place {
	case "ip/dhcp/host", "ip/dhcp/range", "ip/dhcp/bootp", "dns/host", "dns/srv", "dns/txt", "dns/forwarder", "portgroup", "vlan", "virtualport", "bandwidth":
		return true
	}
	return false
}

// label tells elements of one name apart.
func label(place string, e *domxml.Element) string {
	attrs := map[string][]string{
		"ip": {"address"}, "ip/dhcp/range": {"start", "end"}, "dns/host": {"ip"}, "dns/txt": {"name"},
		"dns/srv": {"service", "protocol", "domain", "target", "port", "priority", "weight"}, "dns/forwarder": {"domain", "addr"},
		"route": {"address", "prefix"}, "portgroup": {"name"}, "forward/interface": {"dev"}, "source/host": {"name"}, "source/device": {"path"},
	}[place]
	if place == "ip/dhcp/host" {
		for _, name := range []string{"mac", "id", "name", "ip"} {
			if e.Attr(name) != "" {
				attrs = []string{name}
				break
			}
		}
	}
	var words []string
	for _, name := range attrs {
		if v := e.Attr(name); v != "" {
			words = append(words, v)
		}
	}
	if len(words) == 0 {
		return e.Name
	}
	return e.Name + "[" + strings.NewReplacer("[", "(", "]", ")", "#", "").Replace(strings.Join(words, " ")) + "]"
}

// attrsOf are an element's attributes, sorted.
func attrsOf(e *domxml.Element) string {
	if e == nil {
		return ""
	}
	var list []string
	for _, a := range e.Attrs {
		if !strings.HasPrefix(a.Name, "xmlns") {
			list = append(list, a.Name+"="+a.Value)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Show is an element for people: its attributes, its text, and what is in it.
func Show(e *domxml.Element) string {
	if e == nil {
		return ""
	}
	words := []string{attrsOf(e), e.Text}
	for _, c := range e.Children {
		words = append(words, strings.TrimSpace(c.Name+" "+Show(c)))
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return "present"
	}
	return strings.Join(words, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// Define is the XML to define a resource by: what is wanted, with what libvirt chose for what is left to it, so that it does
// not choose anew. have is what there is, nil for nothing.
func Define(r Resource, have *domxml.Element) *domxml.Element {
	next := r.XML.Clone()
	if have == nil {
		return next
	}
	if id, own := have.Child("uuid"), next.Child("uuid"); id != nil && own != nil {
		own.Text = id.Text
	}
	if r.Kind == Network {
		if m := have.Child("mac"); m != nil && next.Child("mac") == nil {
			next.Append(m.Clone())
		}
		if b := have.Child("bridge"); b != nil && b.Attr("name") != "" && Managed(next) {
			if own := next.Ensure("bridge"); own.Attr("name") == "" {
				own.SetAttr("name", b.Attr("name"))
			}
		}
	}
	return next
}

// Managed says whether libvirt makes a bridge for a network.
func Managed(network *domxml.Element) bool {
	f := network.Child("forward")
	if f == nil {
		return true
	}
	switch f.Attr("mode") {
	case "", "nat", "route", "open":
		return true
	}
	return false
}
