package status

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// Metrics count what the loop does.
type Metrics struct {
	fetches, passes, actions *prometheus.CounterVec
	fetchTime, passTime      prometheus.Histogram
	rewritten, unverified    prometheus.Counter
}

// NewMetrics registers the counters.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)})
	}
	m := &Metrics{
		fetches:   counter("gitvirt_source_fetch_total", "Requests for the newest revision, by result.", "result"),
		fetchTime: histogram("gitvirt_source_fetch_duration_seconds", "How long a request for the newest revision took."),
		rewritten: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gitvirt_source_forced_pushes_total", Help: "Rewritten histories of the branch, followed or held.",
		}),
		unverified: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gitvirt_source_unverified_total", Help: "Revisions that were refused because they do not carry the signatures that they must.",
		}),
		passes:   counter("gitvirt_reconcile_total", "Passes, by result.", "result"),
		passTime: histogram("gitvirt_reconcile_duration_seconds", "How long a pass took, its work at instances left out."),
		actions:  counter("gitvirt_actions_total", "Actions at instances, by reason, effect and result.", "action", "effect", "result"),
	}
	for _, c := range []*prometheus.CounterVec{m.fetches, m.passes} {
		// A series that is there from the beginning shows its first error as an increase.
		c.WithLabelValues(success)
		c.WithLabelValues(failure)
	}
	r.MustRegister(m.fetches, m.fetchTime, m.rewritten, m.unverified, m.passes, m.passTime, m.actions)
	return m
}

// The results of what is counted.
const (
	success = "success"
	failure = "error"
)

func result(err error) string {
	if err != nil {
		return failure
	}
	return success
}

// Fetched counts a request for the newest revision.
func (m *Metrics) Fetched(took time.Duration, err error) {
	m.fetches.WithLabelValues(result(err)).Inc()
	m.fetchTime.Observe(took.Seconds())
}

// Unverified counts a revision that was refused because it does not carry the signatures that it must.
func (m *Metrics) Unverified() { m.unverified.Inc() }

// Rewritten counts that the branch's history was rewritten.
func (m *Metrics) Rewritten() { m.rewritten.Inc() }

// Passed counts a pass.
func (m *Metrics) Passed(took time.Duration, err error) {
	m.passes.WithLabelValues(result(err)).Inc()
	m.passTime.Observe(took.Seconds())
}

// Acted counts an action.
func (m *Metrics) Acted(a plan.Action, err error) {
	m.actions.WithLabelValues(a.Reason, string(a.Effect), result(err)).Inc()
}
