package plan

import (
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// immutable blocks a UUID which the documents state and which is not the machine's: guests, and what is licensed to them,
// know a machine by it.
func (a *Assessment) immutable() {
	if i, d := a.Instance, a.Domain; i.UUIDSaid && !strings.EqualFold(i.UUID, d.UUID) {
		a.cannot([]Change{{Path: rowOf("uuid").spec, From: d.UUID, To: i.UUID}})
	}
}

// keepMachine leaves a machine what it is where it would become another kind of machine: from q35 to pc every device would
// be elsewhere, and another architecture runs nothing of what is on its disks. It returns what it did not take over.
func keepMachine(want, have *domxml.Element) []Change {
	var kept []Change
	w, h := want.Child("os/type"), have.Child("os/type")
	for _, attr := range []string{"machine", "arch"} {
		said, is := w.Attr(attr), h.Attr(attr)
		if said == "" || is == "" || family(said) == family(is) {
			continue
		}
		kept = append(kept, Change{Path: rowOf("os/type@" + attr).spec, From: is, To: said})
		w.RemoveAttr(attr)
	}
	return kept
}

// cannot blocks changes that a machine which is there can never have.
func (a *Assessment) cannot(changes []Change) {
	for _, c := range changes {
		about := ""
		for _, r := range rows {
			if r.spec == c.Path {
				about = r.about
			}
		}
		a.block("Immutable", fmt.Sprintf("%s cannot change from %s to %s: %s", c.Path, c.From, c.To, about), c)
	}
}

// family is the part of a machine type that is no version: pc-q35 of pc-q35-7.2 and of pc-q35-rhel9.2.0.
func family(machine string) string {
	switch {
	case machine == "q35", strings.HasPrefix(machine, "pc-q35"):
		return "pc-q35"
	case machine == "pc", strings.HasPrefix(machine, "pc-i440fx"):
		return "pc-i440fx"
	case strings.HasPrefix(machine, "virt-"):
		return "virt"
	}
	return machine
}
