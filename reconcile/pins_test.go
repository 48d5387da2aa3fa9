package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/fakevirt"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// commitName is the name of a test repository's commit, counted from 1.
func commitName(n int) string { return fmt.Sprintf("%040d", n) }

func pinTo(n int) string { return fmt.Sprintf("revision: '%s'", commitName(n)) }

func TestPinnedRevision(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		web := func(guest string) string { return config("web", "", memory(small, guest)) }
		a.repo.commit(t, docs(web("64Mi"), run("web", "state: Stopped")), 0)
		a.pass()
		first := a.domain("web").Inactive.Text()
		a.repo.commit(t, docs(web("128Mi"), run("web", "state: Stopped")), 0)
		a.expect("web next-start Edited")
		// The run state, its state and its run are the newest revision's.
		a.repo.commit(t, docs(web("256Mi"), run("web", "state: Stopped, "+pinTo(1))), 0)
		a.expect("web next-start Edited")
		a.quiet()
		if diff := cmp.Diff(first, a.domain("web").Inactive.Text()); diff != "" {
			t.Errorf("the first revision is not restored (-first +pinned):\n%s", diff)
		}
		if got := a.assessment("web").Instance.Revision; got != commitName(1) {
			t.Errorf("it is of revision %s", got)
		}
		a.repo.commit(t, docs(web("256Mi"), run("web", "state: Running, "+pinTo(1))), 0)
		a.expect("web live Autostart", "web start Run")
		a.restart()
		a.quiet()
		// Without the pin it follows again.
		a.repo.commit(t, docs(web("256Mi"), run("web", "state: Running")), 0)
		a.expect("web next-start Edited")
		a.quiet()
	})
}

func TestPinnedToWhatCannotBeUsed(t *testing.T) {
	web, other := config("web", "", small), config("other", "", small)
	broken := strings.Replace(web, "64Mi", "lots", 1)
	flavoured := config("web", "flavour: big", "domain: {cpu: {cores: 1}}")
	flavour := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineFlavour\nmetadata: {name: big}\nspec: {domain: {memory: {guest: 1Gi}}}\n"
	contradicting := docs(strings.Replace(web, "spec:\n  \n", "spec:\n  presets: [p]\n", 1), preset("p", "domain: {memory: {guest: 1Gi}}"))
	for name, tt := range map[string]struct{ then, message string }{
		"no such config":        {other, "0.yaml:1: there is no config web in it"},
		"a broken config":       {broken, "the config web is broken there: 0.yaml:"},
		"a broken flavour":      {docs(flavoured, strings.Replace(flavour, "1Gi", "lots", 1)), "there is no config web in it"},
		"no such flavour":       {flavoured, "the config web is broken there: 0.yaml:"},
		"a broken preset":       {docs(web, preset("p", "domain: {memory: 7}")), "its documents are broken: 1.yaml:"},
		"what cannot be told":   {docs(web, "kind: ["), "its documents are broken: 1.yaml:"},
		"a contradiction there": {contradicting, "cannot be used: 0.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, func(a *agent, l *fakevirt.Libvirt) {
				a.repo.commit(t, tt.then, 0)
				now := docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running"), config("db", "", small), run("db", "state: Running"))
				a.repo.commit(t, now, 0)
				a.pass()
				a.quiet()
				before := a.domain("web").Inactive.Text()
				pinnedNow := docs(config("web", "", memory(small, "256Mi")), run("web", "state: Running, "+pinTo(1)), config("db", "", small))
				a.repo.commit(t, pinnedNow, 0)
				a.expect() // and nothing is removed
				if got := a.blocked("web"); !slices.Equal(got, []string{"InvalidDocument"}) {
					t.Errorf("blocked = %v", got)
				}
				if got := a.blocked("db"); !slices.Equal(got, []string{"IncompleteRevision"}) {
					t.Errorf("db is blocked for %v", got)
				}
				message := a.assessment("web").Blocked[0].Message
				for _, want := range []string{"1.yaml:4:", "RunState/web: spec.revision: revision 000000000000 cannot be used", strings.TrimPrefix(tt.message, "0.yaml:1: "), "say another revision, or take it out"} {
					if !strings.Contains(message, want) {
						t.Errorf("the message %q does not say %q", message, want)
					}
				}
				if a.domain("web").Inactive.Text() != before {
					t.Error("it was changed")
				}
				// One that is not there at all.
				a.repo.commit(t, strings.Replace(pinnedNow, commitName(1), strings.Repeat("f", 40), 1), 0)
				a.expect()
				if got := a.blocked("web"); !slices.Equal(got, []string{"InvalidDocument"}) {
					t.Errorf("blocked = %v", got)
				}
			})
		})
	}
}

func TestPinnedGroup(t *testing.T) {
	with(t, func(a *agent, l *fakevirt.Libvirt) {
		of := func(guest, spec string) string {
			return docs(config("web", "", memory(diskless, guest)), group("web", "replicas: 2, hosts: [kvm1], "+spec))
		}
		a.repo.commit(t, of("64Mi", ""), 0)
		a.pass()
		a.repo.commit(t, of("128Mi", pinTo(1)), 0)
		a.quiet()
		// What is raised is the newest revision's.
		a.repo.commit(t, of("128Mi", pinTo(1)+", replicas: 3"), 0)
		if got := a.blocked("web-0"); len(got) > 0 {
			t.Errorf("blocked = %v", got)
		}
		a.repo.commit(t, strings.Replace(of("128Mi", pinTo(1)), "replicas: 2", "replicas: 3", 1), 0)
		a.expect("web-2 create NoDomain", "web-2 start Wanted")
		if text := a.domain("web-2").Inactive.Text(); !strings.Contains(text, "65536") {
			t.Errorf("it is not as of the pinned revision:\n%s", text)
		}
		a.quiet()
	})
}

// TestPinIsReadBesideThePasses: the loop goes on without what a pin says, and takes it in when it is there.
func TestPinIsReadBesideThePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fakevirt.New()
		a := newAgent(t, l)
		a.repo.commit(t, docs(config("web", "", small), run("web", "state: Running")), 0)
		a.repo.commit(t, docs(config("web", "", memory(small, "128Mi")), run("web", "state: Running, "+pinTo(1))), 0)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.loop.Run(ctx) }()
		time.Sleep(time.Second)
		if text := l.String(); !strings.Contains(text, "65536") || !strings.Contains(text, "running") {
			t.Errorf("it does not run as it is pinned:\n%s", text)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPinRestoresTheDefinition: on a real libvirtd, a machine that is pinned to an earlier revision has the inactive XML that
// it had then, to the byte.
func TestPinRestoresTheDefinition(t *testing.T) {
	s := sandboxtest.Start(t)
	b, stop := realBed(t, s)
	defer stop()
	n := 0
	for _, state := range []string{"state: Stopped", "state: Paused"} {
		for name, versions := range map[string][2]string{
			"memory":         {machineDocs("web", "", "16Mi", "", "root", "nic0"), machineDocs("web", "", "20Mi", "", "root", "nic0")},
			"a seed":         {machineDocs("web", "", "16Mi", "", "root", "seed"), machineDocs("web", "", "20Mi", "", "root", "seed")},
			"fewer devices":  {machineDocs("web", "", "16Mi", "", "root", "mid", "nic0", "nic1"), machineDocs("web", "", "16Mi", "", "root", "nic1")},
			"more devices":   {machineDocs("web", "", "16Mi", "", "root", "nic0"), machineDocs("web", "", "16Mi", "", "root", "mid", "last", "nic0", "nic1", "scratch")},
			"other policies": {machineDocs("web", "", "16Mi", "", "root"), machineDocs("web", "rollout: Restart\n  deletionPolicy: Delete", "16Mi", "", "root")},
		} {
			t.Run(state+" "+name, func(t *testing.T) {
				n++
				web := fmt.Sprintf("web%d", n) // the domains of earlier tests do not matter
				says := func(version, runState string) string {
					return strings.ReplaceAll(version, "metadata: {name: web}", "metadata: {name: "+web+"}") + "---\n" + run(web, runState)
				}
				a := newAgent(t, b.libvirt)
				a.repo.commit(t, says(versions[0], state), 100)
				b.reach(t, a, "the first revision")
				first := a.domain(web).Inactive.Text()
				a.repo.commit(t, says(versions[1], state), 100)
				b.reach(t, a, "the second revision")
				if problems := a.facts.Documents.Problems; len(problems) > 0 {
					t.Fatal(problems)
				}
				a.repo.commit(t, says(versions[1], state+", "+pinTo(1)), 100)
				b.reach(t, a, "the pinned revision")
				if diff := cmp.Diff(first, a.domain(web).Inactive.Text()); diff != "" {
					t.Errorf("the definition is not what it was (-first +pinned):\n%s", diff)
				}
				if a.assessment(web).Phase == plan.PhasePending {
					t.Error("it is not there")
				}
			})
		}
	}
}
