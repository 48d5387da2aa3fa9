package status

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// collector reads the latest snapshot when it is scraped: it asks nobody, and what is gone has no series.
type collector struct {
	latest *atomic.Pointer[Snapshot]
	label  string // the name of the label that says which instance

	revision, success, held, up, documents, build           *prometheus.Desc
	info, desired, running, synced, restart, blocked, again *prometheus.Desc

	resources resourceMetrics
}

func newCollector(latest *atomic.Pointer[Snapshot]) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gitvirt_"+name, help, labels, nil)
	}
	of := func(name, help string) *prometheus.Desc { return desc("instance_"+name, help, "instance") }
	return &collector{
		resources: newResourceMetrics(),
		latest:    latest,
		label:     "instance",
		revision:  desc("revision_info", "The revision in force.", "revision", "branch"),
		success:   desc("source_last_success_timestamp_seconds", "When the repository was last reached."),
		held:      desc("source_held", "Whether the branch's head is held and does not come into force."),
		up:        desc("libvirt_up", "Whether libvirt answers."),
		documents: desc("documents", "Documents of the revision in force: valid, invalid, and those invalid ones that are kept as they last were.", "state"),
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
	for _, d := range []*prometheus.Desc{c.revision, c.success, c.held, c.up, c.documents, c.build, c.info, c.desired, c.running, c.synced, c.restart, c.blocked, c.again} {
		ch <- d
	}
	for _, d := range c.resources.all() {
		ch <- d
	}
}

// Collect sends the latest snapshot's values.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.latest.Load()
	f := &s.Facts
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		m, err := prometheus.NewConstMetric(d, prometheus.GaugeValue, v, labels...)
		if err != nil { // a label that is no UTF-8
			m = prometheus.NewInvalidMetric(d, err)
		}
		ch <- m
	}
	if f.Version != "" {
		gauge(c.build, 1, f.Version)
	}
	gauge(c.up, number(f.Libvirt.Up))
	if f.Source.Revision != "" {
		gauge(c.revision, 1, f.Source.Revision, f.Source.Branch)
	}
	if !f.Source.Success.IsZero() {
		gauge(c.success, float64(f.Source.Success.UnixMilli())/1000)
	}
	gauge(c.held, number(f.Source.Held != nil))
	d := &f.Documents
	broken := map[string]bool{}
	for _, p := range d.Problems {
		broken[p.File+"/"+p.Kind+"/"+p.Name] = true
	}
	gauge(c.documents, float64(d.count()-len(d.Mended)), "valid")
	gauge(c.documents, float64(len(broken)), "invalid")
	gauge(c.documents, float64(len(d.Mended)), "kept")
	c.resources.collect(s.Resources, gauge)
	for n := range s.Instances {
		i := &s.Instances[n]
		config := ""
		if len(i.Metadata.OwnerReferences) > 0 {
			config = i.Metadata.OwnerReferences[0].Name
		}
		gauge(c.info, 1, i.Metadata.Name, config, i.Status.Host, i.Metadata.Annotations[revisionNote])
		c.numbers(ch, i)
	}
}

// numbers sends those series of an instance that have its name as their only label.
func (c *collector) numbers(ch chan<- prometheus.Metric, i *Instance) {
	labels := []*dto.LabelPair{{Name: &c.label, Value: &i.Metadata.Name}}
	all := [...]sample{
		{desc: c.desired, value: number(i.Status.Desired == string(manifest.StateRunning))},
		{desc: c.running, value: number(i.Status.Phase == plan.PhaseRunning)},
		{desc: c.synced, value: number(i.is(Synced))},
		{desc: c.restart, value: number(i.is(RestartRequired))},
		{desc: c.blocked, value: number(i.is(Blocked))},
		{desc: c.again, value: float64(i.Status.Restarts), counts: true},
	}
	for n := range all {
		all[n].labels = labels
		ch <- &all[n]
	}
}

// sample is a metric whose labels are shared with others of the same instance. With prometheus.NewConstMetric, which
// makes labels anew for each, a scrape of a thousand instances takes half as much again.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	value  float64
	counts bool
}

func (s *sample) Desc() *prometheus.Desc { return s.desc }

func (s *sample) Write(out *dto.Metric) error {
	if out.Label = s.labels; s.counts {
		out.Counter = &dto.Counter{Value: &s.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
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
