package runner_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/google/uuid"
	"github.com/kdomanski/iso9660"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// The benchmarks measure a runner and bare calls of go-libvirt in turns, and report the ratio of the times ("x-floor").
// The bare calls are the least that does the same work: nothing of libvirt's is checked, kept, or bounded in time.

// parallel is how many calls both have on their way.
const parallel = 8

// turns runs ours and the floor's work in turns, and reports the medians of their times and the medians' ratio: other
// work on the machine, and the disk's, would make means useless. Between is not measured.
func turns(b *testing.B, floor, ours, between func()) {
	b.Helper()
	var floors, all []time.Duration
	for b.Loop() {
		floors = append(floors, timed(floor))
		between()
		all = append(all, timed(ours))
		between()
	}
	slices.Sort(floors)
	slices.Sort(all)
	f, o := floors[len(floors)/2], all[len(all)/2]
	b.ReportMetric(float64(f.Microseconds())/1000, "ms-floor")
	b.ReportMetric(float64(o.Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(o)/float64(f), "x-floor")
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// bare connects to a sandbox with go-libvirt and nothing else.
func bare(b *testing.B, s *sandbox.Sandbox) *libvirt.Libvirt {
	b.Helper()
	lv := libvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(s.Socket())))
	if err := lv.ConnectToURI(libvirt.QEMUSession); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { lv.Disconnect() })
	return lv
}

// each does f for 0…n-1, several at once.
func each(b *testing.B, n int, f func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// fleet defines many machines whose definitions are as rendered ones are: with a record, disks, and NICs.
func fleet(b *testing.B, lv *libvirt.Libvirt, n int) []machine {
	b.Helper()
	machines := make([]machine, n)
	each(b, n, func(i int) error {
		machines[i] = newMachine(fmt.Sprintf("vm-%04d", i))
		_, err := lv.DomainDefineXMLFlags(machines[i].rendered(), 0)
		return err
	})
	return machines
}

func (m machine) rendered() string {
	return m.xml(&metadata.Metadata{Config: m.name, Revision: "3f2a9c1d3f2a9c1d3f2a9c1d3f2a9c1d3f2a9c1d", Digest: "0123456789abcdef",
		Run: 1, UID: m.uuid, Outcome: metadata.OutcomeStopped, DeletionPolicy: "Retain", GraceSeconds: 60},
		disks(m.volumes("/base.qcow2"))...)
}

func quietOptions(s *sandbox.Sandbox) runner.Options {
	return runner.Options{URI: s.URI(), ConfigDir: s.ConfigDir(), StateDir: s.StateDir(), Logger: slog.New(slog.DiscardHandler)}
}

// BenchmarkObserve reads 1,000 defined domains when libvirt's files are not known, so everything is read each time.
func BenchmarkObserve(b *testing.B) {
	s := sandboxtest.Start(b)
	lv := bare(b, s)
	fleet(b, lv, 1000)
	opts := quietOptions(s)
	opts.ConfigDir, opts.StateDir = "", ""
	r := start(b, opts)
	observe(b, r)
	turns(b, func() {
		domains, _, err := lv.ConnectListAllDomains(1, 0)
		if err != nil {
			b.Fatal(err)
		}
		each(b, len(domains), func(i int) error {
			_, err := lv.DomainGetXMLDesc(domains[i], libvirt.DomainXMLInactive)
			return err
		})
	}, func() { observe(b, r) }, func() {})
}

// BenchmarkObserveUnmoved observes 1,000 domains when libvirt's files and events say that nothing moved.
func BenchmarkObserveUnmoved(b *testing.B) {
	s := sandboxtest.Start(b)
	lv := bare(b, s)
	fleet(b, lv, 1000)
	r := start(b, quietOptions(s))
	time.Sleep(200 * time.Millisecond)
	observe(b, r)
	list := func() {
		if _, _, err := lv.ConnectListAllDomains(1, 0); err != nil {
			b.Fatal(err)
		}
	}
	turns(b, list, func() { observe(b, r) }, func() {})
}

// BenchmarkObserveOneEdited observes 1,000 domains after one was defined anew, and defines it; the floor is one list, one
// define, and reading that one.
func BenchmarkObserveOneEdited(b *testing.B) {
	s := sandboxtest.Start(b)
	lv := bare(b, s)
	machines := fleet(b, lv, 1000)
	r := start(b, quietOptions(s))
	time.Sleep(200 * time.Millisecond)
	observe(b, r)
	m := machines[500]
	define := m.step(plan.OpDefine)
	define.XML = m.rendered()
	turns(b, func() {
		if _, _, err := lv.ConnectListAllDomains(1, 0); err != nil {
			b.Fatal(err)
		}
		d, err := lv.DomainDefineXMLFlags(define.XML, libvirt.DomainDefineValidate)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := lv.DomainGetXMLDesc(d, libvirt.DomainXMLInactive); err != nil {
			b.Fatal(err)
		}
	}, func() {
		apply(b, r, define)
		observe(b, r)
	}, func() {
		time.Sleep(150 * time.Millisecond)
		observe(b, r)
	})
}

// BenchmarkCreate defines 50 machines and starts them paused.
func BenchmarkCreate(b *testing.B) {
	s := sandboxtest.Start(b)
	lv := bare(b, s)
	r := start(b, quietOptions(s))
	machines := make([]machine, 50)
	for i := range machines {
		machines[i] = newMachine(fmt.Sprintf("vm-%02d", i))
	}
	between := func() {
		each(b, len(machines), func(i int) error {
			d := libvirt.Domain{Name: machines[i].name, UUID: libvirt.UUID(uuid.MustParse(machines[i].uuid))}
			if err := lv.DomainDestroy(d); err != nil {
				return err
			}
			return lv.DomainUndefine(d)
		})
	}
	turns(b, func() {
		// libvirt works on five calls of a connection at once, so the floor has one for each.
		pool := make(chan *libvirt.Libvirt, parallel)
		for range parallel {
			pool <- bare(b, s)
		}
		each(b, len(machines), func(i int) error {
			lv := <-pool
			defer func() { pool <- lv }()
			d, err := lv.DomainDefineXMLFlags(machines[i].xml(nil), libvirt.DomainDefineValidate)
			if err != nil {
				return err
			}
			_, err = lv.DomainCreateWithFlags(d, uint32(libvirt.DomainStartPaused))
			return err
		})
	}, func() {
		var all sync.WaitGroup
		for _, m := range machines {
			all.Go(func() { apply(b, r, m.define(nil), m.startPaused()) })
		}
		all.Wait()
	}, between)
}

// BenchmarkProvision makes overlay and seed of 20 machines; the floor is qemu-img and plain writes of the same, not
// synced, and one refresh of the pool.
func BenchmarkProvision(b *testing.B) {
	s := sandboxtest.Start(b)
	lv := bare(b, s)
	r := start(b, quietOptions(s))
	base := baseImage(b, s)
	pool, err := lv.StoragePoolLookupByName("default")
	if err != nil {
		b.Fatal(err)
	}
	machines := make([]machine, 20)
	for i := range machines {
		machines[i] = newMachine(fmt.Sprintf("vm-%02d", i))
	}
	seed := seedImage(b)
	clean := func() {
		files, err := filepath.Glob(filepath.Join(s.PoolDir(), "*"))
		if err != nil || len(files) != 2*len(machines) {
			b.Fatalf("there are %d files: %v", len(files), err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				b.Fatal(err)
			}
		}
		if err := lv.StoragePoolRefresh(pool, 0); err != nil {
			b.Fatal(err)
		}
	}
	turns(b, func() {
		each(b, len(machines), func(i int) error {
			v := machines[i].volumes(base)
			if err := os.WriteFile(filepath.Join(s.PoolDir(), v[3].File), seed, 0o600); err != nil {
				return err
			}
			return exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "qcow2",
				filepath.Join(s.PoolDir(), v[0].File)).Run()
		})
		if err := lv.StoragePoolRefresh(pool, 0); err != nil {
			b.Fatal(err)
		}
	}, func() {
		var all sync.WaitGroup
		for _, m := range machines {
			v := m.volumes(base)
			all.Go(func() { apply(b, r, m.makeVolumes(v[0], v[3])) })
		}
		all.Wait()
	}, clean)
}

// seedImage is what a seed's file holds, for the floor to write.
func seedImage(b *testing.B) []byte {
	b.Helper()
	iso, err := iso9660.NewWriter()
	if err != nil {
		b.Fatal(err)
	}
	defer iso.Cleanup()
	path := filepath.Join(b.TempDir(), "seed")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := iso.WriteTo(f, "cidata"); err != nil {
		b.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return append(content, make([]byte, 4096)...)
}
