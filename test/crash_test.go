package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/test/proxy"
)

// TestKilledAtEveryStep kills the agent (SIGKILL) before and after each write of a plan that creates, stages, restarts and
// removes. The next passes converge, no disk is lost, and then there is nothing more to write.
func TestKilledAtEveryStep(t *testing.T) {
	h := newHost(t)
	paused := "state: Paused"
	before := []string{
		machineDoc("staged", "", "16Mi", "root"), runDoc("staged", paused),
		machineDoc("restarted", "", "16Mi", "root"), runDoc("restarted", paused),
		machineDoc("removed", "", "16Mi", "root"), runDoc("removed", paused),
	}
	const let = "Change\n\nGitvirt-Allow-Removals: 9\n"
	const revert = "Back\n\nGitvirt-Allow-Removals: 9\n"
	kills := 0
	for at := 0; ; at++ {
		struck := false
		for _, when := range []proxy.Moment{proxy.Before, proxy.After} {
			h.push(revert, before...)
			h.converge()
			// Run numbers only grow, so each round restarts once more.
			after := []string{
				machineDoc("staged", "", "20Mi", "root", "more"), runDoc("staged", paused),
				machineDoc("restarted", "", "24Mi", "root"), runDoc("restarted", fmt.Sprintf("%s, run: %d", paused, 10*at+int(when)+2)),
				machineDoc("created", "", "16Mi", "root"), runDoc("created", paused),
			}
			h.push(let, after...)
			fault := h.cut(at, when, true)
			select {
			case <-fault.Fired():
				struck = true
				kills++
			default:
			}
			h.converge()
			h.check(t, "staged", "restarted", "created")
			for _, file := range []string{"staged.root", "staged.more", "restarted.root", "removed.root", "created.root"} {
				if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), file+".qcow2")); err != nil {
					t.Errorf("killed at write %d: %v", at, err)
				}
			}
			if t.Failed() {
				t.Fatalf("killed at write %d (%v)", at, fault.Call().Procedure)
			}
			h.proxy.Reset()
			if code := h.once(); code != 0 || len(h.proxy.Writes()) != 0 {
				t.Fatalf("killed at write %d: another pass ended with %d and wrote %v", at, code, proxy.Names(h.proxy.Writes()))
			}
			before = slices.Clone(before)
			before[3] = runDoc("restarted", fmt.Sprintf("%s, run: %d", paused, 10*at+int(when)+2))
		}
		if !struck {
			break
		}
	}
	if kills < 22 {
		t.Errorf("only %d kills: is the plan what it was?", kills)
	}
	t.Logf("%d kills", kills)
}

// cut makes passes until one is cut off from libvirt at its nth write, and killed too if it is to be; or until all is in
// sync. The fault is removed then.
func (h *host) cut(nth int, when proxy.Moment, kill bool) *proxy.Injected {
	h.t.Helper()
	victims := make(chan *os.Process, 1)
	fault := h.proxy.Inject(proxy.Fault{Nth: nth, When: when, Action: func(proxy.Call) proxy.Verdict {
		victim := <-victims
		if kill {
			_ = victim.Kill() // it may have ended
		}
		return proxy.Cut
	}})
	defer fault.Remove()
	h.until(fault.Fired(), victims)
	return fault
}

// until makes passes until one is killed, or all is in sync.
func (h *host) until(killed <-chan struct{}, victims chan *os.Process) {
	h.t.Helper()
	for range 8 {
		c := h.command("agent", "--once")
		c.Stdout, c.Stderr = h.log, h.log
		if err := c.Start(); err != nil {
			h.t.Fatal(err)
		}
		victims <- c.Process
		err := c.Wait()
		select {
		case <-killed:
			return
		case <-victims: // it was not needed
		}
		if err == nil {
			return
		}
	}
}

// check says whether exactly these domains are there, all of them paused.
func (h *host) check(t *testing.T, names ...string) {
	t.Helper()
	got := strings.Fields(h.virsh("list", "--all", "--name"))
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("domains = %v, want %v", got, names)
	}
	if paused := strings.Fields(h.virsh("list", "--state-paused", "--name")); len(paused) != len(names) {
		t.Errorf("paused = %v, want %v", paused, names)
	}
}
