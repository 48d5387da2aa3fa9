package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

func host(name, labels, spec string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: Host\nmetadata: {name: %s, labels: {%s}}\nspec: {%s}\n", name, labels, spec)
}

func group(name, spec string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineGroup\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
}

func preset(name, spec string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachinePreset\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
}

// diskless is a spec without a disk, so that a machine can move.
const diskless = "domain: {memory: {guest: 64Mi}}"

func TestGroupGrowsAndShrinks(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		members := func(n int, hosts string) string {
			return docs(config("web", "", diskless), group("web", fmt.Sprintf("replicas: %d, hosts: [%s]", n, hosts)))
		}
		a.repo.commit(t, members(2, "kvm1"), 0)
		a.expect("web-0 create NoDomain", "web-0 start Wanted", "web-1 create NoDomain", "web-1 start Wanted")
		a.quiet()
		a.repo.commit(t, members(3, "kvm1"), 0)
		a.expect("web-2 create NoDomain", "web-2 start Wanted")
		// The highest number goes first.
		a.repo.commit(t, members(2, "kvm1"), 0)
		a.expect("web-2 remove NotWanted")
		a.expect("web-2 remove NotWanted")
		a.quiet()
		// Another host takes over its share, and nothing else moves.
		a.repo.commit(t, members(2, "kvm1, kvm2"), 0)
		a.expect("web-1 remove NotWanted")
		a.expect("web-1 remove NotWanted")
		a.quiet()
		if a.domain("web-0") == nil {
			t.Error("web-0 is gone")
		}
	})
}

func TestGroupMembersRestartOneAfterAnother(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		members := func(guest string) string {
			return docs(config("web", "rollout: Restart", memory(diskless, guest)), group("web", "replicas: 3, hosts: [kvm1]"))
		}
		a.repo.commit(t, members("64Mi"), 0)
		a.pass()
		a.quiet()
		a.repo.commit(t, members("128Mi"), 0)
		var order []string
		for range 20 {
			for _, done := range a.pass() {
				if what := strings.Fields(done); what[1] == string(plan.EffectRestart) || what[1] == string(plan.EffectStart) {
					order = append(order, what[0]+" "+what[1])
				}
			}
			off := 0
			for _, x := range a.facts.Assessments {
				if x.Domain != nil && !x.Domain.Active() {
					off++
				}
			}
			if off > 1 {
				t.Fatalf("%d members are off at once, after %v", off, order)
			}
			time.Sleep(time.Second)
		}
		want := []string{"web-0 restart", "web-0 start", "web-1 restart", "web-1 start", "web-2 restart", "web-2 start"}
		if !slices.Equal(order, want) {
			t.Errorf("restarts = %v, want %v", order, want)
		}
		a.quiet()
	})
}

func TestSuspendedHostIsLeftAlone(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		web := func(guest string) string { return config("web", "", memory(diskless, guest)) }
		a.repo.commit(t, docs(web("64Mi"), run("web", "state: Running")), 0)
		a.pass()
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		a.repo.commit(t, docs(web("128Mi"), host("kvm1", "", "suspend: {reason: new disks, until: "+until+"}")), 0)
		a.expect()
		if got := a.blocked("web"); !slices.Contains(got, "Suspended") {
			t.Errorf("blocked = %v", got)
		}
		for _, x := range a.facts.Plan.Actions {
			if x.Effect != plan.EffectBlocked || len(x.Steps) > 0 || !strings.Contains(x.Message, "new disks") {
				t.Errorf("planned: %+v", x)
			}
		}
		if wake := a.assessment("web").Wake; wake.IsZero() || wake.After(time.Now().Add(time.Hour)) {
			t.Errorf("it is looked at again at %v", wake)
		}
		// It ends by itself.
		time.Sleep(time.Hour + time.Second)
		a.expect("web remove NotWanted")
		a.expect("web remove NotWanted")
		a.quiet()
	})
}

func TestBrokenPresetLeavesWhatItTouches(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		web := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: web, labels: {a: b}}\nspec: {template: {spec: {" + diskless + "}}}\n"
		both := func(p string) string { return docs(web, p, run("web", "state: Running")) }
		a.repo.commit(t, both(preset("cores", "selector: {matchLabels: {a: b}}, domain: {cpu: {cores: 2}}")), 0)
		a.pass()
		a.quiet()
		if cpus := a.domain("web"); !strings.Contains(cpus.Inactive.Text(), "<vcpu>2</vcpu>") {
			t.Errorf("the preset has no effect:\n%s", cpus.Inactive.Text())
		}
		a.repo.commit(t, both(preset("cores", "selector: {matchLabels: {a: b}}, domain: {cpu: {coers: 2}}")), 0)
		a.quiet()
		// And one that contradicts: the machine stays as it was, and nothing is removed.
		a.repo.commit(t, docs(web, preset("cores", "selector: {matchLabels: {a: b}}, domain: {cpu: {cores: 2}, memory: {guest: 7Mi}}"), run("web", "state: Running")), 0)
		a.quiet()
		// Without it, its words go.
		a.repo.commit(t, docs(web, run("web", "state: Running")), 0)
		a.expect("web next-start Edited")
		a.quiet()
	})
}

func TestMachinesMoveWithTheLabelsOfHosts(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		placed := "apiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: web}\nspec: {placement: {hostSelector: {matchLabels: {disk: ssd}}}}\n"
		at := func(kvm1, kvm2 string) string {
			return docs(config("web", "", diskless), placed, host("kvm1", kvm1, ""), host("kvm2", kvm2, ""))
		}
		a.repo.commit(t, at("disk: ssd", ""), 0)
		a.expect("web create NoDomain", "web start Wanted")
		a.quiet()
		// No host has the labels any more: nothing is known, so nothing is done.
		a.repo.commit(t, at("", ""), 0)
		a.expect()
		if got := a.blocked("web"); !slices.Equal(got, []string{"IncompleteRevision"}) {
			t.Errorf("blocked = %v", got)
		}
		a.repo.commit(t, at("", "disk: ssd"), 0)
		a.expect("web remove NotWanted")
		a.expect("web remove NotWanted")
		a.quiet()
	})
}

func TestRunStrategies(t *testing.T) {
	machine := func(strategy string) string {
		return "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: " + strategy +
			", template: {spec: {nodeSelector: {kubernetes.io/hostname: kvm1}, domain: {memory: {guest: 64Mi}, devices: {interfaces: []}}}}}\n"
	}
	tests := []struct {
		strategy string
		first    []string
		down     []string // after the guest has shut down
		crashed  []string // after it has crashed
	}{
		{"Always", []string{"web create NoDomain", "web start Wanted"}, []string{"web start RestartPolicy"}, []string{"web start RestartPolicy"}},
		{"RerunOnFailure", []string{"web create NoDomain", "web start Wanted"}, []string{"web stop Succeeded"}, []string{"web start RestartPolicy"}},
		{"Once", []string{"web create NoDomain", "web start Wanted"}, []string{"web stop Succeeded"}, []string{"web stop Failed"}},
		{"Manual", []string{"web create NoDomain"}, nil, nil},
		{"Halted", []string{"web create NoDomain"}, nil, nil},
	}
	for _, tt := range tests {
		for reason, want := range map[string][]string{"shutdown": tt.down, "crashed": tt.crashed} {
			t.Run(tt.strategy+" "+reason, func(t *testing.T) {
				with(t, func(a *agent, l *fakevirt.Libvirt) {
					a.repo.commit(t, machine(tt.strategy), 0)
					a.expect(tt.first...)
					if len(tt.first) > 1 {
						l.GoDown("web", reason)
					}
					a.expect(want...)
				})
			})
		}
	}
}
