package test

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestUsageOfDomains: the agent's metrics say what machines use, of one that runs and of one that is off, and forget one that is
// gone. promtool finds nothing amiss with any of the metrics.
func TestUsageOfDomains(t *testing.T) {
	h := newHost(t)
	h.flags = append(h.flags, "--statistics-interval", "1s")
	web, idle := machineDoc("web", "", "16Mi", "root"), machineDoc("idle", "", "16Mi", "root")
	h.push("Two machines", web, idle, runDoc("web", ""), runDoc("idle", "state: Stopped"))
	h.agent()
	h.instance("web", "runs", phase(plan.PhaseRunning))
	metrics := func() string {
		answer, err := http.Get("http://" + h.listen + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v\n%s", answer.Status, err, text)
		}
		return string(text)
	}
	has := func(series ...string) func() bool {
		return func() bool {
			text := metrics()
			for _, s := range series {
				if !strings.Contains(text, "\n"+s) {
					return false
				}
			}
			return true
		}
	}
	sandboxtest.Wait(t, 20*time.Second, has("libvirt_up 1\n", `libvirt_domain_info_vstate{domain="web"} 1`+"\n", `libvirt_domain_info_vstate{domain="idle"} 5`+"\n",
		`libvirt_domain_info_maximum_memory_bytes{domain="idle"} 1.6777216e+07`+"\n", `libvirt_domain_info_cpu_time_seconds_total{domain="web"} `,
		`libvirt_domain_vcpu_state{domain="web",vcpu="0"} 1`+"\n", `libvirt_domain_block_stats_read_requests_total{domain="web",source_file="`+h.sandbox.PoolDir()+`/web.root.qcow2",target_device="vda"} `),
		"the metrics say what the machines use")
	lint := exec.Command("promtool", "check", "metrics")
	lint.Stdin = strings.NewReader(metrics())
	if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	h.push("One machine", web, runDoc("web", ""))
	sandboxtest.Wait(t, 20*time.Second, func() bool { return !strings.Contains(metrics(), `domain="idle"`) }, "what is gone has no series")
}
