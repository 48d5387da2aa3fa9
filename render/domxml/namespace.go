package domxml

import (
	"slices"
	"strings"
)

// namespaces are those of libvirt's own that QEMU's driver reads, with the prefix that it writes.
var namespaces = map[string]string{"http://libvirt.org/schemas/domain/qemu/1.0": "qemu"}

// qualify is a domain with libvirt's own prefixes for libvirt's own namespaces, whichever the author chose; the domain itself
// when it has them.
func qualify(domain *Element) *Element {
	if domain == nil || !foreign(domain) {
		return domain
	}
	scope := scopeOf(domain, nil)
	c := domain.Clone()
	for _, child := range c.Children {
		if child.Name != "metadata" {
			rename(child, scope, c)
		}
	}
	return c
}

// rename gives an element and all below it libvirt's prefixes, which it declares in the domain.
func rename(e *Element, outer map[string]string, domain *Element) {
	scope := scopeOf(e, outer)
	prefix, local := cutPrefix(e.Name)
	if to := namespaces[scope[prefix]]; to != "" {
		e.Name = to + ":" + local
		domain.SetAttr("xmlns:"+to, scope[prefix])
		e.Attrs = slices.DeleteFunc(e.Attrs, func(a Attr) bool { return isNamespace(a.Name) })
	}
	for _, c := range e.Children {
		rename(c, scope, domain)
	}
}

// foreign says whether an element of the domain has another prefix than libvirt writes.
func foreign(domain *Element) bool {
	for _, child := range domain.Children {
		if child.Name == "metadata" {
			continue
		}
		for _, a := range child.Attrs {
			if isNamespace(a.Name) {
				return true
			}
		}
	}
	for _, a := range domain.Attrs {
		if to := namespaces[a.Value]; to != "" && a.Name != "xmlns:"+to {
			return true
		}
	}
	return false
}

// scopeOf is which namespace each prefix means in an element.
func scopeOf(e *Element, outer map[string]string) map[string]string {
	scope := map[string]string{}
	for prefix, uri := range outer {
		scope[prefix] = uri
	}
	for _, a := range e.Attrs {
		if a.Name == "xmlns" {
			scope[""] = a.Value
		} else if prefix, ok := strings.CutPrefix(a.Name, "xmlns:"); ok {
			scope[prefix] = a.Value
		}
	}
	return scope
}

// cutPrefix parts a name.
func cutPrefix(name string) (prefix, local string) {
	if prefix, local, ok := strings.Cut(name, ":"); ok {
		return prefix, local
	}
	return "", name
}

// namespaceOf is the namespace of an element in those given; empty when it has none.
func namespaceOf(e *Element, outer ...*Element) string {
	prefix, _ := cutPrefix(e.Name)
	name := "xmlns"
	if prefix != "" {
		name += ":" + prefix
	}
	for _, scope := range append([]*Element{e}, outer...) {
		if uri, ok := scope.lookup(name); ok {
			return uri
		}
	}
	return ""
}
