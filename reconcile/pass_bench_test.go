package reconcile_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"

	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// The benchmarks measure a whole pass (observe, plan, publish) beside the bare calls of go-libvirt that read the same, in turns,
// and report the medians and their ratio.

const fleetSize = 1000

// BenchmarkPassUnchanged is a pass over 1,000 defined domains in which nothing has changed, and libvirt's files say so. The
// floor is one list.
func BenchmarkPassUnchanged(b *testing.B) {
	a, lv := fleet(b)
	compare(b, func() { list(b, lv) }, func(int) {}, func(int) { look(b, a, 0) })
}

// BenchmarkPassOneEdited is a pass in which one of 1,000 machines was edited. The floor is a list, all inactive XML, and one
// define.
func BenchmarkPassOneEdited(b *testing.B) {
	a, lv := fleet(b)
	domains := list(b, lv)
	xml, err := lv.DomainGetXMLDesc(domains[0], libvirt.DomainXMLInactive)
	if err != nil {
		b.Fatal(err)
	}
	compare(b, func() {
		readAll(b, lv, list(b, lv))
		if _, err := lv.DomainDefineXMLFlags(xml, libvirt.DomainDefineValidate); err != nil {
			b.Fatal(err)
		}
	}, func(n int) { a.repo.commit(b, machines(n+1), 0) }, func(int) { look(b, a, 1) })
}

// BenchmarkPassCold is the first pass of an agent over 1,000 machines that are as they should be: everything is read, rendered
// and compared. The floor is a list, and all inactive XML.
func BenchmarkPassCold(b *testing.B) {
	a, lv := fleet(b)
	compare(b, func() { readAll(b, lv, list(b, lv)) }, func(int) {}, func(int) {
		a.restart()
		look(b, a, 0)
	})
}

// machines are the documents of the fleet, the first of which has another memory size each time.
func machines(edition int) string {
	var all []string
	for n := range fleetSize {
		guest := "16Mi"
		if n == 0 {
			guest = fmt.Sprintf("%dMi", 16+edition)
		}
		all = append(all, machineDocs(fmt.Sprintf("vm-%04d", n), "", guest, "state: Stopped", "root", "data", "nic0"))
	}
	return strings.Join(all, "\n====\n")
}

func fleet(b *testing.B) (*agent, *libvirt.Libvirt) {
	b.Helper()
	s := sandboxtest.Start(b)
	bed, stop := realBed(b, s)
	b.Cleanup(stop)
	a := newAgent(b, bed.libvirt)
	a.repo.commit(b, machines(0), 0)
	look(b, a, fleetSize)
	look(b, a, 0)
	return a, bare(b, s)
}

func bare(b *testing.B, s *sandbox.Sandbox) *libvirt.Libvirt {
	b.Helper()
	lv := libvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(s.Socket())))
	if err := lv.ConnectToURI(libvirt.QEMUSession); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = lv.Disconnect() })
	return lv
}

// look makes a pass, in which so many actions are done.
func look(b *testing.B, a *agent, actions int) {
	b.Helper()
	if did := a.pass(); len(did) != actions {
		b.Fatalf("%d actions, want %d: %.200v", len(did), actions, did)
	}
}

func list(b *testing.B, lv *libvirt.Libvirt) []libvirt.Domain {
	b.Helper()
	domains, _, err := lv.ConnectListAllDomains(1, 0)
	if err != nil || len(domains) != fleetSize {
		b.Fatalf("%d domains, %v", len(domains), err)
	}
	return domains
}

func readAll(b *testing.B, lv *libvirt.Libvirt, domains []libvirt.Domain) {
	b.Helper()
	next := make(chan libvirt.Domain)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for d := range next {
				if _, err := lv.DomainGetXMLDesc(d, libvirt.DomainXMLInactive); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, d := range domains {
		next <- d
	}
	close(next)
	all.Wait()
}

// compare runs both in turns. Ours is a fetch, a pass, and the look after it: it observes and plans twice.
func compare(b *testing.B, floor func(), prepare, ours func(n int)) {
	b.Helper()
	var floors, all []time.Duration
	for n := 0; b.Loop(); n++ {
		at := time.Now()
		floor()
		floors = append(floors, time.Since(at))
		prepare(n)
		at = time.Now()
		ours(n)
		all = append(all, time.Since(at))
	}
	slices.Sort(floors)
	slices.Sort(all)
	f, o := floors[len(floors)/2], all[len(all)/2]
	b.ReportMetric(float64(f.Microseconds())/1000, "ms-floor")
	b.ReportMetric(float64(o.Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(o)/float64(f), "x-floor")
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmRSS") {
				b.Log(strings.TrimSpace(line))
			}
		}
	}
}
