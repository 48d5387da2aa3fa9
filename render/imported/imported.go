package imported

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Domain is a domain that documents are made of.
type Domain struct {
	// XML is its definition as libvirt has it, inactive and with passwords. It is not changed.
	XML *domxml.Element
	// State and RestartPolicy are what the documents say of its power.
	State         manifest.PowerState
	RestartPolicy manifest.RestartPolicy
}

// Host is where the domain is.
type Host struct {
	// Name is the one that its agent goes by.
	Name string
	// DomainType is the type that a domain has there which says nothing: kvm or qemu.
	DomainType string
	// Emulator is the program that libvirt takes where a domain says none; empty where that is not known.
	Emulator string
	// Capacity is the size of a storage volume in bytes; ok is false where that is not known. It may be nil.
	Capacity func(pool, volume string) (size int64, ok bool)
	// Complete completes the machine of the documents in a text, together with those of the repository.
	Complete func(text []byte) (*render.Instance, []manifest.Problem)
}

// Machine is the documents of a domain.
type Machine struct {
	// Text is a config and a RunState, in YAML.
	Text []byte
	// Instance is what they render to.
	Instance *render.Instance
	// Whole says why libvirt's language says all of it; nil where the template's words say what they can.
	Whole error
	// Kept are what the documents do not say, so that the domain keeps it as it is: passwords, and secrets of the host's.
	Kept []string
	// Left are the disks and interfaces that libvirt's language says, where Whole is nil.
	Left []Left
}

// Left is a device that the template's words do not say.
type Left struct {
	// Kind is disk or interface, and Name what libvirt calls it: a target, or a MAC address.
	Kind, Name string
	// Why is the reason.
	Why string
}

// DifferenceError says in what documents would change a domain.
type DifferenceError struct{ Changes []domxml.Change }

func (e *DifferenceError) Error() string {
	var b strings.Builder
	for n, c := range e.Changes {
		if n > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "<%s> would change from %q to %q", c.Path, c.From, c.To)
	}
	return b.String()
}

// labelForm is the names that documents can have.
var labelForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CanName says whether a machine can have a domain's name.
func CanName(name string) bool { return labelForm.MatchString(name) }

// most is how often a part is taken back at most: each time it is another one.
const most = 200

// Make writes the documents of a domain. What they render to has no difference to it: where the template's words would make
// one, libvirt's own are used, for as little as can be, and for all of it in the end. An error says what differs even then,
// or that the domain cannot be said in documents at all.
func Make(d Domain, h Host) (Machine, error) {
	name := d.XML.Child("name")
	if d.XML.Name != "domain" || name == nil {
		return Machine{}, fmt.Errorf("cannot read it: it is no <domain> with a name")
	}
	if !CanName(name.Text) {
		return Machine{}, fmt.Errorf("%q is no name for a machine: letters a to z, digits and hyphens make one, at most 63", name.Text)
	}
	have, kept := cleaned(d.XML, h)
	m, err := structured(d, lean(have), h)
	if err != nil {
		m, err = structured(d, have, h)
	}
	if why := err; why != nil {
		m, err = whole(d, have, h)
		m.Whole = why
	}
	m.Kept = kept
	return m, err
}

// structured says what it can in the template's words.
func structured(d Domain, have *domxml.Element, h Host) (Machine, error) {
	taken := map[string]string{} // parts that libvirt's language has to say, and why
	for range most {
		s := newSketch(d.XML.Child("name").Text, have, h, taken)
		tree := s.tree()
		if _, said := s.domain["memory"]; !said {
			tree["domainXML"] = indented(sizeOf(s.have)) // without it there is no machine
		}
		text := write(d, h, tree)
		i, problems := h.Complete(text)
		if i == nil {
			if !s.blame(problems) {
				return Machine{}, fmt.Errorf("cannot say it: %s", problems[0])
			}
			continue
		}
		if s.blameChanges(contradictions(i.Domain, s.have)) {
			continue
		}
		said := i.Domain.Clone()
		if tree["domainXML"] != nil {
			said.Remove(said.Child("memory"))
		}
		if rest := domxml.Rest(s.have, said); rest != nil {
			tree["domainXML"] = indented(rest)
		}
		text = write(d, h, tree)
		if i, problems = h.Complete(text); i == nil {
			return Machine{}, fmt.Errorf("cannot say it: %s", problems[0])
		}
		err := verify(i.Domain, have, d.XML)
		if wrong := (*DifferenceError)(nil); errors.As(err, &wrong) && s.blameChanges(wrong.Changes) {
			continue
		}
		return Machine{Text: text, Instance: i, Left: s.unsaid}, err
	}
	return Machine{}, fmt.Errorf("cannot say it in fewer than %d steps", most)
}

// sizeOf is a domain that says nothing but its memory.
func sizeOf(have *domxml.Element) *domxml.Element {
	e := domxml.New("domain")
	if memory := have.Child("memory"); memory != nil {
		e.Append(memory.Clone())
	}
	return e
}

// whole says it in libvirt's language alone.
func whole(d Domain, have *domxml.Element, h Host) (Machine, error) {
	tree := manifest.Tree{"domainXML": indented(have)}
	text := write(d, h, tree)
	i, problems := h.Complete(text)
	if i == nil {
		return Machine{}, fmt.Errorf("cannot say it in a document: %s", problems[0])
	}
	return Machine{Text: text, Instance: i}, verify(i.Domain, have, d.XML)
}

// verify says in what the domain would change, or what of it would be left unsaid.
func verify(want, have, all *domxml.Element) error {
	nameless := domxml.Unname(want, domxml.Unnamed(want, all))
	if changes := domxml.Compare(nameless, all, nil); len(changes) > 0 {
		return &DifferenceError{changes}
	}
	if changes := unsaid(nameless, have); len(changes) > 0 {
		return &DifferenceError{changes}
	}
	return nil
}

// unsaid is what of the domain the documents do not say.
func unsaid(want, have *domxml.Element) []domxml.Change {
	said := want.Clone()
	for _, c := range []string{"name", "uuid"} {
		if e := said.Child(c); e != nil {
			said.Remove(e)
		}
	}
	bare := have.Clone()
	for _, c := range []string{"name", "uuid"} {
		if e := bare.Child(c); e != nil {
			bare.Remove(e)
		}
	}
	return domxml.Compare(bare, said, nil)
}

// contradictions are what the rendered domain has and the domain has not, or otherwise, where nothing said beside it can
// take it back: libvirt's language can say another value of an attribute, and no absence.
func contradictions(want, have *domxml.Element) []domxml.Change {
	changes := domxml.Compare(want, have, nil)
	return slices.DeleteFunc(changes, func(c domxml.Change) bool {
		switch {
		case c.Path == "uuid" || c.Path == "name":
			return true
		}
		return c.From != "" && c.From != "absent" && overridden.MatchString(c.Path)
	})
}

// overridden are the paths of values that libvirt's language says where the template has another word, or none for them.
var overridden = regexp.MustCompile(`^(@type|os/type.*|devices/disk\[.*\]/(driver@type|driver@cache|driver@io|target@bus)|devices/interface\[.*\]/model@type|devices/controller.*@model)$`)
