package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/fakevirt"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// example is a wanted state of a host, and how to recognise it.
type example struct {
	documents string
	phases    map[string]plan.Phase
	devices   map[string]string // the named devices, sorted
	keeps     []string          // volumes that must be there whatever came before or after
	deletes   bool              // the config is gone, and its volumes may be
	temporary string            // the devices that the run of web has beside its definition
}

func machineDocs(name, policy, guest, runState string, disks ...string) string {
	var devices, volumes, nics, networks []string
	for _, d := range disks {
		switch {
		case strings.HasPrefix(d, "nic"):
			nics = append(nics, fmt.Sprintf("{name: %s, masquerade: {}}", d))
			networks = append(networks, fmt.Sprintf("{name: %s, user: {}}", d))
		case d == "seed":
			devices = append(devices, "{name: seed, cdrom: {bus: scsi}}")
			volumes = append(volumes, "{name: seed, cloudInitNoCloud: {userData: '"+guest+"'}}")
		case d == "scratch":
			devices = append(devices, "{name: scratch}")
			volumes = append(volumes, "{name: scratch, emptyDisk: {capacity: 1Mi}}")
		default:
			devices = append(devices, fmt.Sprintf("{name: %s}", d))
			volumes = append(volumes, fmt.Sprintf("{name: %s, volume: {size: 1Mi}}", d))
		}
	}
	doc := fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  %s
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: %s}, devices: {disks: [%s], interfaces: [%s]}}
      volumes: [%s]
      networks: [%s]
`, name, policy, guest, strings.Join(devices, ", "), strings.Join(nics, ", "), strings.Join(volumes, ", "), strings.Join(networks, ", "))
	if runState != "" {
		doc += "---\n" + run(name, runState)
	}
	return doc
}

func examples() []example {
	one := func(phase plan.Phase, policy, guest, runState string, disks ...string) example {
		e := example{documents: machineDocs("web", policy, guest, runState, disks...)}
		if phase != "" {
			named := slices.Sorted(slices.Values(disks))
			e.phases, e.devices = map[string]plan.Phase{"web": phase}, map[string]string{"web": strings.Join(named, " ")}
		}
		for _, d := range disks {
			if !strings.HasPrefix(d, "nic") && d != "seed" && d != "scratch" && phase != "" {
				e.keeps = append(e.keeps, "web."+d+".qcow2")
			}
		}
		return e
	}
	temporary := func(rollout string, names ...string) example {
		e := one(plan.PhasePaused, rollout, "16Mi", "state: Paused, attach: {disks: [{name: mid}], volumes: [{name: mid, volume: {size: 1Mi}}], "+
			"interfaces: [{name: nic0, masquerade: {}}], networks: [{name: nic0, user: {}}]}", names...)
		e.temporary = "mid nic0"
		e.keeps = append(e.keeps, "web.mid.qcow2")
		return e
	}
	two := one(plan.PhasePaused, "", "16Mi", "state: Paused", "root")
	two.documents += "---\n" + machineDocs("db", "", "16Mi", "state: Stopped", "root")
	two.phases["db"], two.devices["db"] = plan.PhaseStopped, "root"
	two.keeps = append(two.keeps, "db.root.qcow2")
	return []example{
		{documents: machineDocs("other", "", "16Mi", "", "root"), deletes: true},
		one("", "", "16Mi", "", "root"),
		one(plan.PhasePaused, "", "16Mi", "state: Paused", "root"),
		one(plan.PhaseStopped, "", "16Mi", "state: Stopped", "root"),
		one(plan.PhasePaused, "", "20Mi", "state: Paused", "root"),
		one(plan.PhasePaused, "", "16Mi", "state: Paused, run: 2", "root"),
		one(plan.PhasePaused, "", "16Mi", "state: Paused", "root", "mid", "last", "nic0"),
		one(plan.PhasePaused, "", "16Mi", "state: Paused, run: 3", "root", "last", "nic0", "nic1"),
		one(plan.PhasePaused, "rollout: Restart", "18Mi", "state: Paused", "root", "seed", "scratch"),
		one(plan.PhasePaused, "rollout: Restart", "18Mi", "state: Paused, run: 4", "seed", "root"),
		one(plan.PhasePaused, "rollout: Live", "16Mi", "state: Paused", "root", "mid", "nic0"),
		one(plan.PhasePaused, "rollout: Live", "16Mi", "state: Paused", "root", "last", "nic1", "scratch", "seed"),
		temporary("", "root"),
		temporary("rollout: Live", "root", "last"),
		one(plan.PhaseStopped, "restartPolicy: Never", "16Mi", "state: Stopped, run: 5", "root", "seed"),
		one(plan.PhasePaused, "deletionPolicy: Delete", "16Mi", "state: Paused, run: 6", "root", "nic0"),
		two,
	}
}

// faulty fails at one step, before it is done or after, as if the agent or libvirt went away there.
type faulty struct {
	reconcile.Runner
	mu       sync.Mutex
	at, seen int
	after    bool
	struck   bool
}

var errStruck = errors.New("struck")

func (f *faulty) Apply(ctx context.Context, steps []plan.Step) error {
	for _, s := range steps {
		now := f.strike()
		if now && !f.after {
			return errStruck
		}
		if err := f.Runner.Apply(ctx, []plan.Step{s}); err != nil {
			return err
		}
		if now {
			return errStruck
		}
	}
	return nil
}

// strike says whether this step is the one.
func (f *faulty) strike() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.seen == f.at
	f.seen++
	f.struck = f.struck || now
	return now
}

// bed is where states are tried: the fake libvirt, or a real one.
type bed struct {
	libvirt reconcile.Runner
	volumes func() []string // the names of the volumes that are there
	sleep   func()          // until a back-off is over
}

// reach makes passes until the plan is empty.
func (b bed) reach(t *testing.T, a *agent, what string) {
	t.Helper()
	for range 14 {
		did := a.pass()
		// A temporary device that a paused guest does not give up stays, and the plan goes on saying so.
		if len(did) == 0 && !slices.ContainsFunc(a.facts.Plan.Actions, func(x plan.Action) bool { return x.Reason != "TemporaryDevice" }) {
			return
		}
		if len(a.facts.Failures) > 0 || len(did) == 0 { // or a QEMU that has crashed: the next change waits too
			b.sleep()
		}
		for range 150 { // for a guest that is to follow, or to go down
			if !slices.ContainsFunc(a.facts.Plan.Actions, func(x plan.Action) bool { return strings.Contains(x.Message, "waiting until") }) {
				break
			}
			time.Sleep(150 * time.Millisecond)
			a.pass()
		}
	}
	for _, action := range a.facts.Plan.Actions {
		t.Errorf("%s: still planned: %s %s %s: %s %v", what, action.Instance, action.Effect, action.Reason, action.Message, action.Changes)
	}
	t.Fatalf("%s is not reached; failures: %v", what, a.facts.Failures)
}

// try goes from one state to another with a fault at one step, and says whether the fault struck.
func (b bed) try(t *testing.T, from, to example, at int, after bool) bool {
	t.Helper()
	f := &faulty{Runner: b.libvirt, at: -1}
	a := newAgent(t, f)
	a.repo.commit(t, from.documents, 100)
	b.reach(t, a, "the first state")
	f.at, f.seen, f.after = at, 0, after
	a.repo.commit(t, to.documents, 100)
	for range 4 {
		a.pass()
		if f.struck {
			break
		}
	}
	if f.struck && at%2 == 0 {
		a.restart() // killed there, every other time
	} else if f.struck {
		b.sleep()
	}
	b.reach(t, a, "the second state")
	b.verify(t, a, from, to)
	a.restart()
	if x := a.assessment("web"); len(x.Staged)+len(x.Blocked) > 0 {
		b.reach(t, a, "the second state, to a new agent") // which asks a guest that would not follow once more
	}
	a.expect()
	return f.struck
}

func (b bed) verify(t *testing.T, a *agent, from, to example) {
	t.Helper()
	phases, devices := map[string]plan.Phase{}, map[string]string{}
	for _, x := range a.facts.Assessments {
		phases[x.Name] = x.Phase
		e, err := domxml.Parse(x.Domain.Inactive.Text())
		if err != nil {
			t.Fatal(err)
		}
		devices[x.Name] = strings.Join(named(e), " ")
	}
	if x := a.assessment("web"); x.Domain != nil && x.Domain.Active() && len(x.Staged)+len(x.Blocked) == 0 {
		live, err := domxml.Parse(x.Domain.Live.Text())
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(to.devices["web"] + " " + to.temporary)
		slices.Sort(want)
		if got := named(live); !slices.Equal(got, want) {
			t.Errorf("the running machine has %v, want %v", got, want)
		}
	}
	if !maps.Equal(phases, to.phases) {
		t.Errorf("phases = %v, want %v", phases, to.phases)
	}
	if !maps.Equal(devices, to.devices) {
		t.Errorf("devices = %v, want %v", devices, to.devices)
	}
	there := b.volumes()
	for _, v := range append(slices.Clone(from.keeps), to.keeps...) {
		gone := to.deletes && strings.Contains(from.documents, "deletionPolicy: Delete") ||
			strings.Contains(from.documents, "deletionPolicy: Delete") && !strings.Contains(to.documents, "metadata: {name: web}")
		if !slices.Contains(there, v) && !gone {
			t.Errorf("volume %s is lost; there are %v", v, there)
		}
	}
}

// named are the names of a domain's devices, sorted.
func named(domain *domxml.Element) []string {
	var names []string
	for _, d := range domain.Child("devices").Children {
		if name := d.UserAlias(); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryStateFromEveryOther: from any state to any other, with a fault at any step, before it or after it. GITVIRT_TIMES=2
// takes all pairs of states, and usually it is a fourth of them.
func TestEveryStateFromEveryOther(t *testing.T) {
	states := examples()
	n := 0
	for i, from := range states {
		for j, to := range states {
			if n++; i == j || n%4 != 0 && times(t) == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%d to %d", i, j), func(t *testing.T) {
				t.Parallel()
				for at := 0; ; at++ {
					struck := true
					for _, after := range []bool{false, true} {
						synctest.Test(t, func(t *testing.T) {
							l := fakevirt.New()
							b := bed{libvirt: l, sleep: func() { time.Sleep(10 * time.Minute) }, volumes: func() []string {
								var names []string
								for _, v := range l.Volumes() {
									names = append(names, strings.TrimPrefix(v, "default/"))
								}
								return names
							}}
							struck = b.try(t, from, to, at, after)
						})
					}
					if !struck || t.Failed() {
						return
					}
				}
			})
		}
	}
}

// realRunner is a runner on a private libvirtd, with emulated domains.
type realRunner struct{ *runner.Runner }

func (realRunner) DomainType(context.Context) (string, error) { return "qemu", nil }

// TestEveryStateFromEveryOtherOnLibvirt is the same on a real libvirtd with real QEMUs, with a fault at one step of each pair:
// another for each.
func TestEveryStateFromEveryOtherOnLibvirt(t *testing.T) {
	states := examples()
	s := sandboxtest.Start(t)
	b, stop := realBed(t, s)
	defer stop()
	n := 0
	for i, from := range states {
		for j, to := range states {
			if i == j {
				continue
			}
			n++
			if n%3 != 0 && times(t) == 1 {
				continue
			}
			// A paused guest gives up no device, and libvirt waits 5 s for each: a fifth of those pairs will do.
			if (strings.Contains(from.documents+to.documents, "rollout: Live") || from.temporary+to.temporary != "") && n%5 != 0 && times(t) == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%d to %d", i, j), func(t *testing.T) {
				b.try(t, from, to, n%5, n%2 == 0)
				clean := newAgent(t, b.libvirt)
				clean.repo.commit(t, states[0].documents, 100)
				b.reach(t, clean, "the clean state")
			})
			if t.Failed() {
				return
			}
		}
	}
}

func realBed(t testing.TB, s *sandbox.Sandbox) (bed, func()) {
	t.Helper()
	r, err := runner.New(runner.Options{URI: s.URI(), ConfigDir: s.ConfigDir(), StateDir: s.StateDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	b := bed{libvirt: realRunner{r}, sleep: func() { time.Sleep(1200 * time.Millisecond) }, volumes: func() []string {
		entries, err := os.ReadDir(s.PoolDir())
		if err != nil {
			t.Error(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}}
	return b, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
