package stats

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// Collector shows what was last gathered. A scrape waits for nobody.
type Collector struct {
	gatherer *Gatherer
	up, info *prometheus.Desc
	series   [scopes]map[string][]shown // by libvirt's name of the value
}

// shown is a series.
type shown struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	scale float64
}

// NewCollector makes a collector of what the gatherer gathers.
func NewCollector(g *Gatherer) *Collector {
	c := &Collector{
		gatherer: g,
		up:       prometheus.NewDesc("libvirt_up", "Whether libvirt said what domains use, when it was asked last.", nil, nil),
		info:     prometheus.NewDesc("libvirt_domain_info_meta", "A domain, and its UUID.", []string{"domain", "uuid"}, nil),
	}
	for n := range c.series {
		c.series[n] = map[string][]shown{}
	}
	for _, r := range table() {
		d := prometheus.NewDesc("libvirt_domain_"+r.name, r.help, r.of.labels(), nil)
		c.series[r.of][r.stat] = append(c.series[r.of][r.stat], shown{d, r.kind, r.scale})
	}
	return c
}

// Describe sends all descriptions.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.up
	ch <- c.info
	for _, of := range c.series {
		for _, all := range of {
			for _, s := range all {
				ch <- s.desc
			}
		}
	}
}

// Collect sends what was last gathered.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	last := c.gatherer.latest.Load()
	up := 0.0
	if last.up {
		up = 1
	}
	ch <- &metric{desc: c.up, kind: prometheus.GaugeValue, value: up}
	for n := range last.usage {
		u := &last.usage[n]
		ch <- &metric{desc: c.info, kind: prometheus.GaugeValue, value: 1, labels: labelled([]string{"domain", "uuid"}, u.Name, u.UUID)}
		c.send(ch, ofDomain, u.Values, u.Name)
		for _, d := range u.Disks {
			c.send(ch, ofDisk, d.Values, u.Name, d.Path, d.Name)
		}
		for _, d := range u.Interfaces {
			c.send(ch, ofInterface, d.Values, u.Name, d.Name)
		}
		for _, d := range u.VCPUs {
			c.send(ch, ofVCPU, d.Values, u.Name, d.Name)
		}
	}
}

// send sends the values of one domain or device, which share their labels.
func (c *Collector) send(ch chan<- prometheus.Metric, of scope, values []plan.UsageValue, labels ...string) {
	pairs := labelled(of.labels(), labels...)
	for _, v := range values {
		for _, s := range c.series[of][v.Stat] {
			ch <- &metric{desc: s.desc, kind: s.kind, value: float64(v.Value) * s.scale, labels: pairs}
		}
	}
}

// labelled puts names, which are sorted, and values together.
func labelled(names []string, values ...string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(names))
	for n := range names {
		values[n] = strings.ToValidUTF8(values[n], "\ufffd") // a path is any bytes, and one bad label spoils a whole scrape
		pairs[n] = &dto.LabelPair{Name: &names[n], Value: &values[n]}
	}
	return pairs
}

// metric is one value, with labels that others have too: a thousand machines have fifty thousand of them.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  float64
	labels []*dto.LabelPair
}

func (m *metric) Desc() *prometheus.Desc { return m.desc }

func (m *metric) Write(out *dto.Metric) error {
	if out.Label = m.labels; m.kind == prometheus.CounterValue {
		out.Counter = &dto.Counter{Value: &m.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}
