package runner

import (
	"context"
	"errors"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// start starts a domain. One that runs is left as it is, paused or not.
func (r *Runner) start(ctx context.Context, s plan.Step) error {
	var flags libvirt.DomainCreateFlags
	if s.Paused {
		flags |= libvirt.DomainStartPaused
	}
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Start,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error {
			_, err := lv.DomainCreateWithFlags(d, uint32(flags))
			return err
		}})
	return r.unless(ctx, s, err, func(state libvirt.DomainState) bool { return state != libvirt.DomainShutoff })
}

// shutdown asks the guest to shut down, in the way that libvirt thinks best: by its agent if it has one, or as if the
// power button were pressed. A guest without an operating system ignores it, and that is no error. Neither is it one
// that the vCPUs do not run: libvirt does not ask such a guest, which could not listen.
func (r *Runner) shutdown(ctx context.Context, s plan.Step) error {
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change, monitor: true,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error {
			return lv.DomainShutdownFlags(d, libvirt.DomainShutdownDefault)
		}})
	return r.unless(ctx, s, gone(err), func(state libvirt.DomainState) bool { return state != libvirt.DomainRunning })
}

// destroy pulls the plug. It does not go through QEMU's monitor: a frozen QEMU is killed after 10 s.
func (r *Runner) destroy(ctx context.Context, s plan.Step) error {
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error {
			return lv.DomainDestroyFlags(d, libvirt.DomainDestroyDefault)
		}})
	return r.unless(ctx, s, gone(err), func(state libvirt.DomainState) bool { return state == libvirt.DomainShutoff })
}

// suspend pauses the vCPUs. QEMU's driver does nothing if they are paused, the test driver refuses it.
func (r *Runner) suspend(ctx context.Context, s plan.Step) error {
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change, monitor: true,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainSuspend(d) }})
	return r.unless(ctx, s, err, func(state libvirt.DomainState) bool { return state == libvirt.DomainPaused })
}

// resume runs the vCPUs. Libvirt refuses it if they do.
func (r *Runner) resume(ctx context.Context, s plan.Step) error {
	err := r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change, monitor: true,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainResume(d) }})
	return r.unless(ctx, s, err, func(state libvirt.DomainState) bool { return state == libvirt.DomainRunning })
}

// unless takes "operation invalid", with which libvirt refuses to start what runs and to stop what does not, for
// success if the domain's state is fine. The test driver says "internal error" for the same.
func (r *Runner) unless(ctx context.Context, s plan.Step, err error, fine func(libvirt.DomainState) bool) error {
	if c := code(err); c != libvirt.ErrOperationInvalid && c != libvirt.ErrInternalError {
		return err
	}
	dom, parsed := domain(s)
	if parsed != nil {
		return parsed
	}
	state, asked := read(ctx, r, func(lv *libvirt.Libvirt) (int32, error) {
		state, _, err := lv.DomainGetState(dom, 0)
		return state, err
	})
	if asked == nil && fine(libvirt.DomainState(state)) {
		return nil
	}
	return err
}

// gone takes the absence of the domain for success.
func gone(err error) error {
	if errors.Is(err, ErrMissing) {
		return nil
	}
	return err
}
