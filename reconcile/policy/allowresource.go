package policy

import (
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

// AllowingResource is a policy that allows a network or a storage pool beside all that one allows, as little more as can be
// said, and why it is refused even then; empty when it is not.
func AllowingResource(p Policy, r resource.Resource, files Resolver) (Policy, string) {
	p = p.clone()
	why := CheckResource(p, r, files)
	for why != "" {
		next, now := p, why
		for _, w := range wordsOf(r) {
			tried := p.clone()
			*w.list(&tried) = append(*w.list(&tried), w.entry)
			if now = CheckResource(tried, r, files); now != why {
				next = tried
				break
			}
		}
		if now == why {
			return p, why
		}
		p, why = next, now
	}
	return p, ""
}

// entry is something that a list of a policy can have.
type entry struct {
	list  func(*Policy) *[]string
	entry string
}

// wordsOf are the entries that can allow something of a resource.
func wordsOf(r resource.Resource) []entry {
	networks := func(p *Policy) *[]string { return &p.Networks }
	pools := func(p *Policy) *[]string { return &p.Pools }
	bridges := func(p *Policy) *[]string { return &p.Bridges }
	paths := func(p *Policy) *[]string { return &p.HostPaths }
	devices := func(p *Policy) *[]string { return &p.HostDevices }
	storage := func(p *Policy) *[]string { return &p.Storage }
	elements := func(p *Policy) *[]string { return &p.Elements }
	words := []entry{{networks, r.Name}}
	if r.Kind == resource.Pool {
		words[0].list = pools
	}
	var walk func(*domxml.Element)
	walk = func(e *domxml.Element) {
		for _, w := range []entry{{paths, e.Attr("root")}, {bridges, e.Attr("dev")}, {devices, e.Attr("path")}} {
			if w.entry != "" {
				words = append(words, w)
			}
		}
		switch {
		case e.Name == "bridge" && e.Attr("name") != "":
			words = append(words, entry{bridges, e.Attr("name")})
		case e.Name == "host" && e.Attr("name") != "":
			words = append(words, entry{storage, e.Attr("name")})
		case e.Name == "path" && e.Text != "":
			words = append(words, entry{paths, e.Text})
		}
		for _, c := range e.Children {
			walk(c)
		}
	}
	walk(r.XML)
	for _, e := range r.XML.Children {
		words = append(words, entry{elements, r.XML.Name + "/" + e.Name})
	}
	return append(words, entry{devices, "*"})
}
