package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// oracle knows which guests are up: those that nobody has told it of as bad.
type oracle struct {
	bad   map[string]string // a part of the guest's probe or its name, and what is wrong with it
	after time.Duration     // how long a guest takes to come up
	known map[string]plan.Readiness
	ports map[string]int
}

func newOracle() *oracle {
	return &oracle{bad: map[string]string{}, known: map[string]plan.Readiness{}, ports: map[string]int{}}
}

func (o *oracle) Run(ctx context.Context)          { <-ctx.Done() }
func (o *oracle) Watch(probes []plan.Probe)        { o.Once(context.Background(), probes) }
func (o *oracle) Changed() <-chan struct{}         { return nil }
func (o *oracle) Ready() map[string]plan.Readiness { return maps.Clone(o.known) }
func (o *oracle) Once(_ context.Context, probes []plan.Probe) {
	known := map[string]plan.Readiness{}
	for _, p := range probes {
		r := o.known[p.Name]
		if r.ID != p.ID || o.ports[p.Name] != p.Port && !p.Old {
			r = plan.Readiness{ID: p.ID, Since: time.Now()}
			o.ports[p.Name] = p.Port
		}
		why := o.bad[p.Name]
		if why == "" {
			why = o.bad[fmt.Sprint(o.ports[p.Name])]
		}
		if why == "" && time.Since(r.Since) < o.after {
			why = "it is booting"
		}
		r.Ready, r.Message = why == "", why
		known[p.Name] = r
	}
	o.known = known
}

// probed is a spec whose probe has a port, by which it is told from another, and half a minute to succeed.
func probed(port int, guest string) string {
	return fmt.Sprintf("readinessProbe: {tcpSocket: {port: %d}, failureThreshold: 3}, %s", port, memory(diskless, guest))
}

// withOracle is with, and an oracle.
func withOracle(t *testing.T, scenario func(a *agent, l *fakevirt.Libvirt, o *oracle)) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		o := newOracle()
		a.prober = o
		a.restart()
		scenario(a, l, o)
	})
}

func (a *agent) settle(passes int) (done []string) {
	for range passes {
		done = append(done, a.pass()...)
		time.Sleep(time.Second)
	}
	return done
}

func TestNextMemberWaitsUntilOneIsUp(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		members := func(guest string) string {
			return docs(config("web", "rollout: Restart", probed(1, guest)), group("web", "replicas: 3, hosts: [kvm1]"))
		}
		o.after = 5 * time.Second
		a.repo.commit(t, members("64Mi"), 0)
		a.settle(8)
		a.quiet()
		a.repo.commit(t, members("128Mi"), 0)
		var order []string
		for range 40 {
			for _, done := range a.pass() {
				if what := strings.Fields(done); what[1] == string(plan.EffectRestart) {
					order = append(order, what[0])
				}
			}
			up := 0
			for _, x := range a.facts.Assessments {
				if x.Phase == plan.PhaseRunning && x.Unready == "" {
					up++
				}
			}
			if up < 2 {
				t.Fatalf("%d of 3 members are up after %v", up, order)
			}
			time.Sleep(time.Second)
		}
		if want := []string{"web-0", "web-1", "web-2"}; !slices.Equal(order, want) {
			t.Errorf("restarts = %v, want %v", order, want)
		}
		a.quiet()
	})
}

func TestRolloutStopsAtTheMemberThatDoesNotComeUp(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		members := func(port int, guest string) string {
			return docs(config("web", "rollout: Restart", probed(port, guest)), group("web", "replicas: 3, hosts: [kvm1]"))
		}
		a.repo.commit(t, members(1, "64Mi"), 0)
		a.settle(3)
		o.bad["web-0"] = "connection refused"
		a.repo.commit(t, members(1, "128Mi"), 0)
		if n := len(slices.DeleteFunc(a.settle(20), func(s string) bool { return !strings.Contains(s, " restart ") })); n != 1 {
			t.Errorf("%d members were restarted before the first was up", n)
		}
		if got := a.blocked("web-1"); len(got) > 0 {
			t.Errorf("it is blocked for %v before the time is over", got)
		}
		a.settle(20)
		for _, name := range []string{"web-1", "web-2"} {
			x := a.assessment(name)
			if len(x.Blocked) != 1 || x.Blocked[0].Reason != "RolloutStopped" || !strings.Contains(x.Blocked[0].Message, "web-0: it is not up after 30s: connection refused") {
				t.Errorf("%s is blocked for %+v", name, x.Blocked)
			}
		}
		// The next agent knows it, too; its clock begins anew.
		a.restart()
		clear(o.known)
		a.settle(3)
		if got := a.assessment("web-1").Notes; len(got) != 1 || got[0].Reason != "Waiting" {
			t.Errorf("web-1 is noted %v", got)
		}
		// A revision that mends it goes to the one that is down first, and on to the others when it is up.
		delete(o.bad, "web-0")
		o.bad["web-1"] = "a passing weakness" // unready, but not for the revision's sake
		a.repo.commit(t, members(1, "256Mi"), 0)
		a.expect("web-0 next-start Edited", "web-1 next-start Edited", "web-1 restart Rollout", "web-2 next-start Edited")
		delete(o.bad, "web-1")
		a.settle(10)
		a.quiet()
	})
}

func TestMemberThatCannotBeStartedStopsTheRollout(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		members := func(guest string) string {
			return docs(config("web", "rollout: Restart", probed(1, guest)), group("web", "replicas: 2, hosts: [kvm1]"))
		}
		a.repo.commit(t, members("64Mi"), 0)
		a.settle(3)
		l.RefuseStarts("web-0", "no such kernel")
		a.repo.commit(t, members("128Mi"), 0)
		a.settle(20)
		x := a.assessment("web-1")
		if len(x.Blocked) != 1 || x.Blocked[0].Reason != "RolloutStopped" || !strings.Contains(x.Blocked[0].Message, "no such kernel") {
			t.Errorf("web-1 is blocked for %+v", x.Blocked)
		}
	})
}
