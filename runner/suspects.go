package runner

import (
	"context"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// occupiedLong is how long a domain's monitor may be busy before the domain counts as stuck. Slow storage makes some
// of QEMU's commands take seconds.
const occupiedLong = 5 * time.Second

// suspects are the domains about which a call was not answered in time. They may have become stuck by somebody else's
// call, or still be so after libvirt's daemon was restarted, so they are asked after until they are well.
type suspects struct {
	mu    sync.Mutex
	uuids map[string]struct{}
}

func newSuspects() *suspects { return &suspects{uuids: map[string]struct{}{}} }

func (s *suspects) add(uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uuids[uuid] = struct{}{}
}

func (s *suspects) remove(uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uuids, uuid)
}

func (s *suspects) has(uuid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.uuids[uuid]
	return ok
}

// stuck says whether a domain is known to get no answer from its QEMU. For one that is not suspected this costs no
// call; of the others libvirt knows how long it has waited for QEMU, and says so without asking QEMU.
func (r *Runner) stuck(ctx context.Context, domain libvirt.Domain, uuid string) (bool, error) {
	if r.calls.stuck(uuid) {
		return true, nil
	}
	if !r.suspects.has(uuid) {
		return false, nil
	}
	type control struct {
		state libvirt.DomainControlState
		time  time.Duration
	}
	c, err := read(ctx, r, func(lv *libvirt.Libvirt) (control, error) {
		state, _, ms, err := lv.DomainGetControlInfo(domain, 0)
		return control{libvirt.DomainControlState(state), time.Duration(ms) * time.Millisecond}, err
	})
	switch {
	case code(err) != libvirt.ErrOk: // it is not there, or does not run: nothing to be stuck in
		r.suspects.remove(uuid)
		return false, nil
	case err != nil:
		return false, err
	case c.state == libvirt.DomainControlOccupied && c.time >= occupiedLong, c.state == libvirt.DomainControlError:
		return true, nil
	case c.state == libvirt.DomainControlOk:
		r.suspects.remove(uuid)
	}
	return false, nil
}
