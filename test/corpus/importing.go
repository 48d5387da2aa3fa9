package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/plan/adoption"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/imported"
)

// importing is what became of the import of an input.
type importing struct {
	result
	machine imported.Machine
	// failed says why there are no documents; nil when there are.
	failed error
}

// importAll imports what libvirtd makes of each input that it accepts.
func importAll(ctx context.Context, o options, documents []document) ([]importing, error) {
	d, err := startDaemon(ctx, o.cache)
	if err != nil {
		return nil, err
	}
	defer d.close()
	l := &lab{daemon: d, asIs: o.asIs}
	all := make([]importing, 0, len(documents))
	for _, doc := range documents {
		doc.tree = doc.tree.Clone()
		if name := doc.tree.Child("name"); name != nil {
			name.Text = "machine" // most inputs have a name that no document can have
		}
		r, err := l.enter(ctx, doc)
		if err != nil {
			return nil, err
		}
		i := importing{result: r}
		if r.way.accepted() {
			i.machine, i.failed = importOne(r)
			if err := d.clear(ctx); err != nil {
				return nil, err
			}
		}
		all = append(all, i)
	}
	return all, nil
}

func importOne(r result) (imported.Machine, error) {
	uuid := ""
	if e := r.have.Child("uuid"); e != nil {
		uuid = e.Text
	}
	domain := plan.Domain{
		Name: "machine", UUID: uuid, ID: -1, State: plan.DomainShutoff, Reason: "unknown", Persistent: true,
		Inactive: plan.XML{Packed: plan.Plain(r.have.String()), Hash: "1"},
	}
	return adoption.Import(domain, adoption.Host{Emulator: "/usr/bin/qemu-system-x86_64"}, adoption.Documents{
		Host: "host", Options: render.Options{Fleet: "corpus", DomainType: "qemu"},
	})
}

// reportImports prints the failures and the shares, and says whether as many as asked came through.
func reportImports(out io.Writer, o options, all []importing) bool {
	accepted, exact, whole := 0, 0, 0
	for _, i := range all {
		if !i.way.accepted() {
			continue
		}
		accepted++
		switch {
		case i.failed != nil:
			fmt.Fprintf(out, "%s: not imported: %s\n", i.path, strings.Join(strings.Fields(i.failed.Error()), " "))
		case i.machine.Whole != nil:
			exact++
			whole++
			fmt.Fprintf(out, "%s: imported in libvirt's language alone: %s\n", i.path, i.machine.Whole)
		default:
			exact++
		}
	}
	share := share100(exact, accepted)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\ninputs\t%d\n", len(all))
	fmt.Fprintf(t, "accepted by libvirtd\t%d\n", accepted)
	fmt.Fprintf(t, "imported without a difference\t%d of %d\t%.2f%%\n", exact, accepted, share)
	fmt.Fprintf(t, "  in the template's words\t%d\n", exact-whole)
	fmt.Fprintf(t, "  in libvirt's language alone\t%d\n", whole)
	// Writing to the report's own destination: what fails there shows there.
	_ = t.Flush()
	return share >= o.minExact
}
