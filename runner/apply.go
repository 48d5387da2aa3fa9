package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// Apply runs the steps of one domain in their order, and stops at the first that fails; the error says which. Each
// step is safe to do again: what is so already counts as done. It may be called for different domains at once.
//
// An error is of a class (ErrDisconnected, ErrStuck, …) where there is one. After ErrStuck or ErrDisconnected, and when
// the context ends, the call that was on its way may still be carried out.
func (r *Runner) Apply(ctx context.Context, steps []plan.Step) error {
	for _, s := range steps {
		did, ok := ops[s.Op]
		if !ok {
			return fmt.Errorf("cannot do %q to %s: there is no such step", s.Op, s.Domain)
		}
		if err := r.scrub(did.do(r, ctx, s), s); err != nil {
			return fmt.Errorf("cannot %s %s: %w", did.verb, s.Domain, err)
		}
	}
	return nil
}

// operation is what an op is called in messages, and how it is done.
type operation struct {
	verb string
	do   func(*Runner, context.Context, plan.Step) error
}

// ops has every op. A call of a method that reaches QEMU's monitor is marked so at its change.
var ops = map[plan.Op]operation{
	plan.OpVolumes:       {"make the volumes of", (*Runner).makeVolumes},
	plan.OpDeleteVolumes: {"delete the volumes of", (*Runner).deleteVolumes},
	plan.OpDefine:        {"define", (*Runner).define},
	plan.OpMetadata:      {"write the record of", (*Runner).setMetadata},
	plan.OpAutostart:     {"set autostart of", (*Runner).setAutostart},
	plan.OpStart:         {"start", (*Runner).start},
	plan.OpShutdown:      {"shut down", (*Runner).shutdown},
	plan.OpDestroy:       {"destroy", (*Runner).destroy},
	plan.OpSuspend:       {"suspend", (*Runner).suspend},
	plan.OpResume:        {"resume", (*Runner).resume},
	plan.OpUndefine:      {"undefine", (*Runner).undefine},
	plan.OpAttach:        {"plug a device into", (*Runner).attach},
	plan.OpDetach:        {"unplug a device from", (*Runner).detach},
	plan.OpUpdate:        {"change a device of", (*Runner).update},
	plan.OpTune:          {"set the IO limits of a disk of", (*Runner).tune},
	plan.OpResize:        {"grow a disk of", (*Runner).resize},
	plan.OpMemory:        {"set the memory of", (*Runner).setMemory},
	plan.OpVCPUs:         {"set the vCPUs of", (*Runner).setVCPUs},
	plan.OpSecrets:       {"keep the secrets of", (*Runner).keepSecrets},
	plan.OpDeleteSecrets: {"forget the secrets of", (*Runner).deleteSecrets},
	plan.OpDescribe:      {"set the title of", (*Runner).describe},

	plan.OpResourceDefine:    {"define", (*Runner).defineResource},
	plan.OpPoolBuild:         {"make the folder of", (*Runner).buildPool},
	plan.OpResourceAutostart: {"set autostart of", (*Runner).setResourceAutostart},
	plan.OpResourceStart:     {"start", (*Runner).startResource},
	plan.OpResourceStop:      {"stop", (*Runner).stopResource},
	plan.OpResourceUndefine:  {"undefine", (*Runner).undefineResource},
	plan.OpNetworkUpdate:     {"change", (*Runner).updateNetwork},
	plan.OpReplug:            {"connect guests again to", (*Runner).replug},
}

// domain is the step's domain as libvirt's calls take it. Libvirt finds it by the UUID.
func domain(s plan.Step) (libvirt.Domain, error) {
	id, err := uuid.Parse(s.UUID)
	if err != nil {
		return libvirt.Domain{}, fmt.Errorf("its UUID %q is none: %w", s.UUID, err)
	}
	return libvirt.Domain{Name: s.Domain, UUID: libvirt.UUID(id), ID: -1}, nil
}

// change is a call that changes a domain.
type change struct {
	step    plan.Step
	limit   time.Duration
	monitor bool // it asks QEMU something, which a frozen one does not answer
	f       func(*libvirt.Libvirt, libvirt.Domain) error
}

// change makes the call when its turn comes: after earlier ones about the domain, and when not too many are on their
// way.
func (r *Runner) change(ctx context.Context, c change) error {
	dom, err := domain(c.step)
	if err != nil {
		return err
	}
	if err := r.ready(ctx, c, dom); err != nil {
		return err
	}
	place, err := r.gate.enter(ctx, c.monitor, c.limit)
	if err != nil {
		return err
	}
	id := c.step.UUID
	mine := r.calls.begin(id, c.step.Op, false)
	w := watcher{
		late: func() {
			r.calls.missed(mine)
			place.missed()
		},
		ended: func(late bool) {
			place.leave()
			r.calls.end(id, mine)
			if late {
				r.wakeUp() // nobody hoped for this answer any more
			}
		},
	}
	_, err = call(ctx, r.changes, c.limit, w, func(lv *libvirt.Libvirt) (struct{}, error) {
		return struct{}{}, c.f(lv, dom)
	})
	if errors.Is(err, ErrStuck) {
		r.suspects.add(id)
	}
	return err
}

// ready waits for earlier calls about the domain, and refuses to ask one that is known as stuck: each call would hold
// one more of libvirt's workers. Destroying it is what helps, and needs no answer from QEMU.
func (r *Runner) ready(ctx context.Context, c change, dom libvirt.Domain) error {
	if err := r.calls.clear(ctx, c.step.UUID, c.step.Op, c.limit); err != nil {
		return err
	}
	if c.step.Op == plan.OpDestroy {
		return nil
	}
	stuck, err := r.stuck(ctx, dom, c.step.UUID)
	if err != nil {
		return err
	}
	if stuck {
		return classed{ErrStuck, errors.New("its QEMU does not answer libvirt")}
	}
	return nil
}

// active asks whether a domain runs. One that is not there does not.
func (r *Runner) active(ctx context.Context, s plan.Step) (bool, error) {
	dom, err := domain(s)
	if err != nil {
		return false, err
	}
	active, err := read(ctx, r, func(lv *libvirt.Libvirt) (int32, error) { return lv.DomainIsActive(dom) })
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	return active == 1, err
}
