package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

// object is a network or a storage pool as libvirt's calls take it.
type object struct {
	network libvirt.Network
	pool    libvirt.StoragePool
	isPool  bool
}

func objectOf(s plan.Step) (object, error) {
	id, err := uuid.Parse(s.UUID)
	if err != nil {
		return object{}, fmt.Errorf("its UUID %q is none: %w", s.UUID, err)
	}
	return object{
		network: libvirt.Network{Name: s.Domain, UUID: libvirt.UUID(id)}, pool: libvirt.StoragePool{Name: s.Domain, UUID: libvirt.UUID(id)},
		isPool: s.Kind == resource.Pool,
	}, nil
}

// changeResource makes a call that changes a network or a pool, after earlier ones about it.
func (r *Runner) changeResource(ctx context.Context, s plan.Step, limit time.Duration, f func(*libvirt.Libvirt, object) error) error {
	o, err := objectOf(s)
	if err != nil {
		return err
	}
	if err := r.calls.clear(ctx, s.UUID, s.Op, limit); err != nil {
		return err
	}
	place, err := r.gate.enter(ctx, false, limit)
	if err != nil {
		return err
	}
	mine := r.calls.begin(s.UUID, s.Op, false)
	w := watcher{
		late: func() {
			r.calls.missed(mine)
			place.missed()
		},
		ended: func(late bool) {
			place.leave()
			r.calls.end(s.UUID, mine)
			if late {
				r.wakeUp()
			}
		},
	}
	_, err = call(ctx, r.changes, limit, w, func(lv *libvirt.Libvirt) (struct{}, error) { return struct{}{}, f(lv, o) })
	return err
}

// defineResource defines in place. Libvirt refuses by itself what has the name and another UUID.
func (r *Runner) defineResource(ctx context.Context, s plan.Step) error {
	if s.Secret != nil {
		if err := r.keepResourceSecret(ctx, s); err != nil {
			return err
		}
	}
	return refused(r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, o object) (err error) {
		if o.isPool {
			_, err = lv.StoragePoolDefineXML(s.XML, uint32(libvirt.StoragePoolDefineValidate))
		} else {
			_, err = lv.NetworkDefineXMLFlags(s.XML, uint32(libvirt.NetworkDefineValidate))
		}
		return err
	}))
}

// keepResourceSecret has libvirt keep what a pool logs in by.
func (r *Runner) keepResourceSecret(ctx context.Context, s plan.Step) error {
	if r.opts.Secrets == nil {
		return errors.New("the runner was given no secrets")
	}
	value, ok := r.opts.Secrets.Value(s.Secret.Token)
	if !ok {
		return errors.New("its secret is not known any more")
	}
	text, err := poolSecretXML(*s.Secret)
	if err != nil {
		return err
	}
	return r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, _ object) error {
		defined, err := lv.SecretDefineXML(text, 0)
		if err != nil {
			return err
		}
		return lv.SecretSetValue(defined, value.Bytes(), 0)
	})
}

func (r *Runner) buildPool(ctx context.Context, s plan.Step) error {
	active, err := r.resourceActive(ctx, s)
	if err != nil || active {
		return err
	}
	return r.changeResource(ctx, s, r.opts.Deadlines.Start, func(lv *libvirt.Libvirt, o object) error {
		return lv.StoragePoolBuild(o.pool, 0) // without a flag nothing is formatted
	})
}

func (r *Runner) setResourceAutostart(ctx context.Context, s plan.Step) error {
	var on int32
	if s.On {
		on = 1
	}
	return r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, o object) error {
		if o.isPool {
			return lv.StoragePoolSetAutostart(o.pool, on)
		}
		return lv.NetworkSetAutostart(o.network, on)
	})
}

func (r *Runner) resourceActive(ctx context.Context, s plan.Step) (bool, error) {
	o, err := objectOf(s)
	if err != nil {
		return false, err
	}
	active, err := read(ctx, r, func(lv *libvirt.Libvirt) (int32, error) {
		if o.isPool {
			return lv.StoragePoolIsActive(o.pool)
		}
		return lv.NetworkIsActive(o.network)
	})
	return active == 1, err
}

func (r *Runner) startResource(ctx context.Context, s plan.Step) error {
	active, err := r.resourceActive(ctx, s)
	if err != nil || active {
		return err
	}
	return r.changeResource(ctx, s, r.opts.Deadlines.Start, func(lv *libvirt.Libvirt, o object) error {
		if o.isPool {
			return lv.StoragePoolCreate(o.pool, 0)
		}
		return lv.NetworkCreate(o.network)
	})
}

// stopResource makes it inactive: libvirt says destroy, and destroys nothing.
func (r *Runner) stopResource(ctx context.Context, s plan.Step) error {
	active, err := r.resourceActive(ctx, s)
	if err != nil || !active {
		return goneResource(err)
	}
	return goneResource(r.changeResource(ctx, s, r.opts.Deadlines.Start, func(lv *libvirt.Libvirt, o object) error {
		if o.isPool {
			return lv.StoragePoolDestroy(o.pool)
		}
		return lv.NetworkDestroy(o.network)
	}))
}

func (r *Runner) undefineResource(ctx context.Context, s plan.Step) error {
	return goneResource(r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, o object) error {
		if !o.isPool {
			return lv.NetworkUndefine(o.network)
		}
		err := lv.StoragePoolUndefine(o.pool)
		if id, bad := uuid.Parse(resource.SecretUUID(s.UUID)); err == nil && bad == nil {
			if secret, none := lv.SecretLookupByUUID(libvirt.UUID(id)); none == nil {
				return lv.SecretUndefine(secret)
			}
		}
		return err
	}))
}

// goneResource takes what is not there for what was taken away.
func goneResource(err error) error {
	if c := code(err); c == libvirt.ErrNoNetwork || c == libvirt.ErrNoStoragePool {
		return nil
	}
	return err
}

// sections are libvirt's numbers.
func sectionOf(s plan.Section) (libvirt.NetworkUpdateSection, bool) {
	n, ok := map[plan.Section]libvirt.NetworkUpdateSection{
		plan.SectionDHCPHost: libvirt.NetworkSectionIPDhcpHost, plan.SectionDHCPRange: libvirt.NetworkSectionIPDhcpRange,
		plan.SectionInterface: libvirt.NetworkSectionForwardInterface, plan.SectionPortGroup: libvirt.NetworkSectionPortgroup,
		plan.SectionDNSHost: libvirt.NetworkSectionDNSHost, plan.SectionDNSText: libvirt.NetworkSectionDNSTxt,
		plan.SectionDNSSRV: libvirt.NetworkSectionDNSSrv,
	}[s]
	return n, ok
}

// updateNetwork changes a part of an active network. What is planned anew after each look need not be tried twice here.
func (r *Runner) updateNetwork(ctx context.Context, s plan.Step) error {
	section, ok := sectionOf(s.Section)
	command, known := map[string]libvirt.NetworkUpdateCommand{plan.UpdateAdd: libvirt.NetworkUpdateCommandAddLast,
		plan.UpdateModify: libvirt.NetworkUpdateCommandModify, plan.UpdateDelete: libvirt.NetworkUpdateCommandDelete}[s.Command]
	if !ok || !known {
		return fmt.Errorf("libvirt has no update %q of %q", s.Command, s.Section)
	}
	return r.changeResource(ctx, s, r.opts.Deadlines.Start, func(lv *libvirt.Libvirt, o object) error {
		return lv.NetworkUpdateCompat(o.network, command, section, int32(s.Index), s.XML, libvirt.NetworkUpdateAffectLive)
	})
}

// replug connects an interface of a running guest to its network's bridge again. Libvirt does that only when the network
// changes, so the interface is for a moment on a network that is there for nothing else.
func (r *Runner) replug(ctx context.Context, s plan.Step) error {
	there, err := r.plugged(ctx, s)
	if err != nil || there {
		return err
	}
	scratch, bridge := resource.Scratch(s.Domain)
	e, err := domxml.Parse(s.XML)
	if err != nil {
		return err
	}
	to := func(network string) error {
		source := domxml.New("source", "network", network)
		if group := e.Child("source").Attr("portgroup"); group != "" && network == s.Domain {
			source.SetAttr("portgroup", group)
		}
		next := e.Clone()
		next.Remove(next.Child("source"))
		next.Append(source)
		return r.update(ctx, plan.Step{Op: plan.OpUpdate, Domain: s.Guest, UUID: s.GuestUUID, XML: next.String()})
	}
	if err := r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, _ object) error {
		if _, err := lv.NetworkLookupByName(scratch); err == nil {
			return nil
		}
		_, err := lv.NetworkCreateXML(fmt.Sprintf("<network><name>%s</name><bridge name='%s' stp='off'/></network>", scratch, bridge))
		return err
	}); err != nil {
		return err
	}
	err = to(scratch)
	if err == nil {
		err = to(s.Domain)
	}
	return errors.Join(err, r.changeResource(ctx, s, r.opts.Deadlines.Change, func(lv *libvirt.Libvirt, _ object) error {
		n, err := lv.NetworkLookupByName(scratch)
		if err == nil {
			err = lv.NetworkDestroy(n)
		}
		return goneResource(err)
	}))
}

// plugged says whether the network knows the interface's port: then it is connected.
func (r *Runner) plugged(ctx context.Context, s plan.Step) (bool, error) {
	o, err := objectOf(s)
	if err != nil {
		return false, err
	}
	e, err := domxml.Parse(s.XML)
	if err != nil {
		return false, err
	}
	source := e.Child("source")
	port, err := uuid.Parse(source.Attr("portid"))
	if err != nil || source.Attr("network") != s.Domain {
		return false, nil
	}
	return read(ctx, r, func(lv *libvirt.Libvirt) (bool, error) {
		_, err := lv.NetworkPortLookupByUUID(o.network, libvirt.UUID(port))
		if code(err) == libvirt.ErrNoNetworkPort || code(err) == libvirt.ErrNoSupport {
			return false, nil
		}
		return err == nil, err
	})
}
