package reconcile

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gitvirt/gitvirt/source"
)

// The pace at which a repository is asked. A server may have a thousand agents: what one does by itself is spread over
// time, what one is asked to do is limited, and what fails is tried ever more rarely.
const (
	// maxPollBackOff bounds the back-off, and so the time that it takes to notice that the server is back; a longer
	// interval is longer all the same.
	maxPollBackOff = 5 * time.Minute
	// maxBackOffIntervals bounds it where the interval is short.
	maxBackOffIntervals = 16
	// maxFirstRetry is how soon after a failure the server is asked again at most, where the interval is long.
	maxFirstRetry = time.Minute
	// burst is how many times a trigger has a remote asked at once, and refill how long it takes until it may once
	// more. Triggers are not lost: what came in between is answered by one request then.
	burst  = 3
	refill = 5 * time.Second
)

// pacer says when the repository is asked next. It is for one goroutine.
type pacer struct {
	interval time.Duration
	remote   bool
	failures int
	busy     time.Time // until then the server asked to be left alone
	tokens   float64
	counted  time.Time // when tokens was right
}

func newPacer(interval time.Duration, remote bool) *pacer {
	return &pacer{interval: interval, remote: remote, tokens: burst}
}

// first is how long the first request is put off when there is a revision to go on with: a power cut ends for all hosts
// at once.
func (p *pacer) first() time.Duration {
	if !p.remote {
		return 0
	}
	return rand.N(min(p.interval, time.Minute) + 1)
}

// answered notes how a request ended.
func (p *pacer) answered(now time.Time, err error) {
	if err == nil {
		p.failures, p.busy = 0, time.Time{}
		return
	}
	p.failures++
	var busy *source.BusyError
	if errors.As(err, &busy) {
		p.busy = now.Add(busy.Wait)
	}
}

// next is how long to wait until the next request that nobody asks for. Half of a back-off is left to chance, so that
// those who failed together do not come back together.
func (p *pacer) next(now time.Time) time.Duration {
	wait := p.interval + rand.N(p.interval/10+1)
	if p.failures > 0 {
		longest := max(p.interval, min(maxPollBackOff, maxBackOffIntervals*p.interval))
		back := min(p.interval, maxFirstRetry)
		for n := 1; n < p.failures && back < longest; n++ {
			back *= 2
		}
		back = min(back, longest)
		wait = back/2 + rand.N(back+1)
	}
	if rest := p.busy.Sub(now); rest > 0 {
		// Not a moment before, and not all at that moment.
		wait = max(wait, rest+rand.N(min(p.interval, time.Minute)+1))
	}
	return wait
}

// triggered is how long a request that somebody asks for is put off; 0 when it may be made now.
func (p *pacer) triggered(now time.Time) time.Duration {
	if !p.remote {
		return 0
	}
	if rest := p.busy.Sub(now); rest > 0 {
		return rest
	}
	p.refill(now)
	if p.tokens >= 1 {
		p.tokens--
		return 0
	}
	return time.Duration((1 - p.tokens) * float64(refill))
}

// spend notes that a request is made which was put off.
func (p *pacer) spend(now time.Time) {
	p.refill(now)
	p.tokens--
}

func (p *pacer) refill(now time.Time) {
	p.tokens = min(burst, p.tokens+float64(now.Sub(p.counted))/float64(refill))
	p.counted = now
}
