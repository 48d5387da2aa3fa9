package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/plan/adoption"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// importing is what became of the import of an input.
type importing struct {
	result
	machine imported.Machine
	// devices are its disks and interfaces, and said those that come in the template's words.
	devices, said int
	// reasons say why its other devices do not, and remains are the parts of a domain that its domainXML says, if it has any.
	reasons, remains []string
	domainXML        bool
	// anew are the paths at which a domain that is made of the documents alone differs.
	anew []string
	// changed is what else than the record becomes another when it is adopted.
	changed []string
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
			if i.failed == nil {
				i.count()
				i.remain()
				i.changed, i.failed = d.adopt(ctx, r.have)
			}
			if err := d.clear(ctx); err != nil {
				return nil, err
			}
			if i.failed == nil {
				if err := i.again(ctx, d); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, i)
	}
	return all, nil
}

// count counts devices.
func (i *importing) count() {
	for _, d := range i.have.Child("devices").Children {
		if d.Name == "disk" || d.Name == "interface" {
			i.devices++
		}
	}
	spec := &i.machine.Instance.Spec.Domain.Devices
	i.said = len(spec.Disks) + len(spec.Interfaces)
}

// adopt gives a domain a record as the agent does, and says what else of its definition changes.
func (d *daemon) adopt(ctx context.Context, have *domxml.Element) ([]string, error) {
	var text string
	err := d.call(ctx, func() error {
		domain, err := d.client.DomainLookupByName("machine")
		if err != nil {
			return err
		}
		if err := d.client.DomainSetMetadata(domain, int32(libvirt.DomainMetadataElement), libvirt.OptString{"<domain><run number='1'/></domain>"},
			libvirt.OptString{metadata.Prefix}, libvirt.OptString{metadata.Namespace}, libvirt.DomainAffectConfig); err != nil {
			return err
		}
		text, err = d.client.DomainGetXMLDesc(domain, libvirt.DomainXMLInactive|libvirt.DomainXMLSecure)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot give it a record: %w", err)
	}
	now, err := domxml.Parse(text)
	if err != nil {
		return nil, err
	}
	all := now.Child("metadata")
	all.Remove(all.Child(metadata.Prefix + ":domain"))
	if len(all.Children) == 0 && have.Child("metadata") == nil {
		now.Remove(all)
	}
	if now.String() == have.String() {
		return nil, nil
	}
	var changed []string
	for _, c := range append(domxml.Compare(have, now, nil), domxml.Compare(now, have, nil)...) {
		changed = append(changed, c.Path)
	}
	return append(changed, "bytes"), nil
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
	accepted, exact, whole, same, devices, said := 0, 0, 0, 0, 0, 0
	for _, i := range all {
		if !i.way.accepted() {
			continue
		}
		accepted++
		devices, said = devices+i.devices, said+i.said
		if i.failed == nil && len(i.changed) == 0 {
			same++
		} else if i.failed == nil {
			fmt.Fprintf(out, "%s: changed when it is adopted: %s\n", i.path, strings.Join(i.changed, ", "))
		}
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
	fmt.Fprintf(t, "disks and interfaces in the template's words\t%d of %d\t%.2f%%\n", said, devices, share100(said, devices))
	fmt.Fprintf(t, "the same bytes with a record\t%d of %d\t%.2f%%\n", same, accepted, share100(same, accepted))
	reportRemains(t, all)
	// Writing to the report's own destination: what fails there shows there.
	_ = t.Flush()
	return share >= o.minExact && same == exact
}
