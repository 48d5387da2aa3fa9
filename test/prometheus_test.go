package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestAlertRules: each alert fires when it should, and none when all is well, as promtool finds.
func TestAlertRules(t *testing.T) {
	out, err := exec.Command("promtool", "test", "rules", "../deploy/prometheus/gitvirt.rules.test.yaml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// panel is one of the dashboard's.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
}

// TestPrometheusAndItsDashboard: a real Prometheus scrapes a real agent by the configuration that is in deploy, takes the alert
// rules, and has an answer to every query of the dashboard.
func TestPrometheusAndItsDashboard(t *testing.T) {
	h := newHost(t)
	h.flags = append(h.flags, "--statistics-interval", "1s")
	web := machineDoc("web", "", "16Mi", "root")
	h.push("A machine", web, runDoc("web", ""))
	h.agent()
	h.instance("web", "runs", phase(plan.PhaseRunning))
	h.push("Larger, from the next start", strings.Replace(web, "16Mi", "24Mi", 1), runDoc("web", ""))
	h.instance("web", "waits for a restart", func(i status.Instance) bool { return condition(i, status.RestartRequired).Status == "True" })

	ask := prometheus(t, h.listen)
	var dashboard struct{ Panels []panel }
	raw, err := os.ReadFile("../deploy/grafana/gitvirt.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries++
			expr := strings.NewReplacer("$host", ".+", "$vm", ".+", "$__rate_interval", "10s").Replace(target.Expr)
			// The machine has no interface: libvirt counts nothing of those that a session can have.
			empty := strings.HasPrefix(p.Title, "Network: ") || strings.Contains(expr, "usable_bytes")
			sandboxtest.Wait(t, 60*time.Second, func() bool {
				found, err := ask(expr)
				if err != nil {
					t.Fatalf("%s: %s: %v", p.Title, expr, err)
				}
				return found > 0 || empty
			}, fmt.Sprintf("there is an answer to %s: %s", p.Title, expr))
		}
	}
	if queries < 30 {
		t.Errorf("the dashboard has %d queries", queries)
	}
	for expr, want := range map[string]int{
		`up{job="gitvirt"} == 1`:   1,
		`ALERTS`:                   1, // that a restart is overdue is pending
		`gitvirt_instance_running`: 1,
		`gitvirt_instance_restart_required{instance="web", host="127.0.0.1"} == 1`: 1,
		`libvirt_domain_info_vstate{domain="web", host="127.0.0.1"} == 1`:          1,
	} {
		if found, err := ask(expr); err != nil || found != want {
			t.Errorf("%s: %d results, %v", expr, found, err)
		}
	}
}

// prometheus runs one that scrapes an agent each second, by the configuration in deploy, and returns what asks it: how many
// results an expression has.
func prometheus(t *testing.T, agent string) func(expr string) (int, error) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("../deploy/prometheus/prometheus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(text), `"kvm1.example.org:9177", "kvm2.example.org:9177"`, fmt.Sprintf("%q", agent), 1)
	rules, err := filepath.Abs("../deploy/prometheus/gitvirt.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + strings.Replace(config, "gitvirt.rules.yaml", rules, 1)
	if !strings.Contains(config, agent) || !strings.Contains(config, rules) {
		t.Fatalf("the configuration in deploy is not as it was:\n%s", text)
	}
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	log := &syncBuffer{}
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = server.Wait() // it was killed
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log)
		}
	})
	ask := func(expr string) (int, error) {
		answer, err := http.Get("http://" + address + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		var said struct {
			Status, Error string
			Data          struct{ Result []any }
		}
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Status != "success" {
			return 0, fmt.Errorf("%s %s %w", said.Status, said.Error, err)
		}
		return len(said.Data.Result), nil
	}
	sandboxtest.Wait(t, 60*time.Second, func() bool {
		_, err := ask("vector(1)")
		return err == nil
	}, "Prometheus answers")
	return ask
}
