package reconcile

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

const (
	firstBackOff = time.Second
	lastBackOff  = 5 * time.Minute
	// stable is how long a run has to last for its end to be answered at once.
	stable = time.Minute
)

// memory is what the loop remembers of instances from one pass to the next. It is not safe for concurrent use.
type memory struct {
	asked    map[string]request
	failures map[string]status.Failure
	refused  map[string]plan.Refusal
	defined  map[string]string
	memos    map[string]*plan.Memo
	restarts map[string]int
	quick    map[string]quick
	starts   map[string]plan.Starts
	tries    map[string]map[string]plan.Try
}

// request is when the guest of a domain was asked to shut down; another start has another ID.
type request struct {
	id int32
	plan.Asked
}

// quick counts restarts that came soon one after another.
type quick struct {
	last      time.Time
	count     int
	notBefore time.Time
}

func newMemory() *memory {
	return &memory{
		asked: map[string]request{}, failures: map[string]status.Failure{}, refused: map[string]plan.Refusal{},
		defined: map[string]string{}, memos: map[string]*plan.Memo{}, restarts: map[string]int{}, quick: map[string]quick{},
		starts: map[string]plan.Starts{}, tries: map[string]map[string]plan.Try{},
	}
}

// forPlan is the memory as a plan takes it.
func (m *memory) forPlan(now time.Time, world plan.World, s state) plan.Memory {
	out := plan.Memory{
		Now: now, Asked: map[string]plan.Asked{}, NotBefore: map[string]time.Time{},
		Refused: m.refused, Defined: m.defined, Memos: m.memos, Starts: m.starts, Tries: m.tries,
		LetThrough: s.LetThrough, MovedFrom: s.MovedFrom,
	}
	ids := make(map[string]int32, len(world.Domains))
	for _, d := range world.Domains {
		ids[d.Name] = d.ID
	}
	for name, r := range m.asked {
		if id, there := ids[name]; !there || id != r.id {
			delete(m.asked, name)
			continue
		}
		out.Asked[name] = r.Asked
	}
	for name, f := range m.failures {
		out.NotBefore[name] = f.NotBefore
	}
	for name, q := range m.quick {
		if q.notBefore.After(out.NotBefore[name]) {
			out.NotBefore[name] = q.notBefore
		}
	}
	return out
}

// learn keeps what a pass found.
func (m *memory) learn(assessments []plan.Assessment) {
	memos := make(map[string]*plan.Memo, len(assessments))
	for _, a := range assessments {
		if a.Memo != nil {
			memos[a.Name] = a.Memo
			if len(a.Memo.Behind) == 0 {
				delete(m.tries, a.Name)
			}
		} else if old := m.memos[a.Name]; old != nil {
			memos[a.Name] = old
		}
	}
	m.memos = memos
	alive := make(map[string]bool, len(assessments))
	for _, a := range assessments {
		alive[a.Name] = true
	}
	gone := func(name string) bool { return !alive[name] }
	maps.DeleteFunc(m.failures, func(name string, _ status.Failure) bool { return gone(name) })
	maps.DeleteFunc(m.refused, func(name string, _ plan.Refusal) bool { return gone(name) })
	maps.DeleteFunc(m.defined, func(name string, _ string) bool { return gone(name) })
	maps.DeleteFunc(m.restarts, func(name string, _ int) bool { return gone(name) })
	maps.DeleteFunc(m.starts, func(name string, _ plan.Starts) bool { return gone(name) })
	maps.DeleteFunc(m.quick, func(name string, _ quick) bool { return gone(name) })
	maps.DeleteFunc(m.tries, func(name string, _ map[string]plan.Try) bool { return gone(name) })
}

// done keeps what became of an instance's actions.
func (m *memory) done(r result, refused bool) {
	name := r.name
	for _, a := range r.actions[:r.done] {
		for _, s := range a.Steps {
			switch s.Op {
			case plan.OpShutdown:
				asked := m.asked[name]
				if asked.id != r.id || asked.First.IsZero() {
					asked = request{id: r.id, Asked: plan.Asked{First: r.at}}
				}
				asked.Last = r.at
				m.asked[name] = asked
			case plan.OpDefine:
				m.defined[name] = r.digest
			}
		}
		if a.Effect == plan.EffectStart && a.Reason == "RestartPolicy" && len(a.Steps) > 0 {
			m.restarted(name, r.at)
		}
	}
	m.started(r)
	for try, t := range r.tries {
		if m.tries[name] == nil {
			m.tries[name] = map[string]plan.Try{}
		}
		m.tries[name][try] = t
	}
	if r.err == nil {
		delete(m.failures, name)
		return
	}
	f := m.failures[name]
	f.Attempts++
	f.Message, f.Time = r.err.Error(), r.at
	f.NotBefore = r.at.Add(BackOff(f.Attempts))
	m.failures[name] = f
	if refused {
		m.refused[name] = plan.Refusal{Digest: r.digest, Message: r.err.Error()}
	}
}

// started counts the starts of one version that failed.
func (m *memory) started(r result) {
	switch {
	case r.err == nil && slices.ContainsFunc(r.actions, func(a plan.Action) bool { return a.Effect == plan.EffectStart && len(a.Steps) > 0 }):
		delete(m.starts, r.name)
	case r.err != nil && r.actions[r.done].Effect == plan.EffectStart:
		s := m.starts[r.name]
		if s.Digest != r.digest {
			s = plan.Starts{Digest: r.digest}
		}
		s.Failures++
		s.Message = r.err.Error()
		m.starts[r.name] = s
	}
}

// restarted puts off the next restart when this one came soon after the last: a guest that dies again and again is not to
// keep the host busy.
func (m *memory) restarted(name string, at time.Time) {
	m.restarts[name]++
	q := m.quick[name]
	if at.Sub(q.last) > stable+backOffFor(q.count) {
		q.count = 0
	}
	q.count++
	q.last, q.notBefore = at, at.Add(BackOff(q.count))
	m.quick[name] = q
}

// newRevision forgets what was only true of the old one.
func (m *memory) newRevision() {
	for name, f := range m.failures {
		f.NotBefore = time.Time{}
		m.failures[name] = f
	}
	clear(m.refused)
	clear(m.quick)
	for _, tries := range m.tries {
		// What was just taken is awaited; what came to nothing may be possible now.
		maps.DeleteFunc(tries, func(_ string, t plan.Try) bool { return t.Refused != "" || time.Since(t.At) > stable })
	}
}

// BackOff is how long to wait after so many failures: a second, doubling, up to 5 minutes, and up to a tenth more at
// random, so that what failed together is not tried together.
func BackOff(attempts int) time.Duration {
	d := backOffFor(attempts)
	return d + rand.N(d/10+1)
}

func backOffFor(attempts int) time.Duration {
	d := firstBackOff
	for range attempts - 1 {
		if d *= 2; d >= lastBackOff {
			return lastBackOff
		}
	}
	return d
}
