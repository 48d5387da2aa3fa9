package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Resolver knows the host's files, which this package does not look at.
type Resolver interface {
	// Resolve is the file that an absolute path leads to, through symbolic links, and through those of its parents when it
	// is not there itself.
	Resolve(path string) (string, error)
}

// Finding is what a policy says of one instance.
type Finding struct {
	// Refusals are sorted; none means that the machine may be as it is declared.
	Refusals []Refusal
	Size     Size
	// OfHost says that the instance names files of the host: what those lead to may change at any time.
	OfHost bool
}

// most is how many refusals of one machine are said.
const most = 20

// The rules that no row of the table names.
const (
	ruleImage     = "image"
	ruleProbe     = "probe"
	ruleNamespace = "namespace"
	ruleName      = "name"
	ruleRecord    = "record"
)

// Check says what of an instance the policy refuses. It looks at the finished domain, at the volumes that are made for it,
// and at its temporary devices.
func Check(p Policy, i *render.Instance, files Resolver) Finding {
	c := &checker{policy: p, instance: i, files: files, size: sizeOf(i)}
	c.volumes(i.Volumes, "volumes", 0)
	c.volumes(i.TemporaryVolumes, "attach.volumes", 0)
	c.element(i.Domain, "", nil)
	for _, t := range i.Temporary {
		c.device = t
		c.element(t, "devices/"+t.Name, nil)
	}
	c.device = nil
	c.ceilings()
	c.probes()
	slices.SortStableFunc(c.found, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Value, b.Value))
	})
	c.found = slices.CompactFunc(c.found, func(a, b Refusal) bool { return a.Rule == b.Rule && a.Value == b.Value && a.Field == b.Field })
	c.found = c.found[:min(len(c.found), most)]
	return Finding{Refusals: c.found, Size: c.size, OfHost: c.ofHost}
}

// checker collects what is refused of an instance.
type checker struct {
	policy   Policy
	instance *render.Instance
	files    Resolver
	size     Size
	device   *domxml.Element // that is looked at; nil outside of devices
	found    []Refusal
	ofHost   bool
}

// namespaces are those that libvirt reads; a document may give them any prefix.
var namespaces = map[string]string{"http://libvirt.org/schemas/domain/qemu/1.0": "qemu"}

// element checks an element and all below it. Prefixes are those in force around it.
func (c *checker) element(e *domxml.Element, path string, prefixes map[string]string) {
	prefixes = declared(e, prefixes)
	r, known := rowOf(cmp.Or(path, "."))
	switch {
	case r.free:
		c.records(e)
		return
	case !known:
		c.refuse(ruleElement, path, e, "", fmt.Sprintf("<%s> is not known to stay within the guest", e.Name))
		c.strayed(e, path)
		return
	case r.refused != "":
		c.refuse(r.refused, path, e, "", fmt.Sprintf("<%s> reaches out of the guest", e.Name))
		c.strayed(e, path)
		return
	}
	c.judge(r.check, use{path: path, of: e})
	for _, a := range e.Attrs {
		c.attribute(r, e, path, a)
	}
	c.word(r.text, use{path: path, of: e, value: e.Text})
	for n, child := range e.Children {
		if path == "devices" {
			c.device = child
		}
		c.element(child, below(path, canonical(child, prefixes)), prefixes)
		alone := path == "" && child.Name != "sysinfo" || strings.HasPrefix(path, "devices/") && single[child.Name]
		if alone && slices.ContainsFunc(e.Children[:n], func(o *domxml.Element) bool { return o.Name == child.Name }) {
			c.refuse(ruleElement, below(path, child.Name), child, "", fmt.Sprintf("<%s> stands twice in <%s>", child.Name, e.Name))
		}
		if path == "devices" {
			c.device = nil
		}
	}
}

// records refuses what looks like gitvirt's own record of a domain, by which it knows what it may delete.
func (c *checker) records(e *domxml.Element) {
	own := strings.HasPrefix(e.Name, metadata.Prefix+":")
	for _, a := range e.Attrs {
		own = own || a.Value == metadata.Namespace
	}
	if own {
		c.add(ruleRecord, "metadata", e, e.Name, fmt.Sprintf("<%s> in <metadata> is of the namespace of gitvirt's own record: leave it out; nothing allows it", e.Name))
	}
	for _, child := range e.Children {
		c.records(child)
	}
}

// single are the children of a device that are judged together, so that there may be only one of each.
var single = map[string]bool{"source": true, "driver": true, "format": true, "backingStore": true}

func (c *checker) attribute(r row, e *domxml.Element, path string, a domxml.Attr) {
	at := use{path: path, attr: a.Name, of: e, value: a.Value}
	known, ok := r.attrs[a.Name]
	switch {
	case strings.HasPrefix(a.Name, "xmlns:") && path == "" && a.Value != "":
	case a.Name == "xmlns" || strings.HasPrefix(a.Name, "xmlns:"):
		c.refuse(ruleNamespace, at.at(), e, a.Value, "an XML namespace can be declared at <domain> only, with a prefix")
	case !ok:
		c.refuse(ruleElement, at.at(), e, a.Value, fmt.Sprintf("%s=%s in <%s> is not known to stay within the guest", a.Name, limit(a.Value), e.Name))
	default:
		c.word(known, at)
	}
}

// word checks the value of an attribute, or a text.
func (c *checker) word(w word, at use) {
	if w.values != nil && !slices.Contains(w.values, at.value) {
		c.refuse(w.rule, at.at(), at.of, at.value, fmt.Sprintf("%s reaches out of the guest, or is not known not to: say %s", at, strings.Join(w.values, " or ")))
	}
	c.judge(w.check, at)
}

// use is one thing that is said: an attribute, or an element's text when attr is empty.
type use struct {
	path, attr string
	of         *domxml.Element
	value      string
}

// at is its path, as the agent's file names it.
func (u use) at() string {
	if u.attr == "" {
		return u.path
	}
	return u.path + "@" + u.attr
}

// String is what a message calls it.
func (u use) String() string {
	if u.attr == "" {
		return fmt.Sprintf("<%s>%s", u.of.Name, limit(u.value))
	}
	return fmt.Sprintf("<%s %s=%s>", u.of.Name, u.attr, limit(u.value))
}

// below is the path of a child. A chain of backing stores counts once.
func below(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "backingStore" && strings.HasSuffix(path, "/backingStore"):
		return path
	}
	return path + "/" + name
}

// canonical is the name of an element with the prefix by which its namespace is known, whatever prefix the document gave it.
func canonical(e *domxml.Element, prefixes map[string]string) string {
	prefix, local, ok := strings.Cut(e.Name, ":")
	if !ok {
		return e.Name
	}
	if known, ok := declared(e, prefixes)[prefix]; ok {
		return known + ":" + local
	}
	return e.Name
}

// declared adds the namespaces that an element declares.
func declared(e *domxml.Element, around map[string]string) map[string]string {
	in := around
	for _, a := range e.Attrs {
		prefix, ok := strings.CutPrefix(a.Name, "xmlns:")
		if !ok || namespaces[a.Value] == "" {
			continue
		}
		more := map[string]string{prefix: namespaces[a.Value]}
		for k, v := range in {
			if k != prefix {
				more[k] = v
			}
		}
		in = more
	}
	return in
}

// refuse refuses an element or attribute, unless the agent's file lists it.
func (c *checker) refuse(rule, path string, e *domxml.Element, value, why string) {
	if c.listed(path, value) {
		return
	}
	path = cmp.Or(path, "domain")
	entry := path
	if value != "" && strings.Contains(path, "@") {
		entry += "=" + value
	}
	c.add(rule, path, e, value, fmt.Sprintf("%s; to allow it, put %s into policy.domainXML.allow of the agent's file", why, limit(entry)))
}

// listed says whether the agent's file allows a path.
func (c *checker) listed(path, value string) bool {
	return slices.ContainsFunc(c.policy.Elements, func(entry string) bool {
		return entry == "*" || entry == path || entry == path+"="+value ||
			strings.HasPrefix(path, entry+"/") || strings.HasPrefix(path, entry+"@")
	})
}

// add adds a refusal that only another key of the agent's file can lift.
func (c *checker) add(rule, path string, e *domxml.Element, value, message string) {
	if len(c.found) > 10*most {
		return
	}
	c.found = append(c.found, Refusal{Rule: rule, Path: path, Field: c.fieldOf(e), Value: value, Message: message})
}
