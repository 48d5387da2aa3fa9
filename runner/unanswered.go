package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// unanswered keeps the calls about each domain that libvirt still has to answer: all that change, and of those that read
// the late ones. Where the deadline or the context has ended, nobody waits for them any more.
type unanswered struct {
	mu    sync.Mutex
	calls map[string]map[*pending]struct{} // by the domain's UUID
}

// pending is a call that has no answer yet.
type pending struct {
	op    plan.Op // or opRead
	began time.Time
	late  bool          // it missed its deadline
	ended chan struct{} // closed when it has been answered
}

const opRead plan.Op = "read"

func newUnanswered() *unanswered {
	return &unanswered{calls: map[string]map[*pending]struct{}{}}
}

func (u *unanswered) begin(uuid string, op plan.Op, late bool) *pending {
	p := &pending{op: op, began: time.Now(), late: late, ended: make(chan struct{})}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls[uuid] == nil {
		u.calls[uuid] = map[*pending]struct{}{}
	}
	u.calls[uuid][p] = struct{}{}
	return p
}

// missed notes that the deadline has passed.
func (u *unanswered) missed(p *pending) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p.late = true
}

// end notes the answer.
func (u *unanswered) end(uuid string, p *pending) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.calls[uuid], p)
	if len(u.calls[uuid]) == 0 {
		delete(u.calls, uuid)
	}
	close(p.ended)
}

// stuck says whether a call about the domain has missed its deadline and has no answer yet.
func (u *unanswered) stuck(uuid string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.calls[uuid] {
		if p.late {
			return true
		}
	}
	return false
}

// unread says whether a reading of the domain has missed its deadline and has no answer yet.
func (u *unanswered) unread(uuid string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.calls[uuid] {
		if p.op == opRead {
			return true
		}
	}
	return false
}

// clear waits until no earlier call about the domain is on its way, so that steps do not overtake each other. A domain
// that is known as stuck is not asked again before it has answered. Destroying is what helps then, so it waits for
// no other call than another of its kind.
func (u *unanswered) clear(ctx context.Context, uuid string, op plan.Op, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		p, late := u.inTheWay(uuid, op)
		if p == nil {
			return nil
		}
		stuck := classed{ErrStuck, fmt.Errorf("an earlier call (%s) has had no answer since %s",
			p.op, p.began.Format(time.TimeOnly))}
		if late {
			return stuck
		}
		select {
		case <-p.ended:
		case <-timer.C:
			return stuck
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// inTheWay finds a call that op must wait for; the late ones first.
func (u *unanswered) inTheWay(uuid string, op plan.Op) (found *pending, late bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.calls[uuid] {
		if op == plan.OpDestroy && p.op != plan.OpDestroy {
			continue
		}
		if found == nil || p.late {
			found, late = p, p.late
		}
	}
	return found, late
}
