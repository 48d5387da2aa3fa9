package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestReconnect kills libvirt's daemon: that wakes and is an error to observe; its coming back wakes, and everything
// works again. A machine that died meanwhile makes no event, and is seen all the same.
func TestReconnect(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	stays, dies := newMachine("stays"), newMachine("dies")
	apply(t, r, stays.define(nil), stays.startPaused())
	apply(t, r, dies.define(nil), dies.startPaused())
	observe(t, r)
	for round := range 3 {
		asleep(r)
		if err := s.KillDaemon(t.Context()); err != nil {
			t.Fatal(err)
		}
		awake(t, r)
		if _, err := r.Observe(t.Context()); !errors.Is(err, runner.ErrDisconnected) {
			t.Fatalf("observing a daemon that is not there: %v", err)
		}
		if err := r.Apply(t.Context(), []plan.Step{stays.step(plan.OpResume)}); !errors.Is(err, runner.ErrDisconnected) {
			t.Fatalf("changing something without a daemon: %v", err)
		}
		if round == 0 {
			kill(t, s, "dies")
		}
		asleep(r)
		if err := s.StartDaemon(t.Context()); err != nil {
			t.Fatal(err)
		}
		awake(t, r)
		sandboxtest.Wait(t, soon, func() bool {
			d := find(t, r, "dies")
			return d != nil && !d.Active() && find(t, r, "stays").Active()
		}, "the dead machine was seen")
		apply(t, r, stays.step(plan.OpResume), stays.step(plan.OpSuspend))
	}
}

// TestEventsWake checks that what happens to a machine wakes at once, and that the observation after it has it.
func TestEventsWake(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	apply(t, r, m.define(nil))
	for _, test := range []struct {
		name string
		do   func()
		want func(d *plan.Domain) bool
	}{
		{"start", func() { virsh(t, s, "start", "--paused", "web") }, func(d *plan.Domain) bool { return d.State == plan.DomainPaused }},
		{"resume", func() { virsh(t, s, "resume", "web") }, func(d *plan.Domain) bool { return d.State == plan.DomainRunning }},
		{"metadata", func() {
			virsh(t, s, "metadata", "web", "https://x.invalid/", "--key", "x", "--set", "<note/>", "--live")
		},
			func(d *plan.Domain) bool { return strings.Contains(d.Live.Text(), "x:note") }},
		{"QEMU's death", func() { kill(t, s, "web") }, func(d *plan.Domain) bool { return !d.Active() }},
	} {
		sandboxtest.Wait(t, soon, func() bool { observe(t, r); return quiet(r) }, "it was quiet")
		test.do()
		select {
		case <-r.Wake():
		case <-time.After(time.Second): // it takes a few milliseconds
			t.Errorf("%s woke nobody", test.name)
		}
		sandboxtest.Wait(t, time.Second, func() bool { return test.want(find(t, r, "web")) }, test.name+" was seen")
	}
}

// quiet says that nothing wakes for a moment.
func quiet(r *runner.Runner) bool {
	select {
	case <-r.Wake():
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}

// TestFlood checks that events which nobody waits for do no harm, and that ending under a flood of them is clean.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	for range 3 {
		r, err := runner.New(options(t, s))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		awake(t, r)
		var flood sync.WaitGroup
		stop := make(chan struct{})
		for i := range 4 {
			m := newMachine(fmt.Sprintf("m%d", i))
			flood.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						r.Apply(t.Context(), []plan.Step{m.define(nil), m.step(plan.OpUndefine)})
					}
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Fatalf("Run did not end:\n%s", stacks())
		}
		close(stop)
		flood.Wait()
		if _, err := r.Observe(t.Context()); err == nil {
			t.Error("a runner that has ended observes")
		}
	}
}

// TestEndWhileStuck checks that a runner ends although libvirt's daemon or a QEMU never answers, and leaves nothing.
func TestEndWhileStuck(t *testing.T) {
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.Deadlines.Change = 300 * time.Millisecond
	r, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	awake(t, r)
	m := newMachine("web")
	apply(t, r, m.define(nil), m.startPaused())
	thaw := freeze(t, s, "web")
	defer thaw()
	if err := r.Apply(ctx, []plan.Step{m.step(plan.OpResume)}); !errors.Is(err, runner.ErrStuck) {
		t.Fatal(err)
	}
	daemon, err := s.DaemonPID()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(daemon, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(daemon, syscall.SIGCONT)
	observed := make(chan error)
	go func() {
		_, err := r.Observe(ctx)
		observed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	cancel()
	for name, ended := range map[string]chan error{"Run": done, "Observe": observed} {
		select {
		case err := <-ended:
			if name == "Observe" && !errors.Is(err, context.Canceled) {
				t.Errorf("observing a frozen daemon until the context ended: %v", err)
			}
		case <-time.After(soon):
			t.Fatalf("%s did not end:\n%s", name, stacks())
		}
	}
	sandboxtest.Wait(t, soon, func() bool { return len(leaked()) == 0 }, "no goroutine was left")
}

// TestQuarantine has the daemon die, as far as a client can tell, whenever it reads one definition. Innocent ones that
// were on their way at the same time must not be blamed.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	deadly := newMachine("deadly")
	fault := p.Inject(proxy.Fault{
		Match: proxy.Naming("deadly", proxy.Procedure("DomainDefineXMLFlags")), Action: proxy.Always(proxy.CutAll), Repeat: true,
	})
	innocent := []machine{newMachine("a"), newMachine("b"), newMachine("c")}
	all := append(innocent, deadly)
	settled := func() bool {
		errs := together(t, r, all, func(m machine) plan.Step { return m.define(nil) })
		for _, err := range errs {
			if errors.Is(err, runner.ErrDisconnected) {
				return false
			}
		}
		for i := range innocent {
			if errs[i] != nil {
				t.Fatalf("%s: %v", innocent[i].name, errs[i])
			}
		}
		if !errors.Is(errs[len(innocent)], runner.ErrInvalid) {
			t.Fatalf("the deadly definition: %v", errs[len(innocent)])
		}
		return true
	}
	sandboxtest.Wait(t, soon, settled, "the deadly definition was found out")
	fault.Remove()
	if err := r.Apply(t.Context(), []plan.Step{deadly.define(nil)}); !errors.Is(err, runner.ErrInvalid) {
		t.Errorf("the deadly definition is tried again: %v", err)
	}
	changed := deadly.define(nil)
	changed.XML = strings.Replace(changed.XML, "16</memory>", "17</memory>", 1)
	apply(t, r, changed)
}

// TestWithoutRun checks that a runner works for one observation, without listening to events.
func TestWithoutRun(t *testing.T) {
	t.Parallel()
	r, err := runner.New(options(t, sandboxtest.Start(t)))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine("web")
	apply(t, r, m.define(nil))
	if d := find(t, r, "web"); d == nil {
		t.Error("the domain is not there")
	}
	r.Close()
}

// TestTestDriver checks that libvirt's test driver does, which has fewer kinds of events, fewer flags and no files.
func TestTestDriver(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, runner.Options{URI: "test+unix:///default?socket=" + s.Socket()})
	m := newMachine("web")
	define := m.define(nil)
	define.XML = `<domain type='test'><name>web</name><uuid>` + m.uuid + `</uuid><memory>8192</memory><os><type>hvm</type></os></domain>`
	asleep(r)
	for range 2 {
		apply(t, r, define, m.step(plan.OpStart))
	}
	awake(t, r)
	if d := find(t, r, "web"); d == nil || d.State != plan.DomainRunning {
		t.Fatalf("after start there is %+v", d)
	}
	for range 2 {
		apply(t, r, m.step(plan.OpSuspend))
	}
	for range 2 {
		apply(t, r, m.step(plan.OpDestroy))
	}
	for range 2 {
		apply(t, r, m.step(plan.OpUndefine))
	}
	if d := find(t, r, "web"); d != nil {
		t.Errorf("after undefine there is %+v", d)
	}
	caps, err := r.Capabilities(t.Context())
	if err != nil || caps.DomainType != "test" {
		t.Errorf("the capabilities are %+v, %v", caps, err)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts, p := behind(t, s)
	r := start(t, opts)
	for range 3 {
		c, err := r.Capabilities(t.Context())
		if err != nil || c.DomainType != "kvm" && c.DomainType != "qemu" || c.Arch == "" ||
			strings.Count(c.Libvirt, ".") != 2 || strings.Count(c.Hypervisor, ".") != 2 {
			t.Fatalf("the capabilities are %+v, %v", c, err)
		}
	}
	if n := p.Counts()["ConnectGetDomainCapabilities"]; n != 1 {
		t.Errorf("libvirt was asked %d times", n)
	}
}
