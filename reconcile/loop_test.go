package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// with runs a scenario in a bubble, where time passes only when everybody waits.
func with(t *testing.T, scenario func(a *agent, l *fakevirt.Libvirt)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := fakevirt.New()
		scenario(newAgent(t, l), l)
	})
}

func TestConfigAloneRunsNothing(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, config("web", "", small), 0)
		a.quiet()
		if l.String() != "" {
			t.Errorf("there is something:\n%s", l)
		}
	})
}

func TestLife(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running")), 0)
		a.expect("web create NoDomain", "web start Wanted")
		a.quiet()
		first := a.domain("web").Live.Meta
		if first.Run != 1 || first.UID == "" || first.Revision != a.repo.head.Commit {
			t.Errorf("the run's record = %+v", first)
		}
		if !a.domain("web").Autostart {
			t.Error("what should always run is not marked autostart")
		}

		// An edit waits, and is said field by field.
		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running")), 0)
		a.expect("web next-start Edited")
		a.quiet()
		want := []plan.Staged{{Change: plan.Change{Path: "domain.memory.guest", From: "64Mi", To: "128Mi"}, Effect: plan.EffectNextStart, Restart: true}}
		if got := a.assessment("web").Staged; !slices.Equal(got, want) {
			t.Errorf("staged = %v, want %v", got, want)
		}
		if m := a.domain("web").Live.Meta; m.Revision != first.Revision || m.UID != first.UID {
			t.Errorf("the live record changed: %+v", m)
		}

		// A commit that does not touch the machine does not touch it.
		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running"), config("other", "", small)), 0)
		a.quiet()

		// A restart is a new run.
		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running, run: 2")), 0)
		a.expect("web restart Run")
		a.expect("web start Run")
		a.quiet()
		second := a.domain("web").Live.Meta
		if second.Run != 2 || second.UID == first.UID || second.Revision != a.repo.head.Commit || len(a.assessment("web").Staged) != 0 {
			t.Errorf("the second run's record = %+v, staged %v", second, a.assessment("web").Staged)
		}

		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Stopped, run: 2")), 0)
		a.expect("web live Autostart", "web stop Stopped")
		a.quiet()
		if d := a.domain("web"); d.Active() || a.assessment("web").Phase != plan.PhaseStopped {
			t.Errorf("%s is %s, %s", d.Name, d.State, a.assessment("web").Phase)
		}
		a.restart()
		a.quiet()

		// Started again, without another number.
		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running, run: 2")), 0)
		a.expect("web live Autostart", "web start Wanted")
		a.quiet()
		if third := a.domain("web").Live.Meta; third.UID == second.UID {
			t.Error("another run has the same uid")
		}

		a.repo.commit(t, config("web", "", small), 0)
		a.expect("web remove NotWanted")
		a.expect("web remove NotWanted")
		a.quiet()
		if got := l.Volumes(); !slices.Equal(got, []string{"default/web.root.qcow2"}) {
			t.Errorf("volumes = %v", got)
		}
	})
}

func TestRestartPolicies(t *testing.T) {
	tests := []struct {
		policy, reason string
		want           []string
		phase          plan.Phase
	}{
		{"Always", "shutdown", []string{"web start RestartPolicy"}, plan.PhaseRunning},
		{"Always", "crashed", []string{"web start RestartPolicy"}, plan.PhaseRunning},
		{"OnFailure", "shutdown", []string{"web stop Succeeded"}, plan.PhaseSucceeded},
		{"OnFailure", "crashed", []string{"web start RestartPolicy"}, plan.PhaseRunning},
		{"OnFailure", "unknown", []string{"web start RestartPolicy"}, plan.PhaseRunning},
		{"Never", "shutdown", []string{"web stop Succeeded"}, plan.PhaseSucceeded},
		{"Never", "destroyed", []string{"web stop Failed"}, plan.PhaseFailed},
		{"Never", "migrated", nil, plan.PhaseScheduling},
		{"Always", "migrated", nil, plan.PhaseScheduling},
	}
	for _, tt := range tests {
		t.Run(tt.policy+" "+tt.reason, func(t *testing.T) {
			with(t, func(a *agent, l *fakevirt.Libvirt) {
				one := func(n string) string {
					return docs(config("web", "restartPolicy: "+tt.policy, small), run("web", "run: "+n))
				}
				a.repo.commit(t, one("1"), 0)
				a.pass()
				l.GoDown("web", tt.reason)
				a.expect(tt.want...)
				a.restart() // the decision survives the agent, and libvirt's forgetting the reason
				if tt.want == nil {
					return
				}
				a.quiet()
				if got := a.assessment("web").Phase; got != tt.phase {
					t.Errorf("phase = %s, want %s", got, tt.phase)
				}
				if tt.phase == plan.PhaseRunning {
					return
				}
				a.repo.commit(t, one("2"), 0)
				a.expect("web start Run")
				a.quiet()
			})
		})
	}
}

func TestCrashLoopBacksOff(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "", small), run("web", "")), 0)
		a.pass()
		starts := 0
		for begun := time.Now(); time.Since(begun) < time.Hour; time.Sleep(time.Second) {
			if a.domain("web") != nil && a.domain("web").Active() {
				l.GoDown("web", "crashed")
			}
			starts += len(a.pass())
		}
		// 1, 2, 4 … 256 s, then every 5 minutes.
		if starts < 15 || starts > 25 {
			t.Errorf("%d starts in an hour", starts)
		}
		a.repo.commit(t, docs(config("web", "", memory(small, "65Mi")), run("web", "")), 0)
		if got := a.pass(); !slices.Contains(got, "web start RestartPolicy") {
			t.Errorf("a new revision does not clear the back-off: %v", got)
		}
	})
}

func TestGracePeriod(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		both := docs(config("web", "", small), config("db", "", small), run("web", ""), run("db", ""))
		a.repo.commit(t, both, 0)
		a.pass()
		l.Deafen("web")
		a.repo.commit(t, docs(config("web", "", small), config("db", "", small), run("web", "state: Stopped"), run("db", "run: 2")), 0)
		begun := time.Now()
		a.expect("db restart Run", "web live Autostart", "web stop Stopped")
		a.expect("db start Run") // the wait for one holds up no other
		asked := 1
		for a.domain("web").Active() {
			time.Sleep(time.Second)
			for _, did := range a.pass() {
				if did == "web stop Stopped" {
					asked++
				}
			}
		}
		if took := time.Since(begun); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("the plug was pulled after %v, want 30 s", took)
		}
		if asked < 2 || asked > 4 {
			t.Errorf("the guest was asked %d times", asked)
		}
		a.quiet()
	})
}

func TestBadDocumentsStopNothing(t *testing.T) {
	good := docs(config("web", "", small), run("web", ""), config("db", "", small), run("db", ""))
	tests := map[string]string{
		"syntax":              docs(config("web", "", small), "kind: [", config("db", "", small), run("db", "")),
		"unknown field":       docs(config("web", "", "memroy: 1, "+small), run("web", ""), config("db", "", small), run("db", "")),
		"run state broken":    docs(config("web", "", small), run("web", "sate: Stopped"), config("db", "", small), run("db", "")),
		"config gone":         docs(run("web", ""), config("db", "", small), run("db", "")),
		"cannot be rendered":  docs(config("web", "", "domain: {cpu: {cores: 1}}"), run("web", ""), config("db", "", small), run("db", "")),
		"removed beside":      docs("kind: [", config("db", "", small), run("db", "")),
		"everything is noise": "\x00\x01",
	}
	for name, bad := range tests {
		// Whose run state went with the bad commit is held as it is, whatever that is.
		held := name == "removed beside" || name == "everything is noise"
		t.Run(name, func(t *testing.T) {
			with(t, func(a *agent, l *fakevirt.Libvirt) {
				a.repo.commit(t, good, 0)
				a.pass()
				a.quiet()
				before := l.String()
				a.repo.commit(t, bad, 0)
				for range 3 {
					if got := a.pass(); len(got) > 0 {
						t.Errorf("done: %v", got)
					}
					a.restart()
				}
				if len(a.facts.Documents.Problems) == 0 {
					t.Error("no problem is shown")
				}
				if got := l.String(); got != before {
					t.Errorf("the world changed:\n%s", got)
				}
				// What is broken is still looked after.
				l.GoDown("web", "crashed")
				if !held {
					a.expect("web start RestartPolicy")
				}
				a.repo.commit(t, good, 0)
				a.pass()
				a.quiet()
			})
		})
	}
}

func TestBrokenDocumentHoldsOnlyItself(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "", small), run("web", ""), config("db", "", small), run("db", "")), 0)
		a.pass()
		a.repo.commit(t, docs("kind: [", config("db", "", small), run("db", "run: 2"), config("new", "", small), run("new", "")), 0)
		a.expect("db restart Run", "new create NoDomain", "new start Wanted")
		a.expect("db start Run")
	})
}

func TestRemovalBudget(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		var all []string
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			all = append(all, config(name, "", small)+"---\n"+run(name, ""))
		}
		a.repo.commit(t, docs(all...), 0)
		a.pass()
		writes := l.Writes()
		a.repo.commit(t, docs(all[4:]...), 0)
		a.pass()
		a.restart()
		a.pass()
		if l.Writes() != writes {
			t.Error("something was removed")
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			if got := a.blocked(name); !slices.Equal(got, []string{"RemovalBudget"}) {
				t.Errorf("%s is blocked by %v", name, got)
			}
		}
		a.repo.commit(t, docs(all[4:]...), 3) // not enough
		a.pass()
		if l.Writes() != writes {
			t.Error("something was removed")
		}
		a.repo.commit(t, docs(all[4:]...), 4)
		a.pass()
		// A later commit without the trailer does not hold them half done.
		a.repo.commit(t, docs(append([]string{config("x", "", small)}, all[4:]...)...), 0)
		a.restart()
		a.expect("a remove NotWanted", "b remove NotWanted", "c remove NotWanted", "d remove NotWanted")
		a.quiet()
		// Within the budget: half of four.
		a.repo.commit(t, docs(all[6:]...), 0)
		a.expect("e remove NotWanted", "f remove NotWanted")
		a.expect("e remove NotWanted", "f remove NotWanted")
		a.quiet()
		// At least one.
		a.repo.commit(t, docs(all[7:]...), 0)
		a.pass()
		a.repo.commit(t, config("x", "", small), 0)
		a.pass()
		a.pass()
		a.pass()
		a.quiet()
		if got := len(l.Volumes()); got != 8 {
			t.Errorf("%d volumes are left of 8", got)
		}
	})
}

func TestVolumesGoOnlyWithTheConfigAndItsWord(t *testing.T) {
	for _, tt := range []struct {
		policy, rest string
		left         int
	}{
		{"deletionPolicy: Delete", "", 0},
		{"deletionPolicy: Retain", "", 1},
		{"deletionPolicy: Delete", config("web", "deletionPolicy: Delete", small), 1},
	} {
		with(t, func(a *agent, l *fakevirt.Libvirt) {
			seeded := strings.Replace(small, "volumes: [", "volumes: [{name: init, cloudInitNoCloud: {userData: x}}, ", 1)
			seeded = strings.Replace(seeded, "disks: [", "disks: [{name: init, cdrom: {}}, ", 1)
			a.repo.commit(t, docs(config("web", tt.policy, seeded), run("web", "")), 0)
			a.pass()
			if len(l.Volumes()) != 2 {
				t.Fatal(l.Volumes())
			}
			a.repo.commit(t, docs(config("other", "", small), tt.rest), 0)
			a.pass()
			a.pass()
			a.quiet()
			if got := l.Volumes(); len(got) != tt.left {
				t.Errorf("%s, and then %q: left %v", tt.policy, tt.rest, got)
			}
		})
	}
}

func TestDiskNeverShrinks(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		sized := func(size, n string) string {
			return docs(config("web", "", strings.Replace(small, "1Gi", size, 1)), run("web", "run: "+n))
		}
		a.repo.commit(t, sized("2Gi", "1"), 0)
		a.pass()
		a.repo.commit(t, sized("1Gi", "1"), 0)
		a.pass()
		a.pass()
		if got := a.blocked("web"); !slices.Equal(got, []string{"DiskShrink"}) {
			t.Errorf("blocked by %v", got)
		}
		a.repo.commit(t, sized("3Gi", "2"), 0)
		a.pass()
		a.pass()
		a.quiet()
		if !strings.Contains(l.String(), "volume default/web.root.qcow2 3221225472") {
			t.Errorf("not grown:\n%s", l)
		}
		a.repo.commit(t, sized("1Gi", "3"), 0)
		for range 3 {
			a.pass()
		}
		a.restart()
		a.pass()
		if got := a.blocked("web"); !slices.Equal(got, []string{"DiskShrink"}) || !strings.Contains(l.String(), "web.root.qcow2 3221225472") {
			t.Errorf("blocked by %v:\n%s", got, l)
		}
	})
}

func TestForeignDomains(t *testing.T) {
	foreign := `<domain type='qemu'><name>web</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory unit='KiB'>65536</memory><devices><disk type='volume'><source pool='default' volume='web.root.qcow2'/><target dev='vdc' bus='virtio'/></disk></devices></domain>`
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		if err := l.Define(foreign); err != nil {
			t.Fatal(err)
		}
		before := l.String()
		a.repo.commit(t, docs(config("web", "", small), run("web", "")), 0)
		a.expect()
		if got := a.blocked("web"); !slices.Equal(got, []string{"NotOurs"}) || l.String() != before {
			t.Errorf("blocked by %v:\n%s", got, l)
		}
		a.repo.commit(t, config("x", "", small), 0)
		a.quiet() // and never removed
		a.repo.commit(t, docs(config("web", "", small), run("web", "adopt: true")), 0)
		a.expect("web live Autostart", "web next-start Adopt", "web start Run")
		a.quiet()
		e, err := domxml.Parse(a.domain("web").Inactive.Text())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Child("uuid").Text; got != "11111111-2222-3333-4444-555555555555" {
			t.Errorf("adopted with UUID %s", got)
		}
		if got := e.Child("devices/disk/target").Attr("dev"); got != "vdc" {
			t.Errorf("the disk became %s", got)
		}
	})
}

func TestDriftIsPutBack(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "", small), run("web", "")), 0)
		a.pass()
		a.quiet()
		l.Edit("web", func(e *domxml.Element) { e.Child("memory").Text = "1" })
		l.Edit("web", func(e *domxml.Element) { e.Append(domxml.New("description")).Text = "mine" })
		a.expect("web next-start Drift")
		a.quiet()
		e, err := domxml.Parse(a.domain("web").Inactive.Text())
		if err != nil {
			t.Fatal(err)
		}
		if e.Child("memory").Text != "65536" || e.Child("description").Text != "mine" {
			t.Errorf("put back as\n%s", e)
		}
	})
}

func TestPeopleWhoPause(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "", small), run("web", "")), 0)
		a.pass()
		if err := l.Apply(t.Context(), []plan.Step{{Op: plan.OpSuspend, Domain: "web"}}); err != nil {
			t.Fatal(err)
		}
		a.quiet()
		if notes := a.assessment("web").Notes; len(notes) != 1 || notes[0].Reason != "PausedOutside" {
			t.Errorf("notes = %v", notes)
		}
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Paused")), 0)
		a.pass()
		a.quiet()
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running")), 0)
		a.expect("web live Autostart", "web live Resumed")
		a.quiet()
		// Manual leaves power alone.
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Manual")), 0)
		a.quiet()
		l.GoDown("web", "shutdown")
		a.quiet()
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running")), 0)
		if got := a.pass(); !slices.Contains(got, "web start RestartPolicy") {
			t.Errorf("done: %v", got)
		}
	})
}

func TestMovesAreBlocked(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		on := func(host, more string) string {
			return docs(config("web", "", small), strings.Replace(run("web", more), "kvm1", host, 1))
		}
		a.repo.commit(t, on("kvm1", ""), 0)
		a.pass()
		a.repo.commit(t, on("kvm2", ""), 0)
		a.expect()
		if got := a.blocked("web"); !slices.Equal(got, []string{"MoveNeedsVolumes"}) {
			t.Errorf("the old host is blocked by %v", got)
		}
		// The same, seen from the new host, which knew of the old one.
		other := newAgent(t, fakevirt.New())
		other.host = "kvm2"
		other.restart()
		other.repo.commit(t, on("kvm1", ""), 0)
		other.pass()
		other.repo.commit(t, on("kvm2", ""), 0)
		other.expect()
		other.restart()
		other.expect()
		if got := other.blocked("web"); !slices.Equal(got, []string{"MoveNeedsVolumes"}) {
			t.Errorf("the new host is blocked by %v", got)
		}
		other.repo.commit(t, on("kvm2", "moveVolumes: Recreate"), 0)
		other.expect("web create NoDomain", "web start Wanted")
		a.repo.commit(t, on("kvm2", "moveVolumes: Recreate"), 0)
		a.expect("web remove NotWanted")
		a.expect("web remove NotWanted")
		if got := l.Volumes(); len(got) != 1 {
			t.Errorf("the old host's volumes are %v", got)
		}
	})
}

func TestRolloutRestart(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		for n, policy := range []string{"Always", "Never"} {
			spec := memory(small, []string{"70Mi", "80Mi"}[n])
			a.repo.commit(t, docs(config("web", "rollout: Restart\n  restartPolicy: "+policy, spec), run("web", "")), 0)
			for range 4 {
				a.pass()
			}
			a.quiet()
			if len(a.assessment("web").Staged) != 0 || a.assessment("web").Phase != plan.PhaseRunning {
				t.Errorf("%s: %v, %s", policy, a.assessment("web").Staged, a.assessment("web").Phase)
			}
		}
	})
}

func TestStoppedWhileGoingDownAndWantedAgain(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		a.repo.commit(t, docs(config("web", "restartPolicy: Never", small), run("web", "")), 0)
		a.pass()
		l.Deafen("web")
		a.repo.commit(t, docs(config("web", "restartPolicy: Never", small), run("web", "state: Stopped")), 0)
		a.pass()
		a.repo.commit(t, docs(config("web", "restartPolicy: Never", small), run("web", "state: Running")), 0)
		a.pass()
		l.GoDown("web", "shutdown") // it had heard the request after all
		a.expect("web start Wanted")
		a.quiet()
		if m := a.domain("web").Inactive.Meta; m.Outcome != metadata.OutcomeStarted {
			t.Errorf("outcome = %s", m.Outcome)
		}
	})
}
