package manifest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

func (c *Config) check(ch *checker) {
	ch.meta("metadata", c.Metadata, true)
	ch.meta("spec.template.metadata", c.Spec.Template.Metadata, false)
	if c.Spec.Flavour != "" {
		ch.label("spec.flavour", c.Spec.Flavour)
	}
	first := map[string]int{}
	for i, p := range c.Spec.Presets {
		at := fmt.Sprintf("spec.presets[%d]", i)
		ch.label(at, p)
		if j, ok := first[p]; ok {
			ch.add(at, fmt.Sprintf("duplicate preset %s; presets[%d] is it too", quoted(p), j))
		}
		first[p] = i
	}
	// What a flavour or a preset may supply can only be missed once all are merged.
	labelled := len(c.Metadata.Labels)+len(c.Spec.Template.Metadata.Labels) > 0
	ch.spec("spec.template.spec", c.Spec.Template.Spec.Tree(), c.Spec.Flavour != "" || len(c.Spec.Presets) > 0 || labelled)
}

func (f *Flavour) check(ch *checker) {
	ch.meta("metadata", f.Metadata, true)
	ch.spec("spec", f.Spec, true)
}

func (r *RunState) check(ch *checker) {
	ch.meta("metadata", r.Metadata, true)
	if r.Spec.Config != "" {
		ch.label("spec.config", r.Spec.Config)
	}
	ch.commit("spec.revision", r.Spec.Revision)
	switch {
	case r.Spec.Placement != nil && r.Spec.Host != "":
		ch.add("spec.placement", "cannot be said together with host; take one out")
	case r.Spec.Placement != nil && r.Spec.Placement.HostSelector == nil:
		ch.add("spec.placement.hostSelector", "is missing; say which hosts it may be on")
	case r.Spec.Placement != nil:
		ch.selector("spec.placement.hostSelector", r.Spec.Placement.HostSelector)
	default:
		ch.hostName("spec.host", r.Spec.Host)
	}
	if r.Spec.Attach != nil {
		ch.attach("spec.attach", r.Spec.Attach)
	}
}

// attach checks temporary devices as those of a partial spec.
func (c *checker) attach(at string, a *Attach) {
	spec := &InstanceSpec{Networks: a.Networks, Volumes: a.Volumes}
	spec.Domain.Devices.Disks, spec.Domain.Devices.Interfaces = a.Disks, a.Interfaces
	sc := specChecker{partial: true}
	sc.check(spec)
	for i, v := range a.Volumes {
		if v.Ignition != nil {
			sc.add(fmt.Sprintf("volumes[%d].ignition", i), "is read when a machine boots for the first time; say it in the config")
		}
	}
	field := func(f string) string { return joinField(at, strings.TrimPrefix(f, "domain.devices.")) }
	for _, p := range sc.problems {
		c.add(field(p.Field), p.Message)
	}
	for _, p := range sc.warnings {
		c.warn(field(p.Field), p.Message)
	}
}

// spec checks a tree that stands at a path of its document.
func (c *checker) spec(at string, tree Tree, partial bool) {
	spec, problems := Decode(tree)
	sc := specChecker{partial: partial}
	sc.check(spec)
	if spec.DomainXML != "" && spec.DomainXMLFrom != "" {
		sc.add("domainXMLFrom", "cannot be said together with domainXML; take one out")
	}
	for _, p := range append(problems, sc.problems...) {
		c.add(joinField(at, p.Field), p.Message)
	}
	for _, p := range sc.warnings {
		c.warn(joinField(at, p.Field), p.Message)
	}
}

// Validate checks a completed spec: what a config, its flavour and the defaults say together. The fields are relative
// to the spec.
func Validate(spec *InstanceSpec) []FieldProblem {
	c := specChecker{}
	c.check(spec)
	c.references(spec)
	return c.problems
}

// repositoryPath makes a path that is relative to a document's folder relative to the repository; fault says why it
// cannot be.
func repositoryPath(document, name string) (joined, fault string) {
	switch {
	case path.IsAbs(name):
		return "", "is an absolute path; say it relative to this document's folder"
	case strings.ContainsAny(name, "\\\x00"):
		return "", "is not a path; write folders with \"/\""
	}
	joined = path.Join(path.Dir(document), name)
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return "", "leads out of the repository"
	}
	if joined == "." || strings.HasSuffix(name, "/") {
		return "", "is a folder; say a file"
	}
	return joined, ""
}

// hostPath checks a path on the host. It must be in its shortest form, because what an agent allows is compared with it.
func (c *checker) hostPath(field, p string) {
	switch {
	case p == "":
		c.add(field, "is missing; say the file's path on the host")
	case !path.IsAbs(p):
		c.add(field, quoted(p)+" is not an absolute path")
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' }):
		c.add(field, quoted(p)+" has control characters")
	case path.Clean(p) != p:
		c.add(field, quoted(p)+" is not the shortest form; write "+quoted(path.Clean(p)))
	}
}

// size checks a number of bytes.
func (c *checker) size(field string, q *Quantity) {
	if q == nil {
		return
	}
	if fault := sizeFault(*q); fault != "" {
		c.add(field, fault)
	}
}

// oneOf checks that one source is set, or at most one where others may supply it.
func (c *checker) oneOf(field string, set, all []string, optional bool) {
	switch {
	case len(set) == 0 && !optional:
		c.add(field, "says nothing to take it from; say one of "+strings.Join(all, ", "))
	case len(set) > 1:
		c.add(field, fmt.Sprintf("says %s; take out all but one", strings.Join(set, " and ")))
	}
}

// seen remembers the values of a list, to find those that are there twice.
type seen map[string]int

// again reports a value that an earlier item has.
func (s seen) again(c *checker, list, field, value, what string, i int) {
	if value == "" {
		return
	}
	if first, ok := s[value]; ok {
		c.add(fmt.Sprintf("%s[%d].%s", list, i, field), fmt.Sprintf("duplicate %s %s; %s[%d] has it too",
			what, quoted(value), list, first))
		return
	}
	s[value] = i
}

var (
	uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	macForm  = regexp.MustCompile(`^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$`)
	// serialForm is what libvirt's QEMU driver takes for the serial number of a disk.
	serialForm = regexp.MustCompile(`^[A-Za-z0-9_ .+-]*$`)
)
