package status

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Metrics count what the loop does.
type Metrics struct {
	fetches, passes, actions *prometheus.CounterVec
	fetchTime, passTime      prometheus.Histogram
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
		passes:    counter("gitvirt_reconcile_total", "Passes, by result.", "result"),
		passTime:  histogram("gitvirt_reconcile_duration_seconds", "How long a pass took, its work at instances left out."),
		actions:   counter("gitvirt_actions_total", "Actions at instances, by reason, effect and result.", "action", "effect", "result"),
	}
	r.MustRegister(m.fetches, m.fetchTime, m.passes, m.passTime, m.actions)
	return m
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}

// Fetched counts a request for the newest revision.
func (m *Metrics) Fetched(took time.Duration, err error) {
	m.fetches.WithLabelValues(result(err)).Inc()
	m.fetchTime.Observe(took.Seconds())
}

// Passed counts a pass.
func (m *Metrics) Passed(took time.Duration, err error) {
	m.passes.WithLabelValues(result(err)).Inc()
	m.passTime.Observe(took.Seconds())
}

// Acted counts an action.
func (m *Metrics) Acted(a plan.Action, err error) {
	m.actions.WithLabelValues(a.Reason, string(a.Effect), result(err)).Inc()
}

// collector reads the latest snapshot when it is scraped: it asks nobody, and what is gone has no series.
type collector struct {
	latest *atomic.Pointer[Snapshot]

	revision, success, up, documents, build                 *prometheus.Desc
	info, desired, running, synced, restart, blocked, again *prometheus.Desc
}

func newCollector(latest *atomic.Pointer[Snapshot]) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gitvirt_"+name, help, labels, nil)
	}
	of := func(name, help string) *prometheus.Desc { return desc("instance_"+name, help, "instance") }
	return &collector{
		latest:    latest,
		revision:  desc("revision_info", "The revision in force.", "revision", "branch"),
		success:   desc("source_last_success_timestamp_seconds", "When the repository was last reached."),
		up:        desc("libvirt_up", "Whether libvirt answers."),
		documents: desc("documents", "Documents of the revision in force, by state.", "state"),
		build:     desc("build_info", "The program's version.", "version"),
		info:      desc("instance_info", "An instance, and the commit that it was started from.", "instance", "config", "host", "revision"),
		desired:   of("desired_running", "Whether the instance should run."),
		running:   of("running", "Whether the instance runs."),
		synced:    of("synced", "Whether the instance is defined as its config says."),
		restart:   of("restart_required", "Whether changes wait for the instance's next start."),
		blocked:   of("blocked", "Whether something cannot be done to the instance."),
		again:     of("restarts_total", "How often the restart policy started the instance again."),
	}
}

// Describe sends all descriptions.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.revision, c.success, c.up, c.documents, c.build, c.info, c.desired, c.running, c.synced, c.restart, c.blocked, c.again} {
		ch <- d
	}
}

// Collect sends the latest snapshot's values.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.latest.Load()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	f := s.Facts
	gauge(c.build, 1, f.Version)
	gauge(c.up, number(f.Libvirt.Up))
	if f.Source.Revision != "" {
		gauge(c.revision, 1, f.Source.Revision, f.Source.Branch)
	}
	if !f.Source.Success.IsZero() {
		gauge(c.success, float64(f.Source.Success.UnixMilli())/1000)
	}
	d := f.Documents
	broken := map[string]bool{}
	for _, p := range d.Problems {
		broken[p.File+"/"+p.Kind+"/"+p.Name] = true
	}
	gauge(c.documents, float64(d.Count-len(d.Mended)), "valid")
	gauge(c.documents, float64(len(broken)), "invalid")
	for n := range s.Instances {
		i := &s.Instances[n]
		name, config := i.Metadata.Name, ""
		if len(i.Metadata.OwnerReferences) > 0 {
			config = i.Metadata.OwnerReferences[0].Name
		}
		gauge(c.info, 1, name, config, i.Status.Host, i.Metadata.Annotations["gitvirt.io/revision"])
		gauge(c.desired, number(i.Status.Desired == string(manifest.StateRunning)), name)
		gauge(c.running, number(i.Status.Phase == plan.PhaseRunning), name)
		for kind, d := range map[string]*prometheus.Desc{Synced: c.synced, RestartRequired: c.restart, Blocked: c.blocked} {
			gauge(d, number(i.is(kind)), name)
		}
		ch <- prometheus.MustNewConstMetric(c.again, prometheus.CounterValue, float64(i.Status.Restarts), name)
	}
}

// is says whether a condition is true.
func (i *Instance) is(kind string) bool {
	for _, c := range i.Status.Conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
