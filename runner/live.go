package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const live = uint32(libvirt.DomainAffectLive)

// onLive makes a call that changes a running domain. What libvirt or the guest answers against it is of the class
// ErrInvalid: the same call would be answered so again. That a call about a guest was taken says nothing of whether the
// guest follows: the live XML shows that.
func (r *Runner) onLive(ctx context.Context, s plan.Step, f func(*libvirt.Libvirt, libvirt.Domain) error) error {
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Start, monitor: true, f: f})
	if c := code(err); c != libvirt.ErrOk && classOf(err) == nil {
		return classed{ErrInvalid, err}
	}
	return err
}

// attach plugs a device in, at the address that its XML has.
func (r *Runner) attach(ctx context.Context, s plan.Step) error {
	text, err := r.reveal(s.XML)
	if err != nil {
		return err
	}
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainAttachDeviceFlags(d, text, live) })
}

// detach asks the guest to give a device up. Libvirt waits for it for some seconds and then returns without an error. A guest
// that was asked before, and thinks about it, is as good as asked.
func (r *Runner) detach(ctx context.Context, s plan.Step) error {
	text, err := r.reveal(s.XML)
	if err != nil {
		return err
	}
	err = r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainDetachDeviceFlags(d, text, live) })
	if err != nil && strings.Contains(err.Error(), "already in the process of unplug") { // QEMU's words; it has no code
		return nil
	}
	return err
}

// update makes a device what its XML says. Libvirt finds it by its alias, and refuses what cannot be changed. A guest that
// has locked its CD drive is not forced.
func (r *Runner) update(ctx context.Context, s plan.Step) error {
	text, err := r.reveal(s.XML)
	if err != nil {
		return err
	}
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error {
		return lv.DomainUpdateDeviceFlags(d, text, libvirt.DomainDeviceModifyLive)
	})
}

// tune sets a disk's IO limits.
func (r *Runner) tune(ctx context.Context, s plan.Step) error {
	var params []libvirt.TypedParam
	for _, p := range s.Tune {
		value := libvirt.NewTypedParamValueUllong(p.Value)
		if p.Text != "" {
			value = libvirt.NewTypedParamValueString(p.Text)
		}
		params = append(params, libvirt.TypedParam{Field: p.Name, Value: *value})
	}
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error {
		return lv.DomainSetBlockIOTune(d, s.Device, params, live)
	})
}

// resize grows a disk, and tells the guest. It looks whether the disk has the size then, because a later step writes that
// down.
func (r *Runner) resize(ctx context.Context, s plan.Step) error {
	if err := r.growUnder(ctx, s); err != nil {
		return err
	}
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error {
		size := func() (uint64, error) {
			_, capacity, _, err := lv.DomainGetBlockInfo(d, s.Device, 0)
			return capacity, err
		}
		if is, err := size(); err != nil || is >= s.Amount {
			return err // it never shrinks
		}
		if err := lv.DomainBlockResize(d, s.Device, s.Amount, libvirt.DomainBlockResizeBytes); err != nil {
			return err
		}
		is, err := size()
		if err == nil && is < s.Amount {
			err = fmt.Errorf("libvirt says that disk %s was grown to %d bytes, and it has %d", s.Device, s.Amount, is)
		}
		return err
	})
}

// setMemory asks the balloon for a size.
func (r *Runner) setMemory(ctx context.Context, s plan.Step) error {
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainSetMemoryFlags(d, s.Amount, live) })
}

// setVCPUs plugs vCPUs in, or asks the guest to give up some that were.
func (r *Runner) setVCPUs(ctx context.Context, s plan.Step) error {
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error {
		return lv.DomainSetVcpusFlags(d, uint32(s.Amount), live)
	})
}

// describe sets the title and the description.
func (r *Runner) describe(ctx context.Context, s plan.Step) error {
	return r.onLive(ctx, s, func(lv *libvirt.Libvirt, d libvirt.Domain) error {
		for kind, text := range map[libvirt.DomainMetadataType]string{
			libvirt.DomainMetadataTitle: s.Title, libvirt.DomainMetadataDescription: s.Description,
		} {
			var to libvirt.OptString
			if text != "" {
				to = libvirt.OptString{text}
			}
			if err := lv.DomainSetMetadata(d, int32(kind), to, nil, nil, libvirt.DomainAffectLive); err != nil {
				return err
			}
		}
		return nil
	})
}
