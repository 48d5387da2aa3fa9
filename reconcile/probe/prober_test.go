package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/probe"
	"github.com/gitvirt/gitvirt/render"
)

// guests have an agent that answers or not.
type guests struct {
	mu        sync.Mutex
	up        bool
	hangs     bool
	addresses []netip.Addr // that the host knows
	said      []netip.Addr // by the agent
	asked     int          // the agent for its addresses
	pings     []time.Time
	now, most int // pings at once
}

func (g *guests) set(up bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.up = up
}

func (g *guests) Ping(ctx context.Context, _ string, timeout time.Duration) error {
	g.mu.Lock()
	g.pings = append(g.pings, time.Now())
	g.now++
	g.most = max(g.most, g.now)
	up, hangs := g.up, g.hangs
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}()
	if hangs {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(timeout):
			return errors.New("no answer")
		}
	}
	if !up {
		return errors.New("not connected")
	}
	return nil
}

func (g *guests) Exec(ctx context.Context, uuid string, command []string, timeout time.Duration) error {
	return g.Ping(ctx, uuid, timeout)
}

func (g *guests) HostAddresses(context.Context, string, []string) ([]plan.Address, error) {
	return named(g.addresses), nil
}

func (g *guests) AgentAddresses(context.Context, string) ([]plan.Address, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return named(g.said), nil
}

func named(all []netip.Addr) (out []plan.Address) {
	for _, a := range all {
		out = append(out, plan.Address{IP: a})
	}
	return out
}

// running runs a prober for the length of a scenario in virtual time.
func running(t *testing.T, g *guests, scenario func(p *probe.Prober)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := probe.New(g)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.Run(ctx)
			close(ended)
		}()
		scenario(p)
		stop()
		<-ended
	})
}

func agentProbe(id int32) plan.Probe {
	return plan.Probe{Name: "web", UUID: "u", ID: id, Readiness: render.Readiness{Check: render.CheckAgent,
		InitialDelay: 20 * time.Second, Period: 10 * time.Second, Timeout: time.Second, Successes: 2, Failures: 3}}
}

func bare(id int32) plan.Probe {
	return plan.Probe{Name: "web", UUID: "u", ID: id, Readiness: render.Readiness{Period: time.Second, Timeout: time.Second, Successes: 1, Failures: 1}}
}

// at waits until a time of the scenario, and says what is known then.
func at(begun time.Time, second int, p *probe.Prober) plan.Readiness {
	time.Sleep(time.Until(begun.Add(time.Duration(second)*time.Second + time.Millisecond)))
	return p.Ready()["web"]
}

func TestThresholdsAndTimes(t *testing.T) {
	g := &guests{up: true}
	running(t, g, func(p *probe.Prober) {
		p.Watch(nil) // a run that is first seen later has just begun
		begun := time.Now()
		p.Watch([]plan.Probe{agentProbe(1)})
		for _, step := range []struct {
			second int
			ready  bool
			then   bool // the agent answers from now on
		}{
			{19, false, true}, // the first question comes at 20
			{21, false, true}, // one answer is not enough
			{30, true, true},  // the second
			{31, true, false},
			{59, true, false}, // 40 and 50 failed
			{60, false, true}, // the third
			{70, false, true}, // one answer
			{80, true, true},
		} {
			r := at(begun, step.second, p)
			if r.Ready != step.ready || r.ID != 1 || !r.Since.Equal(begun) {
				t.Errorf("at %d s: %+v, want ready %v", step.second, r, step.ready)
			}
			g.set(step.then)
		}
		// The next run begins anew, with the delay; the same probe again does not.
		p.Watch([]plan.Probe{agentProbe(2)})
		begun = time.Now()
		p.Watch([]plan.Probe{agentProbe(2)})
		if r := at(begun, 29, p); r.Ready || r.ID != 2 || !r.Since.Equal(begun) {
			t.Errorf("the second run: %+v", r)
		}
		if r := at(begun, 31, p); !r.Ready {
			t.Errorf("the second run: %+v", r)
		}
		// Another probe of the same run does.
		other := agentProbe(2)
		other.InitialDelay = 0
		other.Old = true // unless the run is of the version before
		p.Watch([]plan.Probe{other})
		if r := p.Ready()["web"]; !r.Ready {
			t.Errorf("the run of an old version: %+v", r)
		}
		other.Old = false
		p.Watch([]plan.Probe{other})
		if r := p.Ready()["web"]; r.Ready {
			t.Errorf("another probe is answered already: %+v", r)
		}
		p.Watch(nil)
		if len(p.Ready()) > 0 {
			t.Errorf("it is still watched: %v", p.Ready())
		}
		asked := len(g.pings)
		time.Sleep(time.Hour)
		if len(g.pings) > asked+1 {
			t.Error("it is still asked")
		}
	})
}

func TestRunsFromBeforeTheAgentAreAskedAtOnce(t *testing.T) {
	g := &guests{up: true}
	running(t, g, func(p *probe.Prober) {
		begun := time.Now()
		p.Watch([]plan.Probe{agentProbe(1)})
		if r := at(begun, 11, p); !r.Ready {
			t.Errorf("after 11 s: %+v", r)
		}
	})
}

func TestChangesWake(t *testing.T) {
	g := &guests{}
	running(t, g, func(p *probe.Prober) {
		begun := time.Now()
		p.Watch([]plan.Probe{agentProbe(1)})
		at(begun, 45, p)
		select {
		case <-p.Changed():
			t.Error("it woke though nothing changed")
		default:
		}
		if r := p.Ready()["web"]; !strings.Contains(r.Message, "its guest agent does not answer: not connected") {
			t.Errorf("it is not ready because %q", r.Message)
		}
		g.set(true)
		<-p.Changed()
		if r := p.Ready()["web"]; !r.Ready || r.Message != "its guest agent answers" {
			t.Errorf("it woke for %+v", r)
		}
	})
}

func TestNothingDeclared(t *testing.T) {
	t.Run("no agent", func(t *testing.T) {
		g := &guests{}
		running(t, g, func(p *probe.Prober) {
			begun := time.Now()
			p.Watch([]plan.Probe{bare(1)})
			if r := at(begun, 9, p); r.Ready || !strings.Contains(r.Message, "less than 10s") {
				t.Errorf("after 9 s: %+v", r)
			}
			if r := at(begun, 10, p); !r.Ready {
				t.Errorf("after 10 s: %+v", r)
			}
			asked := len(g.pings)
			at(begun, 1000, p)
			if len(g.pings) > asked || asked > 0 {
				t.Error("it is asked though it has no agent")
			}
		})
	})
	t.Run("an agent that was there before", func(t *testing.T) {
		g := &guests{up: true}
		running(t, g, func(p *probe.Prober) {
			begun := time.Now()
			q := bare(1)
			q.Agent = true
			p.Watch([]plan.Probe{q})
			if r := at(begun, 0, p); !r.Ready {
				t.Errorf("at once: %+v", r)
			}
			q = bare(2) // it has not opened its channel yet
			p.Watch([]plan.Probe{q})
			if r := at(begun, 60, p); r.Ready || !strings.Contains(r.Message, "did before") {
				t.Errorf("without its agent: %+v", r)
			}
			q.Agent = true
			p.Watch([]plan.Probe{q})
			if r := at(begun, 62, p); !r.Ready {
				t.Errorf("with its agent again: %+v", r)
			}
		})
	})
	t.Run("an agent that libvirt sees", func(t *testing.T) {
		g := &guests{}
		running(t, g, func(p *probe.Prober) {
			q := bare(1)
			q.Agent = true
			begun := time.Now()
			p.Watch([]plan.Probe{q})
			if r := at(begun, 60, p); r.Ready {
				t.Errorf("its agent is silent: %+v", r)
			}
		})
	})
	t.Run("once", func(t *testing.T) {
		p := probe.New(&guests{})
		p.Once(t.Context(), []plan.Probe{bare(1)})
		if r := p.Ready()["web"]; !r.Ready || r.Message != "it runs" {
			t.Errorf("%+v", r)
		}
		declared := agentProbe(1)
		p.Once(t.Context(), []plan.Probe{declared})
		if r := p.Ready()["web"]; r.Ready {
			t.Errorf("%+v", r)
		}
	})
}

// TestSilentGuestsAreBounded: many that do not answer keep no more than so many questions open, and all end with the context.
func TestSilentGuestsAreBounded(t *testing.T) {
	g := &guests{hangs: true}
	running(t, g, func(p *probe.Prober) {
		var all []plan.Probe
		for n := range 100 {
			q := agentProbe(1)
			q.Name, q.InitialDelay, q.Timeout = fmt.Sprint("web-", n), 0, time.Minute
			all = append(all, q)
		}
		p.Watch(all)
		time.Sleep(time.Hour)
	})
	if g.most != 16 || g.now != 0 {
		t.Errorf("%d at once, and %d left", g.most, g.now)
	}
}
