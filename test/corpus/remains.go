package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// top is how many lines of a table are printed.
const top = 20

// particular are the names and values in a reason.
var particular = regexp.MustCompile(`"[^"]*"|\[[^]]*\]|volume [a-z0-9-]+ is`)

// remain finds out what of an input domainXML says.
func (i *importing) remain() {
	for _, l := range i.machine.Left {
		i.reasons = append(i.reasons, l.Kind+": "+particular.ReplaceAllString(l.Why, "…"))
	}
	text := i.machine.Instance.Spec.DomainXML
	if text == "" {
		return
	}
	i.domainXML = true
	e, err := domxml.Parse(text)
	if err != nil {
		return // it has been rendered, so that there is none
	}
	for _, part := range e.Children {
		if part.Name != "devices" {
			i.remains = append(i.remains, part.Name)
			continue
		}
		for _, d := range part.Children {
			if !isPlace(d) {
				i.remains = append(i.remains, "devices/"+d.Name)
			}
		}
	}
	slices.Sort(i.remains)
	i.remains = slices.Compact(i.remains)
}

// again makes a domain of the documents where there is none, and compares it with the one that was imported.
func (i *importing) again(ctx context.Context, d *daemon) error {
	created, _ := domxml.Create(i.machine.Instance.Domain)
	now, err := d.define(ctx, created, i.way.checked())
	if err != nil {
		why := particular.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "…")
		i.anew = []string{"refused: " + why[:min(len(why), 60)]}
		return ctx.Err()
	}
	for _, pair := range [][2]*domxml.Element{{i.have, now}, {now, i.have}} {
		a, b := pair[0], pair[1]
		for _, c := range domxml.Compare(domxml.Unname(a, domxml.Unnamed(a, b)), b, nil) {
			i.anew = append(i.anew, particular.ReplaceAllString(c.Path, ""))
		}
	}
	slices.Sort(i.anew)
	i.anew = slices.Compact(i.anew)
	return d.clear(ctx)
}

// isPlace says whether a part of a domain says no more than where in the guest a device is: which controllers there are, and
// at which addresses and under which targets' names devices are.
func isPlace(d *domxml.Element) bool {
	if d.Name == "controller" {
		return true
	}
	said := false // whether a device is said to be there
	for _, c := range d.Children {
		switch {
		case c.Name == "alias" || c.Name == "address":
		case c.Name == "target" && d.Name == "disk" && len(c.Attrs) == 1 && c.Attr("dev") != "":
		default:
			said = true
		}
	}
	return !said && (len(d.Attrs) == 0 || d.Name == "memballoon" && len(d.Attrs) == 1 && d.Attr("model") == "virtio") // the one that every machine has
}

// reportRemains prints what is not in the template's words, and why.
func reportRemains(out io.Writer, all []importing) {
	reasons, remains, anew := map[string]int{}, map[string]int{}, map[string]int{}
	accepted, none, places, alike := 0, 0, 0, 0
	for _, i := range all {
		if i.failed != nil || !i.way.accepted() {
			continue
		}
		accepted++
		if !i.domainXML {
			none++
		}
		if len(i.remains) == 0 {
			places++
		}
		if len(i.anew) == 0 {
			alike++
		}
		for _, a := range i.anew {
			anew[a]++
		}
		for _, r := range i.reasons {
			reasons[r]++
		}
		for _, r := range i.remains {
			remains[r]++
		}
	}
	fmt.Fprintf(out, "machines without domainXML\t%d of %d\t%.2f%%\n", none, accepted, share100(none, accepted))
	fmt.Fprintf(out, "  with nothing in it but controllers, addresses and target names, or without it\t%d of %d\t%.2f%%\n", places, accepted, share100(places, accepted))
	fmt.Fprintf(out, "made of the documents alone, the same again\t%d of %d\t%.2f%%\n", alike, accepted, share100(alike, accepted))
	table(out, "machines, by what is another thing then", anew)
	table(out, "disks and interfaces in libvirt's language, by reason", reasons)
	table(out, "machines, by what their domainXML says beside controllers, addresses and target names", remains)
}

// table prints what there is most of.
func table(out io.Writer, title string, counts map[string]int) {
	fmt.Fprintf(out, "%s\n", title)
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	others := 0
	for n, key := range keys {
		if n < top {
			fmt.Fprintf(out, "  %s\t%d\n", key, counts[key])
		} else {
			others += counts[key]
		}
	}
	if others > 0 {
		fmt.Fprintf(out, "  others\t%d\n", others)
	}
}
