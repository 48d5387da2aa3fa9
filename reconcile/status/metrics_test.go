package status

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// allMetrics is a registry with every metric in it, showing a running instance.
func allMetrics(t testing.TB) (*prometheus.Registry, *Server) {
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.Fetched(time.Second, nil)
	m.Fetched(time.Second, errors.New("no route to host"))
	m.Passed(time.Second, nil)
	m.Acted(plan.Action{Effect: plan.EffectStart, Reason: "Wanted"}, nil)
	server := NewServer(registry, Sources{Alive: func() bool { return true }})
	server.latest.Store(s.latest)
	return registry, server
}

func TestMetricsAreClean(t *testing.T) {
	_, server := allMetrics(t)
	problems, err := promlint.New(answer(server, "/metrics").Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricsThatDashboardsBuildOn(t *testing.T) {
	registry, server := allMetrics(t)
	for _, name := range []string{"gitvirt_build_info", "gitvirt_revision_info", "gitvirt_source_fetch_total", "gitvirt_source_fetch_duration_seconds",
		"gitvirt_source_last_success_timestamp_seconds", "gitvirt_source_unverified_total", "gitvirt_reconcile_total", "gitvirt_reconcile_duration_seconds", "gitvirt_actions_total",
		"gitvirt_instance_info", "gitvirt_instance_desired_running", "gitvirt_instance_running", "gitvirt_instance_synced",
		"gitvirt_instance_restart_required", "gitvirt_instance_blocked", "gitvirt_instance_restarts_total", "gitvirt_documents", "gitvirt_libvirt_up"} {
		if n, err := testutil.GatherAndCount(registry, name); n == 0 || err != nil {
			t.Errorf("%s has %d series: %v", name, n, err)
		}
	}
	server.Publish(Facts{Source: Source{Revision: "0123abc"}, Libvirt: Libvirt{Up: true}, Assessments: []plan.Assessment{}})
	if n, err := testutil.GatherAndCount(registry, "gitvirt_instance_running", "gitvirt_instance_info"); n != 0 || err != nil {
		t.Errorf("an instance that is gone has %d series: %v", n, err)
	}
}

// fleet are the facts of a host with that many running instances.
func fleet(t testing.TB, size int) Facts {
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	f := s.facts
	one := f.Assessments[0]
	f.Assessments = nil
	for n := range size {
		a, i, d := one, *one.Instance, *one.Domain
		a.Name = fmt.Sprintf("web-%04d", n)
		i.Name, d.Name = a.Name, a.Name
		d.Live.Hash = a.Name
		a.Instance, a.Domain = &i, &d
		f.Assessments = append(f.Assessments, a)
	}
	return f
}

// cpu is the CPU time that the process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// nowhere takes an answer and keeps nothing.
type nowhere struct {
	header http.Header
	bytes  int
}

func (n *nowhere) Header() http.Header { return n.header }
func (n *nowhere) WriteHeader(int)     {}
func (n *nowhere) Write(p []byte) (int, error) {
	n.bytes += len(p)
	return len(p), nil
}

// BenchmarkScrape scrapes 1,000 instances; the budget is 10 ms of CPU.
func BenchmarkScrape(b *testing.B) {
	server := NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return true }})
	server.Publish(fleet(b, 1000))
	request := httptest.NewRequest("GET", "/metrics", nil)
	size, before := 0, cpu(b)
	b.ReportAllocs()
	for b.Loop() {
		w := &nowhere{header: http.Header{}}
		server.ServeHTTP(w, request)
		size = w.bytes
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(size), "bytes")
}

// BenchmarkReport makes a snapshot of 1,000 instances, with nothing changed and with one that is defined anew.
func BenchmarkReport(b *testing.B) {
	f := fleet(b, 1000)
	before := Report(nil, f)
	changed := f
	changed.Assessments = slices.Clone(f.Assessments)
	d := *f.Assessments[500].Domain
	d.Live.Hash = "another"
	changed.Assessments[500].Domain = &d
	for name, f := range map[string]Facts{"unchanged": f, "one changed": changed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := Report(before, f); len(s.Events) != len(before.Events) || len(s.Instances) != 1000 {
					b.Fatal("nothing happened, and there are events")
				}
			}
		})
	}
}

func TestASeriesIsThereBeforeTheFirstError(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	for _, name := range []string{"gitvirt_source_fetch_total", "gitvirt_reconcile_total"} {
		if n, err := testutil.GatherAndCount(registry, name); n != 2 || err != nil {
			t.Errorf("%s has %d series, want success and error: %v", name, n, err)
		}
	}
}
