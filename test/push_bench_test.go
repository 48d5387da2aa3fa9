package test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/proxy"
)

// BenchmarkPushToFirstWrite is the time from a branch's move in a watched local repository to the first call by which an agent
// changes libvirt, the program that moves the branch counted in. The floor is `git fetch` of the same commit into a clone. Medians,
// in turns.
func BenchmarkPushToFirstWrite(b *testing.B) {
	h := newHost(b)
	edition := func(n int) []string {
		return []string{machineDoc("web", "", fmt.Sprintf("%dMi", 16+n%100), "root"), runDoc("web", "state: Paused")}
	}
	h.push("First", edition(0)...)
	h.agent()
	h.instance("web", "is paused", phase(plan.PhasePaused))
	dir := b.TempDir()
	h.git(dir, "clone", "--quiet", h.bare, "other")
	var floors, all []time.Duration
	n := 0
	for b.Loop() {
		n++
		commit := h.commit("Edit", edition(n)...)
		h.git(h.clone, "push", "--quiet", "origin", "HEAD:refs/heads/waiting")
		fault := h.proxy.Inject(proxy.Fault{})
		at := time.Now()
		h.git(h.bare, "update-ref", "refs/heads/main", commit)
		<-fault.Fired()
		all = append(all, time.Since(at))
		fault.Remove()
		h.settled(commit)
		at = time.Now()
		h.git(dir+"/other", "fetch", "--quiet", "origin", "main")
		floors = append(floors, time.Since(at))
	}
	slices.Sort(floors)
	slices.Sort(all)
	f, o := floors[len(floors)/2], all[len(all)/2]
	b.ReportMetric(float64(f.Microseconds())/1000, "ms-floor")
	b.ReportMetric(float64(o.Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(o)/float64(f), "x-floor")
}
