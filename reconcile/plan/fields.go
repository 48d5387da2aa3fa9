package plan

import (
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// FieldEffect is what a change of a field does to a machine that runs, at best.
type FieldEffect struct {
	// Field is in a template's spec, $1 standing for a device's name; empty for what only domainXML can say.
	Field string
	// XML is the expression that paths of the domain's XML match.
	XML    string
	Effect Effect
	// About is what a person has to know: under what conditions, or what to do instead.
	About string
}

// FieldEffects are the effects of all fields, in the order in which a path looks for its own: the first that matches counts.
// What matches none needs a restart.
func FieldEffects() []FieldEffect {
	list := make([]FieldEffect, 0, len(rows))
	for _, r := range rows {
		list = append(list, FieldEffect{Field: r.spec, XML: r.xml.String(), Effect: r.effect, About: r.about})
	}
	return list
}

// rowOf finds the row of a path. What the table does not name needs a restart, and has no words but libvirt's.
func rowOf(path string) row {
	for _, r := range rows {
		if r.xml.MatchString(path) {
			return r
		}
	}
	return row{effect: EffectRestart}
}

// effectOf is what a change at a path of the XML does to a running machine, as far as the path alone tells.
func effectOf(path string) Effect { return rowOf(path).effect }

// fields says changes of XML in the words of the documents. Several that come from one field become one.
func fields(changes []domxml.Change) []Change {
	if len(changes) == 0 {
		return nil
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(changes, func(c domxml.Change) bool { return strings.HasPrefix(c.Path, prefix) })
	}
	topology, balloon := has("cpu/topology"), has("currentMemory")
	var list []Change
	for _, c := range changes {
		if c.Path == "vcpu" && topology {
			continue // the product of the topology
		}
		change := inWords(c)
		if c.Path == "memory" && balloon {
			change.Path = "domain.memory.guest" // it has no maxGuest of its own
		}
		if !slices.ContainsFunc(list, func(o Change) bool { return o.Path == change.Path }) {
			list = append(list, change)
		}
	}
	return list
}

// inWords is one change of XML in the words of the documents.
func inWords(c domxml.Change) Change {
	change := Change{Path: "domainXML:" + c.Path, From: c.From, To: c.To}
	r := rowOf(c.Path)
	if r.spec == "" {
		return change
	}
	change.Path = r.xml.ReplaceAllString(c.Path, r.spec)
	if r.kib {
		change.From, change.To = kib(strings.TrimSuffix(c.From, " KiB")), kib(strings.TrimSuffix(c.To, " KiB"))
	}
	return change
}
