package main

import (
	"context"
	"errors"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// way is how an input got into libvirtd.
type way string

const (
	validated   way = "validated"   // as it stands, and libvirtd checked it against its schema
	unvalidated way = "unvalidated" // as it stands, without that
	adapted     way = "adapted"     // for QEMU and x86_64, checked
	loosened    way = "loosened"    // for QEMU and x86_64, not checked
	refused     way = "refused"
	deadly      way = "deadly" // libvirtd died of it
)

// result is what became of an input.
type result struct {
	document
	way way
	why string // of a refusal
	// want is what was declared, have what libvirtd keeps.
	want, have *domxml.Element
	// wrong are differences where there are none, lost is what libvirtd dropped of an input that it did not check.
	wrong, lost []string
	mutations   []outcome
}

// lab tries inputs.
type lab struct {
	daemon *daemon
	asIs   bool
}

// enter defines an input in the first way that libvirtd accepts.
func (l *lab) enter(ctx context.Context, d document) (result, error) {
	r := result{document: d, way: refused}
	ways := []way{validated, adapted, unvalidated, loosened}
	if l.asIs {
		ways = []way{validated, unvalidated}
	}
	for _, w := range ways {
		want := d.tree.Clone()
		if w == adapted || w == loosened {
			want = adapt(d.tree)
		}
		created, _ := domxml.Create(want)
		have, err := l.daemon.define(ctx, created, w.checked())
		if errors.Is(err, errDied) {
			r.way, r.why = deadly, err.Error()
			return r, nil
		}
		if err == nil {
			r.way, r.want, r.have, r.why = w, want, have, ""
			return r, nil
		}
		if ctx.Err() != nil {
			return r, err
		}
		if r.why == "" || w == adapted {
			r.why = strings.Join(strings.Fields(err.Error()), " ")
		}
	}
	return r, nil
}

func (w way) checked() bool { return w == validated || w == adapted }

func (w way) accepted() bool { return w != refused && w != deadly }

// compare looks for differences where there are none: after the definition, and after the next one.
func (l *lab) compare(ctx context.Context, r *result) error {
	r.sort(domxml.Compare(r.want, r.have, r.want), "")
	next, _, _ := domxml.Redefine(r.have, r.want, r.want, nil, nil)
	again, err := l.daemon.define(ctx, next, r.way.checked())
	if err != nil {
		if _, own := l.daemon.define(ctx, r.have, r.way.checked()); own != nil {
			r.lost = append(r.lost, "libvirtd refuses its own XML: "+strings.Join(strings.Fields(own.Error()), " "))
			return ctx.Err()
		}
		r.wrong = append(r.wrong, "libvirtd refuses what it kept: "+strings.Join(strings.Fields(err.Error()), " "))
		return ctx.Err()
	}
	r.sort(domxml.Compare(r.want, again, r.want), "again ")
	return nil
}

// sort tells what libvirtd dropped from what it keeps in another form.
func (r *result) sort(changes []domxml.Change, prefix string) {
	for _, c := range changes {
		line := prefix + c.Path + ": " + c.From + " -> " + c.To
		if !r.way.checked() && (c.From == "" || c.From == "absent") {
			r.lost = append(r.lost, line)
		} else {
			r.wrong = append(r.wrong, line)
		}
	}
}
