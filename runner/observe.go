package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/errgroup"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const (
	// readers is how many domains are read at once. On two cores eight take 0.45 of the time of one.
	readers = 8
	// maxReads is how many calls that ask are on their way at once, those of steps included.
	maxReads           = 16
	readsPerConnection = 4
	// maxLateReads is how many reads may be without an answer before libvirt as a whole counts as stuck. Each holds
	// one of its workers.
	maxLateReads = 8
)

// Observe returns what there is on the host: all domains, ours and others', sorted by name.
//
// It asks for the list of domains each time, and for the XML of each unless libvirt's files and events say that the
// domain is as it was. One about which there is no answer in time is Stuck, and the others are complete.
// Observations run one after another.
func (r *Runner) Observe(ctx context.Context) (plan.World, error) {
	select {
	case r.observing <- struct{}{}:
		defer func() { <-r.observing }()
	case <-ctx.Done():
		return plan.World{}, fmt.Errorf("cannot observe libvirt: %w", context.Cause(ctx))
	}
	world, err := r.observe(ctx)
	if err != nil {
		return plan.World{}, fmt.Errorf("cannot observe libvirt: %w", err)
	}
	return world, nil
}

func (r *Runner) observe(ctx context.Context) (plan.World, error) {
	// The order matters: what happens after a look is seen by the next one, never missed.
	now := observation{
		r: r, heard: r.cache.hear(), layout: r.endpoint.lookAround(), full: r.cache.full,
	}
	if time.Since(now.full) >= r.opts.RereadInterval {
		now.heard.listening, now.full = 0, time.Now()
	}
	if err := now.list(ctx); err != nil {
		return plan.World{}, err
	}
	if err := now.read(ctx); err != nil {
		return plan.World{}, err
	}
	return now.keep(), nil
}

// observation is one observation while it is made.
type observation struct {
	r      *Runner
	heard  heard
	layout layout
	full   time.Time

	domains                       []libvirt.Domain
	secrets                       []plan.LibvirtSecret
	autostart, transient, managed map[libvirt.UUID]bool
	entries                       []*entry // as domains; nil for one that went away meanwhile
}

// list asks for all domains, and which of them are marked for what.
func (o *observation) list(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		o.domains, err = o.ask(ctx, 0)
		return err
	})
	if c := o.r.cache; o.mayHold() && c.layout.autostart.same(o.layout.autostart) {
		o.autostart = c.autostart
	} else {
		group.Go(func() (err error) {
			o.autostart, err = o.set(ctx, libvirt.ConnectListDomainsAutostart)
			return err
		})
	}
	if o.mayHold() && !o.unmoved() {
		group.Go(func() error { // while libvirt makes the list
			o.lookAtFiles()
			return nil
		})
	}
	group.Go(func() (err error) {
		o.secrets, err = o.r.secrets(ctx)
		return err
	})
	group.Go(func() (err error) {
		o.transient, err = o.set(ctx, libvirt.ConnectListDomainsTransient)
		return err
	})
	group.Go(func() (err error) {
		o.managed, err = o.set(ctx, libvirt.ConnectListDomainsManagedsave)
		return err
	})
	return group.Wait()
}

func (o *observation) ask(ctx context.Context, flags libvirt.ConnectListAllDomainsFlags) ([]libvirt.Domain, error) {
	return read(ctx, o.r, func(lv *libvirt.Libvirt) ([]libvirt.Domain, error) {
		domains, _, err := lv.ConnectListAllDomains(1, flags) // with 0 it returns their number only
		return domains, err
	})
}

func (o *observation) set(ctx context.Context, flags libvirt.ConnectListAllDomainsFlags) (map[libvirt.UUID]bool, error) {
	domains, err := o.ask(ctx, flags)
	set := make(map[libvirt.UUID]bool, len(domains))
	for _, d := range domains {
		set[d.UUID] = true
	}
	return set, err
}

// read fills the entries, from the cache where it holds and from libvirt where it does not.
func (o *observation) read(ctx context.Context) error {
	slices.SortFunc(o.domains, func(a, b libvirt.Domain) int { return cmp.Compare(a.Name, b.Name) })
	o.entries = make([]*entry, len(o.domains))
	var unread []int
	for i, d := range o.domains {
		if o.entries[i] = o.cached(d); o.entries[i] == nil {
			unread = append(unread, i)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(readers, len(unread)) {
		group.Go(func() error {
			for n := next.Add(1); n <= int64(len(unread)); n = next.Add(1) {
				i := unread[n-1]
				entry, err := o.readDomain(ctx, o.domains[i])
				if err != nil {
					return err
				}
				o.entries[i] = entry
			}
			return nil
		})
	}
	return group.Wait()
}

// mayHold says whether anything that is cached can hold: all events came since the last observation, and libvirt's
// folders are known.
func (o *observation) mayHold() bool {
	return o.heard.listening > 0 && o.layout.known && o.r.cache.layout.known
}

// unmoved says that no file of libvirt's has changed since the last observation.
func (o *observation) unmoved() bool { return o.r.cache.layout.same(o.layout) }

// lookAtFiles notes of each cached domain whether its files are as they were.
func (o *observation) lookAtFiles() {
	for _, e := range o.r.cache.domains {
		e.moved = !e.files.same(o.r.endpoint.lookAt(e.domain.Name, e.domain.Persistent, e.domain.Active()))
	}
}

// cached returns what is known of a domain if that still holds.
func (o *observation) cached(d libvirt.Domain) *entry {
	e := o.r.cache.domains[d.UUID]
	if e == nil || !o.mayHold() || !o.heard.holds(e) || e.moved || !e.files.known || e.domain.Stuck || e.domain.Job != "" ||
		e.domain.Name != d.Name || e.domain.ID != d.ID || e.domain.Persistent == o.transient[d.UUID] ||
		o.r.suspects.has(e.domain.UUID) {
		return nil
	}
	return e
}

// keep remembers what was read, forgets what is gone, and makes the world of it.
func (o *observation) keep() plan.World {
	c := o.r.cache
	world := plan.World{Domains: make([]plan.Domain, 0, len(o.entries)), Secrets: o.secrets}
	domains := make(map[libvirt.UUID]*entry, len(o.entries))
	for _, e := range o.entries {
		if e == nil {
			continue
		}
		e.domain.Autostart, e.domain.ManagedSave = o.autostart[e.uuid], o.managed[e.uuid]
		domains[e.uuid] = e
		world.Domains = append(world.Domains, e.domain)
	}
	c.domains, c.layout, c.autostart, c.full = domains, o.layout, o.autostart, o.full
	return world
}
