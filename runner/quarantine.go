package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/semaphore"
)

// manyDefines is more than there can be at once.
const manyDefines = 1 << 20

// quarantine keeps a definition that kills libvirt's daemon from being tried for ever (libvirt 9.0 has one: a vhost-scsi
// hostdev with rawio). A definition during which the daemon went away is under suspicion, and so are all that were on
// their way at that moment; each of them is then tried alone. One that loses the daemon twice is not tried again.
type quarantine struct {
	// gate is held whole by one that is tried alone, and a little by each of the others.
	gate *semaphore.Weighted

	mu   sync.Mutex
	lost map[string]loss // by the domain's UUID
}

type loss struct {
	xml   [sha256.Size]byte
	times int
}

func newQuarantine() *quarantine {
	return &quarantine{gate: semaphore.NewWeighted(manyDefines), lost: map[string]loss{}}
}

// enter waits until a definition may be tried. The returned function is told what came of it.
func (q *quarantine) enter(ctx context.Context, uuid, xml string) (leave func(error), err error) {
	sum := sha256.Sum256([]byte(xml))
	q.mu.Lock()
	known := q.lost[uuid]
	q.mu.Unlock()
	if known.xml != sum {
		known = loss{xml: sum}
	}
	if known.times >= 2 {
		return nil, classed{ErrInvalid, fmt.Errorf("libvirt's daemon went away %d times while it read this definition; "+
			"it is not tried again before it changes", known.times)}
	}
	weight := int64(1)
	if known.times > 0 {
		weight = manyDefines
	}
	if err := q.gate.Acquire(ctx, weight); err != nil {
		return nil, context.Cause(ctx)
	}
	return func(err error) {
		q.gate.Release(weight)
		q.mu.Lock()
		defer q.mu.Unlock()
		switch {
		case errors.Is(err, libvirt.ErrInterrupted): // the call was on its way
			known.times++
			q.lost[uuid] = known
		case err == nil, code(err) != libvirt.ErrOk: // it was answered
			delete(q.lost, uuid)
		}
	}, nil
}
