package stats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// libvirt is what a test wants it to say.
type libvirt struct {
	mu    sync.Mutex
	usage []plan.Usage
	err   error
	takes time.Duration
	asked []time.Time
}

func (l *libvirt) Usage(context.Context) ([]plan.Usage, error) {
	l.mu.Lock()
	l.asked = append(l.asked, time.Now())
	usage, err, takes := l.usage, l.err, l.takes
	l.mu.Unlock()
	time.Sleep(takes)
	return usage, err
}

func (l *libvirt) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func values(pairs ...any) []plan.UsageValue {
	var all []plan.UsageValue
	for n := 0; n < len(pairs); n += 2 {
		all = append(all, plan.UsageValue{Stat: pairs[n].(string), Value: uint64(pairs[n+1].(int))})
	}
	return all
}

func web(name string) plan.Usage {
	return plan.Usage{
		Name: name, UUID: "u-" + name,
		Values:     values("state.state", 1, "state.reason", 1, "cpu.time", 1500000000, "balloon.current", 1024, "balloon.maximum", 2048, "vcpu.current", 2),
		Disks:      []plan.DeviceUsage{{Name: "vda", Path: "/var/lib/libvirt/images/\xff.qcow2", Values: values("rd.bytes", 512, "rd.times", 2000000000, "capacity", 1<<30)}, {Name: "sda"}},
		Interfaces: []plan.DeviceUsage{{Name: "vnet0", Values: values("rx.bytes", 7, "tx.drop", 1)}},
		VCPUs:      []plan.DeviceUsage{{Name: "0", Values: values("state", 1, "time", 500000000)}},
	}
}

// started is a gatherer in a bubble of virtual time, and what ends it.
func started(t *testing.T, l *libvirt) (*Gatherer, func()) {
	g := New(l, 30*time.Second, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		g.Run(ctx)
		close(ended)
	}()
	synctest.Wait()
	return g, func() {
		stop()
		<-ended
	}
}

// TestSeries: names, labels and units are those that dashboards ask for.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stop := started(t, &libvirt{usage: []plan.Usage{web("web"), {Name: "off", UUID: "u-off", Values: values("state.state", 5)}}})
		defer stop()
		c := NewCollector(g)
		for name, want := range map[string]string{
			"libvirt_up":                                           `libvirt_up 1`,
			"libvirt_domain_info_meta":                             "libvirt_domain_info_meta{domain=\"off\",uuid=\"u-off\"} 1\nlibvirt_domain_info_meta{domain=\"web\",uuid=\"u-web\"} 1",
			"libvirt_domain_info_vstate":                           "libvirt_domain_info_vstate{domain=\"off\"} 5\nlibvirt_domain_info_vstate{domain=\"web\"} 1",
			"libvirt_domain_info_cpu_time_seconds_total":           `libvirt_domain_info_cpu_time_seconds_total{domain="web"} 1.5`,
			"libvirt_domain_info_maximum_memory_bytes":             `libvirt_domain_info_maximum_memory_bytes{domain="web"} 2.097152e+06`,
			"libvirt_domain_info_memory_usage_bytes":               `libvirt_domain_info_memory_usage_bytes{domain="web"} 1.048576e+06`,
			"libvirt_domain_info_virtual_cpus":                     `libvirt_domain_info_virtual_cpus{domain="web"} 2`,
			"libvirt_domain_block_stats_read_bytes_total":          `libvirt_domain_block_stats_read_bytes_total{domain="web",source_file="/var/lib/libvirt/images/` + "\ufffd" + `.qcow2",target_device="vda"} 512`,
			"libvirt_domain_block_stats_read_time_seconds_total":   `libvirt_domain_block_stats_read_time_seconds_total{domain="web",source_file="/var/lib/libvirt/images/` + "\ufffd" + `.qcow2",target_device="vda"} 2`,
			"libvirt_domain_interface_stats_receive_bytes_total":   `libvirt_domain_interface_stats_receive_bytes_total{domain="web",target_device="vnet0"} 7`,
			"libvirt_domain_interface_stats_transmit_drops_total":  `libvirt_domain_interface_stats_transmit_drops_total{domain="web",target_device="vnet0"} 1`,
			"libvirt_domain_vcpu_time_seconds_total":               `libvirt_domain_vcpu_time_seconds_total{domain="web",vcpu="0"} 0.5`,
			"libvirt_domain_memory_stats_actual_balloon_bytes":     `libvirt_domain_memory_stats_actual_balloon_bytes{domain="web"} 1.048576e+06`,
			"libvirt_domain_interface_stats_receive_packets_total": "",
		} {
			if err := testutil.CollectAndCompare(c, strings.NewReader(headOf(t, c, name)+want+"\n"), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}

// headOf is a series' HELP and TYPE, which the table says.
func headOf(t *testing.T, c *Collector, name string) string {
	t.Helper()
	kinds := map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge"}
	for _, r := range table() {
		if "libvirt_domain_"+r.name == name && testutil.CollectAndCount(c, name) > 0 {
			return fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, r.help, name, kinds[r.kind])
		}
	}
	switch name {
	case "libvirt_up":
		return "# HELP libvirt_up Whether libvirt said what domains use, when it was asked last.\n# TYPE libvirt_up gauge\n"
	case "libvirt_domain_info_meta":
		return "# HELP libvirt_domain_info_meta A domain, and its UUID.\n# TYPE libvirt_domain_info_meta gauge\n"
	}
	return ""
}

// TestAScrapeAsksNobody: what is shown is what was gathered last, for three intervals; what is gone has no series.
func TestAScrapeAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &libvirt{usage: []plan.Usage{web("a"), web("b")}}
		g, stop := started(t, l)
		defer stop()
		c := NewCollector(g)
		count := func() int {
			synctest.Wait()
			return testutil.CollectAndCount(c, "libvirt_domain_info_vstate")
		}
		if n := count(); n != 2 || len(l.asked) != 1 {
			t.Errorf("%d domains, asked %d times", n, len(l.asked))
		}
		l.set(func() { l.usage = l.usage[:1] })
		time.Sleep(30 * time.Second)
		if n := count(); n != 1 {
			t.Errorf("%d domains, though one is gone", n)
		}
		l.set(func() { l.err = errors.New("cannot connect") })
		time.Sleep(90 * time.Second)
		if n := count(); n != 1 {
			t.Errorf("%d domains after 90 s without libvirt", n)
		}
		if up := testutil.ToFloat64(only{c, "libvirt_up"}); up != 0 {
			t.Errorf("libvirt_up = %v", up)
		}
		time.Sleep(time.Minute)
		if n := count(); n != 0 {
			t.Errorf("%d domains after 150 s without libvirt", n)
		}
	})
}

// only is a collector's one series without labels.
type only struct {
	c    prometheus.Collector
	name string
}

func (o only) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(o, ch) }

func (o only) Collect(ch chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric, 1000)
	o.c.Collect(all)
	close(all)
	for m := range all {
		if strings.Contains(m.Desc().String(), `"`+o.name+`"`) {
			ch <- m
		}
	}
}

// TestGatheringCostsAShare: where it takes long, it is done more seldom.
func TestGatheringCostsAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &libvirt{takes: 20 * time.Second}
		_, stop := started(t, l)
		time.Sleep(time.Hour)
		stop()
		for n := 1; n < len(l.asked); n++ {
			if gap := l.asked[n].Sub(l.asked[n-1]); gap != 100*time.Second {
				t.Fatalf("asked again after %v", gap)
			}
		}
		if len(l.asked) < 30 {
			t.Errorf("asked %d times in an hour", len(l.asked))
		}
	})
}

// BenchmarkScrape is of 1,000 machines with two disks and an interface each.
func BenchmarkScrape(b *testing.B) {
	var all []plan.Usage
	for n := range 1000 {
		all = append(all, web(fmt.Sprintf("web-%d", n)))
	}
	g := New(&libvirt{}, time.Minute, slog.New(slog.DiscardHandler))
	g.latest.Store(&sample{usage: all, up: true})
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(g))
	for b.Loop() {
		if _, err := r.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
