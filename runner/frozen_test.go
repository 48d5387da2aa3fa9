package runner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// impatient are deadlines for tests in which something does not answer.
var impatient = runner.Deadlines{Connect: 5 * time.Second, Read: 5 * time.Second, Change: 500 * time.Millisecond, Start: 30 * time.Second}

// together runs steps of several machines at once, and returns their errors in the machines' order.
func together(t *testing.T, r *runner.Runner, machines []machine, step func(machine) plan.Step) []error {
	t.Helper()
	errs := make([]error, len(machines))
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() { errs[i] = r.Apply(t.Context(), []plan.Step{step(m)}) })
	}
	all.Wait()
	return errs
}

// TestFrozen freezes QEMUs, asks each for something, and checks that all other machines are observed and changed as if
// nothing were. Libvirt's daemon has 20 workers, and each unanswered call holds one.
func TestFrozen(t *testing.T) {
	for _, frozen := range []int{1, 5, 25} {
		t.Run(fmt.Sprint(frozen), func(t *testing.T) {
			t.Parallel()
			s := sandboxtest.Start(t)
			opts := options(t, s)
			opts.Deadlines = impatient
			r := start(t, opts)
			var sick []machine
			for i := range frozen {
				sick = append(sick, newMachine(fmt.Sprintf("sick%02d", i)))
			}
			healthy, fresh := newMachine("healthy"), newMachine("fresh")
			all := append(slices.Clone(sick), healthy)
			for i, err := range together(t, r, all, func(m machine) plan.Step { return m.define(nil) }) {
				if err != nil {
					t.Fatalf("machine %d: %v", i, err)
				}
			}
			for i, err := range together(t, r, all, machine.startPaused) {
				if err != nil {
					t.Fatalf("machine %d: %v", i, err)
				}
			}
			var thaws []func()
			for _, m := range sick {
				thaws = append(thaws, freeze(t, s, m.name))
			}
			for i, err := range together(t, r, sick, func(m machine) plan.Step { return m.step(plan.OpResume) }) {
				if !errors.Is(err, runner.ErrStuck) {
					t.Errorf("resuming frozen machine %d: %v", i, err)
				}
			}

			// A second question is not asked at all.
			began := time.Now()
			if err := r.Apply(t.Context(), []plan.Step{sick[0].step(plan.OpSuspend)}); !errors.Is(err, runner.ErrStuck) {
				t.Errorf("asking a stuck machine again: %v", err)
			}
			if took := time.Since(began); took >= impatient.Change {
				t.Errorf("refusing to ask a stuck machine again took %v", took)
			}
			checkWorld(t, r, frozen)
			apply(t, r, fresh.define(nil), fresh.startPaused())
			record := healthy.step(plan.OpMetadata)
			record.Metadata, record.Config, record.Live = &metadata.Metadata{Config: "healthy"}, true, true
			apply(t, r, record, healthy.define(&metadata.Metadata{Config: "healthy"}))
			if frozen < 12 {
				apply(t, r, healthy.step(plan.OpResume), healthy.step(plan.OpSuspend))
			}
			apply(t, r, healthy.step(plan.OpDestroy), healthy.step(plan.OpUndefine), fresh.step(plan.OpDestroy))

			for _, thaw := range thaws {
				thaw()
			}
			sandboxtest.Wait(t, soon, func() bool {
				return !slices.ContainsFunc(observe(t, r).Domains, func(d plan.Domain) bool { return d.Stuck })
			}, "no machine was stuck after QEMU went on")
			for i, err := range together(t, r, sick, func(m machine) plan.Step { return m.step(plan.OpSuspend) }) {
				if err != nil {
					t.Errorf("suspending machine %d that was frozen: %v", i, err)
				}
			}
		})
	}
}

// checkWorld checks that stuck machines are marked and no other is, and that all are complete.
func checkWorld(t *testing.T, r *runner.Runner, frozen int) {
	t.Helper()
	stuck := 0
	for _, d := range observe(t, r).Domains {
		if d.Inactive.Text() == "" || d.Live.Text() == "" || d.State != plan.DomainPaused {
			t.Errorf("%s is not complete: %+v", d.Name, d)
		}
		if d.Stuck {
			stuck++
			if d.Name == "healthy" {
				t.Error("the healthy machine counts as stuck")
			}
		}
	}
	// No more than 12 are asked, so that workers are left for the others.
	if want := min(frozen, 12); stuck != want {
		t.Errorf("%d machines are stuck, and %d were asked", stuck, want)
	}
}

// TestDestroyFrozen checks that a frozen machine can be destroyed, though it answers nothing, and is itself again then.
func TestDestroyFrozen(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.Deadlines.Change = 500 * time.Millisecond
	asks := start(t, opts)
	opts.Deadlines.Change = time.Minute
	destroys := start(t, opts)
	m := newMachine("web")
	apply(t, asks, m.define(nil), m.startPaused())
	freeze(t, s, "web")
	if err := asks.Apply(t.Context(), []plan.Step{m.step(plan.OpResume)}); !errors.Is(err, runner.ErrStuck) {
		t.Fatalf("resuming a frozen machine: %v", err)
	}
	apply(t, destroys, m.step(plan.OpDestroy))
	sandboxtest.Wait(t, soon, func() bool { d := find(t, asks, "web"); return !d.Stuck && !d.Active() }, "it was off")
	apply(t, asks, m.startPaused())
}

// TestFrozenByAnother checks that a machine counts as stuck whose QEMU another client waits for, also after libvirt's
// daemon was restarted.
func TestFrozenByAnother(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.Deadlines.Change = time.Second
	r := start(t, opts)
	m := newMachine("web")
	apply(t, r, m.define(nil), m.startPaused())
	thaw := freeze(t, s, "web")
	var virsh sync.WaitGroup
	virsh.Go(func() { s.Virsh(t.Context(), "resume", "web") })
	defer virsh.Wait()
	defer thaw()
	sandboxtest.Wait(t, soon, func() bool {
		out, err := s.Virsh(t.Context(), "domcontrol", "web")
		return err == nil && strings.HasPrefix(out, "occupied")
	}, "virsh waited for QEMU")
	record := m.step(plan.OpMetadata)
	record.Metadata, record.Config = &metadata.Metadata{Config: "web"}, true
	if err := r.Apply(t.Context(), []plan.Step{record}); !errors.Is(err, runner.ErrStuck) {
		t.Fatalf("writing a record while another call holds the domain: %v", err)
	}
	if d := find(t, r, "web"); !d.Stuck {
		t.Errorf("a machine that holds a call back is not stuck: %+v", d)
	}
	if err := s.KillDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.StartDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	stuck := func() bool { d := find(t, r, "web"); return d != nil && d.Stuck && d.Inactive.Text() != "" }
	sandboxtest.Wait(t, soon, stuck, "it was stuck after a restart of the daemon too")
}

// TestReadWithoutAnswer loses the answer about one domain: it is stuck, the others are complete, and nobody asks about
// it again meanwhile.
func TestReadWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	opts.Deadlines.Read = 300 * time.Millisecond
	r := start(t, opts)
	for _, name := range []string{"a", "web", "z"} {
		apply(t, r, newMachine(name).define(nil))
	}
	fault := p.Inject(proxy.Fault{
		Match: proxy.Naming("web", proxy.Procedure("DomainGetXMLDesc")), Action: proxy.Always(proxy.Drop), Repeat: true,
	})
	for range 12 {
		for _, d := range observe(t, r).Domains {
			if d.Stuck != (d.Name == "web") || (d.Inactive.Text() == "") != d.Stuck || d.UUID == "" {
				t.Fatalf("%s while there is no answer about web: %+v", d.Name, d)
			}
		}
	}
	if err := r.Apply(t.Context(), []plan.Step{newMachine("web").startPaused()}); !errors.Is(err, runner.ErrStuck) {
		t.Errorf("starting a machine that libvirt says nothing about: %v", err)
	}
	fault.Remove()
	p.CutAll() // the lost answer never comes
	sandboxtest.Wait(t, soon, func() bool {
		w, err := r.Observe(t.Context())
		return err == nil && len(w.Domains) == 3 && !w.Domains[1].Stuck
	}, "it could be read again")
}

// TestDaemonWithoutAnswer checks that a daemon that answers nothing is an error, in time, however often it is asked.
func TestDaemonWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	opts.Deadlines.Read = 50 * time.Millisecond
	r := start(t, opts)
	p.Inject(proxy.Fault{Match: proxy.Procedure("ConnectListAllDomains"), Action: proxy.Always(proxy.Drop), Repeat: true})
	for range 10 {
		if _, err := r.Observe(t.Context()); !errors.Is(err, runner.ErrStuck) {
			t.Fatalf("observing a daemon that says nothing: %v", err)
		}
	}
	if n := p.Counts()["ConnectListAllDomains"]; n > 12 {
		t.Errorf("it was asked for the list %d times, though it answered none", n)
	}
}
