package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// TestRolloutsInAnyOrder: whatever good and bad revisions come, wherever the agent is killed, no more members of a group are
// away than it allows, bad revisions end on the last good one, nothing loops, and a good revision gets through.
func TestRolloutsInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { rollouts(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func rollouts(t *testing.T, r *rand.Rand) {
	l := fakevirt.New()
	f := &faulty{Runner: l, at: -1}
	o := newOracle()
	o.after = 3 * time.Second
	a := newAgent(t, f)
	a.prober = o
	a.restart()
	size, most := 2+r.IntN(3), 1+r.IntN(2)
	says := func(port, mib int) string {
		return docs(config("web", "rollout: Restart\n  rollback: OnFailure", probed(port, fmt.Sprintf("%dMi", mib))),
			group("web", fmt.Sprintf("replicas: %d, hosts: [kvm1], maxUnavailable: %d", size, most)))
	}
	a.repo.commit(t, says(1, 64), 0)
	a.settle(10)
	good := 64
	for n := 2; n < 9; n++ {
		mib := 64 + n
		bad := r.IntN(2) == 0
		if bad {
			o.bad[fmt.Sprint(n)] = "connection refused"
		} else {
			good = mib
		}
		f.at, f.seen, f.after, f.struck = r.IntN(20), 0, r.IntN(2) == 0, false
		a.repo.commit(t, says(n, mib), 0)
		restarts := 0
		for range 90 {
			n, _ := a.settleWith(f)
			restarts += n
			if away := away(a); away > most {
				t.Fatalf("revision %d: %d members are away, and %d may be", n, away, most)
			}
		}
		if restarts > 2*size+2 {
			t.Errorf("revision %d: %d restarts of %d members", n, restarts, size)
		}
		if done := a.settle(10); len(done) > 0 {
			t.Errorf("revision %d does not come to an end: %v", n, done)
		}
		for _, x := range a.facts.Assessments {
			if got, want := a.memoryOf(x.Name), fmt.Sprint(good*1024); got != want || x.Unready != "" {
				t.Errorf("revision %d (bad: %v): %s runs with %s KiB, want %s; it is unready because %q; blocked: %v", n, bad, x.Name, got, want, x.Unready, x.Blocked)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// away is how many members do not run, or are not up.
func away(a *agent) int {
	n := 0
	for _, x := range a.facts.Assessments {
		if x.Phase != plan.PhaseRunning || x.Unready != "" {
			n++
		}
	}
	return n
}
