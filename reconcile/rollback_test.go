package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// trial is a machine that goes back when a revision fails. The port tells its probe from that of another revision.
func trial(port int, guest string) string {
	return docs(config("web", "rollout: Restart\n  rollback: OnFailure", probed(port, guest)), run("web", "state: Running"))
}

// memoryOf is how many KiB the machine runs with, as text.
func (a *agent) memoryOf(name string) string {
	_, rest, _ := strings.Cut(a.domain(name).Live.Text(), "<memory unit='KiB'>")
	kib, _, _ := strings.Cut(rest, "<")
	return kib
}

const (
	old = "65536"
	new = "131072"
)

func TestRollback(t *testing.T) {
	for name, tt := range map[string]struct {
		fails  func(o *oracle, l *fakevirt.Libvirt)
		later  func(l *fakevirt.Libvirt) // once the new revision runs
		mended func(l *fakevirt.Libvirt)
		says   string
	}{
		"not ready in time": {
			fails: func(o *oracle, l *fakevirt.Libvirt) { o.bad["2"] = "connection refused" },
			says:  "it is not up after 30s: connection refused",
		},
		"crashes before it is ready": {
			fails: func(o *oracle, l *fakevirt.Libvirt) { o.bad["2"] = "connection refused" },
			later: func(l *fakevirt.Libvirt) { l.GoDown("web", "crashed") },
			says:  "the guest went down before it was ready (crashed)",
		},
		"goes down before it is ready": {
			fails: func(o *oracle, l *fakevirt.Libvirt) { o.bad["2"] = "connection refused" },
			later: func(l *fakevirt.Libvirt) { l.GoDown("web", "shutdown") },
			says:  "the guest went down before it was ready (shutdown)",
		},
		"cannot be started": {
			fails: func(o *oracle, l *fakevirt.Libvirt) { l.RefuseStarts("web", "no such kernel") },
			says:  "it could not be started 3 times: cannot start web: no such kernel",
		},
	} {
		t.Run(name, func(t *testing.T) {
			withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
				a.repo.commit(t, trial(1, "64Mi"), 0)
				a.settle(3)
				a.quiet()
				first := a.domain("web").Inactive.Text()
				tt.fails(o, l)
				a.repo.commit(t, trial(2, "128Mi"), 0)
				if tt.later != nil {
					a.settle(3)
					if got := a.memoryOf("web"); got != new {
						t.Fatalf("it runs with %s KiB", got)
					}
					tt.later(l)
				}
				for range 60 {
					a.settle(1)
					if slices.Contains(a.blocked("web"), "RolledBack") {
						l.RefuseStarts("web", "")
						break
					}
				}
				a.settle(20)
				if got := a.memoryOf("web"); got != old {
					t.Errorf("it runs with %s KiB", got)
				}
				x := a.assessment("web")
				if len(x.Blocked) != 1 || x.Blocked[0].Reason != "RolledBack" {
					t.Fatalf("blocked = %+v", x.Blocked)
				}
				for _, want := range []string{"revision 000000000000 failed: " + tt.says, "it is back on revision 000000000000"} {
					if !strings.Contains(x.Blocked[0].Message, want) {
						t.Errorf("the message %q does not say %q", x.Blocked[0].Message, want)
					}
				}
				if x.Instance.Revision != commitName(1) || x.Rejected.Revision != commitName(2) {
					t.Errorf("it is of %s, and rejected is %s", x.Instance.Revision, x.Rejected.Revision)
				}
				if strings.Contains(first, "gitvirt:failed") {
					t.Error("the first definition has failed")
				}
				// It stays there: for other commits, other agents, and however the guest goes down.
				a.repo.commit(t, trial(2, "128Mi")+"\n====\n"+config("other", "", small), 0)
				a.restart()
				a.stays(t)
				l.GoDown("web", "crashed")
				a.settle(4)
				a.stays(t)
				// Until a revision changes it.
				o.bad = map[string]string{}
				a.repo.commit(t, trial(3, "256Mi"), 0)
				a.settle(8)
				a.quiet()
				if got := a.memoryOf("web"); got != "262144" {
					t.Errorf("it runs with %s KiB", got)
				}
				if strings.Contains(a.domain("web").Inactive.Text(), "gitvirt:failed") {
					t.Error("the failure is still recorded")
				}
			})
		})
	}
}

// stays holds that nothing more is done to a machine that was rolled back.
func (a *agent) stays(t *testing.T) {
	t.Helper()
	if done := a.settle(60); len(done) > 0 {
		t.Errorf("done: %v", done)
	}
	if got := a.blocked("web"); !slices.Equal(got, []string{"RolledBack"}) || a.memoryOf("web") != old {
		t.Errorf("blocked = %v, and it runs with %s KiB", got, a.memoryOf("web"))
	}
}

func TestNothingToGoBackTo(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		o.bad["1"], o.bad["2"] = "connection refused", "connection refused"
		a.repo.commit(t, trial(1, "64Mi"), 0)
		a.settle(60)
		a.quiet()
		a.repo.commit(t, trial(2, "128Mi"), 0)
		a.settle(60)
		a.quiet()
		if got := a.memoryOf("web"); got != new {
			t.Errorf("it runs with %s KiB", got)
		}
		if got := a.assessment("web").Unready; got != "it is not up after 30s: connection refused" {
			t.Errorf("it is unready because %s", got)
		}
	})
}

// TestRevisionThatFailedIsTriedAgainAfterAnother: A, B that fails, A, and B, which works now.
func TestRevisionThatFailedIsTriedAgainAfterAnother(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		a.repo.commit(t, trial(1, "64Mi"), 0)
		a.settle(3)
		o.bad["2"] = "connection refused"
		a.repo.commit(t, trial(2, "128Mi"), 0)
		a.settle(60)
		a.stays(t)
		a.repo.commit(t, trial(1, "64Mi"), 0)
		a.settle(3)
		a.quiet()
		clear(o.bad)
		a.repo.commit(t, trial(2, "128Mi"), 0)
		a.settle(5)
		a.quiet()
		if got := a.memoryOf("web"); got != new {
			t.Errorf("it runs with %s KiB", got)
		}
	})
}

func TestRolledBackMemberStopsItsGroup(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		members := func(port int, guest string) string {
			return docs(config("web", "rollout: Restart\n  rollback: OnFailure", probed(port, guest)), group("web", "replicas: 3, hosts: [kvm1]"))
		}
		a.repo.commit(t, members(1, "64Mi"), 0)
		a.settle(3)
		o.bad["2"] = "connection refused"
		a.repo.commit(t, members(2, "128Mi"), 0)
		restarted := map[string]int{}
		for range 120 {
			for _, done := range a.settle(1) {
				if what := strings.Fields(done); what[1] == string(plan.EffectRestart) {
					restarted[what[0]]++
				}
			}
		}
		// The others were ready before by a probe that has not changed for them: they still run as they did.
		if restarted["web-0"] != 2 || len(restarted) != 1 {
			t.Errorf("restarted: %v", restarted)
		}
		if got := a.blocked("web-0"); !slices.Equal(got, []string{"RolledBack"}) {
			t.Errorf("web-0 is blocked for %v", got)
		}
		for _, name := range []string{"web-1", "web-2"} {
			if got := a.blocked(name); !slices.Equal(got, []string{"RolloutStopped"}) || a.memoryOf(name) != old {
				t.Errorf("%s is blocked for %v, and runs with %s KiB", name, got, a.memoryOf(name))
			}
		}
		delete(o.bad, "2")
		a.repo.commit(t, members(2, "256Mi"), 0)
		a.settle(20)
		a.quiet()
	})
}

// TestRollbackSurvivesTheAgent kills the agent before and after each step of a rollback.
func TestRollbackSurvivesTheAgent(t *testing.T) {
	for at := 0; ; at++ {
		struck := true
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, after it: %v", at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := fakevirt.New()
					f := &faulty{Runner: l, at: -1}
					o := newOracle()
					a := newAgent(t, f)
					a.prober = o
					a.restart()
					a.repo.commit(t, trial(1, "64Mi"), 0)
					a.settle(4)
					o.bad["2"] = "connection refused"
					f.at, f.seen, f.after = at, 0, after
					a.repo.commit(t, trial(2, "128Mi"), 0)
					restarts := 0
					for range 150 {
						n, killed := a.settleWith(f)
						restarts += n
						if killed {
							clear(o.known)
						}
					}
					struck = f.struck
					a.stays(t)
					if restarts > 4 {
						t.Errorf("%d restarts", restarts)
					}
				})
			})
		}
		if !struck || t.Failed() {
			if at < 8 {
				t.Errorf("there were %d steps only", at)
			}
			return
		}
	}
}

// settleWith makes a pass under a fault, says how many restarts were done, and whether the fault struck now: then the
// agent was killed there, and another is in its place.
func (a *agent) settleWith(f *faulty) (restarts int, killed bool) {
	a.t.Helper()
	was := f.struck
	for _, done := range a.settle(1) {
		if strings.Contains(done, " restart ") {
			restarts++
		}
	}
	if killed = f.struck && !was; killed {
		a.restart()
	}
	return restarts, killed
}

func TestRevisionToGoBackToIsGone(t *testing.T) {
	withOracle(t, func(a *agent, l *fakevirt.Libvirt, o *oracle) {
		a.repo.commit(t, trial(1, "64Mi"), 0)
		a.settle(3)
		o.bad["2"] = "connection refused"
		a.repo.commit(t, trial(2, "128Mi"), 0)
		delete(a.repo.commits, commitName(1)) // the branch was rewritten
		a.settle(60)
		x := a.assessment("web")
		if len(x.Blocked) != 1 || !strings.Contains(x.Blocked[0].Message, "cannot be rolled back to revision 000000000000") {
			t.Errorf("blocked = %+v", x.Blocked)
		}
		if got := a.memoryOf("web"); got != new || x.Phase != plan.PhaseRunning {
			t.Errorf("it is %s with %s KiB", x.Phase, got)
		}
		time.Sleep(time.Second)
	})
}
