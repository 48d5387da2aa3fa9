package runner

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// readTries is how often a domain is read that starts or stops while it is read.
const readTries = 3

// errMoved says that a domain started or stopped while it was read.
var errMoved = errors.New("the domain started or stopped meanwhile")

// readDomain reads one domain. The entry is nil if there is no such domain any more. The error is nil unless libvirt as
// a whole does not answer: trouble with one domain is no trouble of the others.
func (o *observation) readDomain(ctx context.Context, d libvirt.Domain) (*entry, error) {
	known := uuid.UUID(d.UUID).String()
	e := &entry{uuid: d.UUID, read: o.heard.moment, domain: plan.Domain{
		Name: d.Name, UUID: known, ID: d.ID, Persistent: !o.transient[d.UUID],
	}}
	var err error
	for range readTries {
		err = o.readInto(ctx, e, d)
		if !errors.Is(err, errMoved) {
			break
		}
		if d, err = o.lookup(ctx, d.UUID); err != nil {
			break
		}
	}
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, ErrMissing):
		return nil, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, ErrDisconnected):
		return nil, err
	}
	if r := o.r; r.reads.late.Load() >= r.reads.maxLate {
		return nil, err // it is not this domain alone
	}
	o.r.log.Warn("cannot read a domain", "domain", d.Name, "error", err)
	o.r.suspects.add(known)
	e.domain.Stuck, e.domain.State, e.domain.Reason = true, plan.DomainUnknown, ""
	e.domain.Inactive, e.domain.Live = plan.XML{}, plan.XML{}
	return e, nil
}

// readInto reads what there is to know of a domain, passwords too: a domain that is defined again from XML without them
// loses them. The files are looked at first, so that a change during the reading
// shows at the next look.
func (o *observation) readInto(ctx context.Context, e *entry, d libvirt.Domain) error {
	if o.r.calls.unread(e.domain.UUID) {
		return classed{ErrStuck, errors.New("libvirt has not answered an earlier question about it")}
	}
	e.domain.ID = d.ID
	e.files = o.r.endpoint.lookAt(d.Name, e.domain.Persistent, e.domain.Active())
	stuck, err := o.r.stuck(ctx, d, e.domain.UUID)
	if err != nil {
		return err
	}
	e.domain.Stuck = stuck
	var old plan.Domain
	if before := o.r.cache.domains[d.UUID]; before != nil {
		old = before.domain
	}
	e.domain.Live, e.domain.Inactive, e.domain.Job = plan.XML{}, plan.XML{}, ""
	problem := func(err error) {
		o.r.log.Warn("cannot read the record of a domain, so it counts as nobody's", "domain", d.Name, "error", err)
	}
	if e.domain.Active() {
		xml, err := o.xml(ctx, d, libvirt.DomainXMLSecure)
		if err != nil {
			return err
		}
		if !hasID(xml, d.ID) {
			return errMoved
		}
		e.domain.Live = o.r.cache.live.text(o.r.conceal(xml), old.Live, problem)
		if e.domain.Job, err = o.job(ctx, d, xml); err != nil {
			return err
		}
	}
	if e.domain.Persistent {
		xml, err := o.xml(ctx, d, libvirt.DomainXMLInactive|libvirt.DomainXMLSecure)
		if err != nil {
			return err
		}
		e.domain.Inactive = o.r.cache.inactive.text(o.r.conceal(xml), old.Inactive, problem)
	}
	return o.readState(ctx, e, d)
}

// readState asks for the state, and why. Of a domain that is off this only matters if its record says that it was
// started: then the reason tells how it ended. The others' need not be asked.
func (o *observation) readState(ctx context.Context, e *entry, d libvirt.Domain) error {
	record := e.domain.Inactive.Meta
	if !e.domain.Active() && (record == nil || record.Outcome != metadata.OutcomeStarted) {
		e.domain.State, e.domain.Reason = plan.DomainShutoff, ""
		return nil
	}
	type state struct{ state, reason int32 }
	s, err := readOf(ctx, o.r, d.UUID, func(lv *libvirt.Libvirt) (state, error) {
		number, reason, err := lv.DomainGetState(d, 0)
		return state{number, reason}, err
	})
	if err != nil {
		return err
	}
	e.domain.State, e.domain.Reason = nameState(s.state, s.reason)
	// A crashed domain may be one that is kept for inspection, with its QEMU, or one that is off.
	if off := e.domain.State == plan.DomainShutoff; off == e.domain.Active() && e.domain.State != plan.DomainCrashed {
		return errMoved
	}
	return nil
}

// xml reads a domain's XML, without secrets.
func (o *observation) xml(ctx context.Context, d libvirt.Domain, flags libvirt.DomainXMLFlags) (string, error) {
	return readOf(ctx, o.r, d.UUID, func(lv *libvirt.Libvirt) (string, error) { return lv.DomainGetXMLDesc(d, flags) })
}

// readOf asks about one domain. While an answer is late, the domain counts as stuck and is not asked about again.
func readOf[T any](ctx context.Context, r *Runner, id libvirt.UUID, f func(*libvirt.Libvirt) (T, error)) (T, error) {
	var late *pending
	known := uuid.UUID(id).String()
	return call(ctx, r.reads, r.opts.Deadlines.Read, watcher{
		late: func() { late = r.calls.begin(known, opRead, true) },
		ended: func(bool) {
			if late != nil {
				r.calls.end(known, late)
				r.wakeUp()
			}
		},
	}, f)
}

func (o *observation) lookup(ctx context.Context, uuid libvirt.UUID) (libvirt.Domain, error) {
	return readOf(ctx, o.r, uuid, func(lv *libvirt.Libvirt) (libvirt.Domain, error) { return lv.DomainLookupByUUID(uuid) })
}

// hasID says whether XML is that of the run with the ID: <domain type='kvm' id='7'>. A domain that has stopped gives
// its inactive XML, without one, when it is asked for the live XML.
func hasID(xml string, id int32) bool {
	tag, _, _ := strings.Cut(xml, ">")
	return strings.Contains(tag, " id='"+strconv.Itoa(int(id))+"'")
}
