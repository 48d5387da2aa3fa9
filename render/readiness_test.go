package render_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gitvirt/gitvirt/render"
)

func TestReadiness(t *testing.T) {
	lan := netip.MustParseAddr("192.0.2.7")
	tests := map[string]struct {
		spec string
		want render.Readiness
	}{
		"nothing is declared": {`{}`, render.Readiness{Period: time.Second, Timeout: time.Second, Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
		"agent": {`readinessProbe: {guestAgentPing: {}}`,
			render.Readiness{Check: render.CheckAgent, Period: 10 * time.Second, Timeout: time.Second, Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
		"exec": {`readinessProbe: {exec: {command: [test, -e, /up]}}`,
			render.Readiness{Check: render.CheckExec, Command: []string{"test", "-e", "/up"}, Period: 10 * time.Second, Timeout: time.Second, Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
		"TCP": {`readinessProbe: {tcpSocket: {port: 22, host: gate}, initialDelaySeconds: 5, periodSeconds: 2, timeoutSeconds: 3, successThreshold: 2, failureThreshold: 20}`,
			render.Readiness{Check: render.CheckTCP, Host: "gate", Port: 22, InitialDelay: 5 * time.Second, Period: 2 * time.Second, Timeout: 3 * time.Second,
				Successes: 2, Failures: 20, Progress: 45 * time.Second}},
		"the period's default counts": {`readinessProbe: {tcpSocket: {port: 22}, failureThreshold: 6}`,
			render.Readiness{Check: render.CheckTCP, Port: 22, Period: 10 * time.Second, Timeout: time.Second, Successes: 1, Failures: 6, Progress: time.Minute}},
		"HTTP": {`readinessProbe: {httpGet: {port: "8080", httpHeaders: [{name: Host, value: web}]}}`,
			render.Readiness{Check: render.CheckHTTP, Port: 8080, Path: "/", Scheme: "http", Headers: [][2]string{{"Host", "web"}}, Period: 10 * time.Second,
				Timeout: time.Second, Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
		"HTTPS": {`readinessProbe: {httpGet: {port: 443, path: /up, scheme: HTTPS}}`,
			render.Readiness{Check: render.CheckHTTP, Port: 443, Path: "/up", Scheme: "https", Period: 10 * time.Second, Timeout: time.Second,
				Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
		"an address": {seeded(", addresses: [192.0.2.7/24]"),
			render.Readiness{Addresses: []netip.Addr{lan}, Period: time.Second, Timeout: time.Second, Successes: 1, Failures: 3, Progress: 10 * time.Minute}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := machine(t, tt.spec)
			if diff := cmp.Diff(tt.want, i.Readiness(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if h := i.Public().ReadinessProbe; h != nil && h.HTTPGet != nil {
				for _, header := range h.HTTPGet.HTTPHeaders {
					if header.Value == "web" {
						t.Error("a header is shown, and may be a secret")
					}
				}
			}
		})
	}
}
