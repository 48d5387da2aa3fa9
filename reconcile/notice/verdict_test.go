package notice

import (
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/manifest"
)

const commit = "3f2a9c1d5e6f708192a3b4c5d6e7f8091a2b3c4d"

func TestJudge(t *testing.T) {
	is := func(name string, change func(*plan.Assessment)) plan.Assessment {
		a := plan.Assessment{Name: name, Phase: plan.PhaseRunning}
		if change != nil {
			change(&a)
		}
		return a
	}
	blocked := func(reason, message string) func(*plan.Assessment) {
		return func(a *plan.Assessment) { a.Blocked = append(a.Blocked, plan.Block{Reason: reason, Message: message}) }
	}
	busy := func(a *plan.Assessment) { a.Actions = []plan.Action{{Instance: a.Name, Effect: plan.EffectStart}} }
	staged := func(a *plan.Assessment) { a.Staged = []plan.Staged{{Restart: true}} }
	later := func(a *plan.Assessment) { a.Staged = []plan.Staged{{Restart: false}} }
	all := func(a ...plan.Assessment) func(*status.Facts) { return func(f *status.Facts) { f.Assessments = a } }
	for _, tt := range []struct {
		name  string
		facts func(*status.Facts)
		state State // empty: nothing can be said
		text  string
	}{
		{"no revision", func(f *status.Facts) { f.Source.Revision = "" }, "", ""},
		{"no libvirt", func(f *status.Facts) { f.Libvirt.Up = false }, "", ""},
		{"nothing is wanted here", all(), Success, "in sync: 0 machines"},
		{"in sync", all(is("a", nil), is("b", nil)), Success, "in sync: 2 machines"},
		{"the fetch fails, the revision does not", func(f *status.Facts) { f.Source.Error = "no route" }, Success, "in sync: 0 machines"},
		{"staged", all(is("a", staged), is("b", later)), Success, "in sync: 2 machines; 1 machine waits for a restart"},
		{"staged at two", all(is("a", staged), is("b", staged)), Success, "in sync: 2 machines; 2 machines wait for a restart"},
		{"a guest is not up yet", all(is("a", func(a *plan.Assessment) { a.Unready = "no answer" })), Success, "in sync: 1 machine"},
		{"busy", all(is("a", busy), is("b", nil)), Pending, "converging: a"},
		{"busy at many", all(is("a", busy), is("b", busy), is("c", busy), is("d", busy), is("e", busy)), Pending, "converging: a, b, c and 2 more"},
		{"libvirt is silent about one", all(is("a", func(a *plan.Assessment) { a.Phase = plan.PhaseUnknown })), Pending, "libvirt gives no answer about a"},
		{"suspended", all(is("a", blocked("Suspended", "the Host document suspends this host")), is("b", busy)), Pending,
			"suspended: a: the Host document suspends this host"},
		{"held", all(is("a", blocked("RemovalBudget", "4 are to go, and 3 may")), is("b", busy)), Held, "held: a: 4 are to go, and 3 may"},
		{"held while suspended", all(is("a", func(a *plan.Assessment) {
			blocked("Suspended", "it is suspended")(a)
			blocked("RemovalBudget", "4 are to go")(a)
		})), Held, "held: a: 4 are to go"},
		{"blocked", all(is("a", blocked("DiskShrink", "root would shrink")), is("b", blocked("RemovalBudget", "4 are to go"))), Failure,
			"blocked: a: root would shrink"},
		{"blocked after something lighter", all(is("a", func(a *plan.Assessment) {
			blocked("Suspended", "it is suspended")(a)
			blocked("NotOurs", "there is a domain of this name")(a)
		})), Failure, "blocked: a: there is a domain of this name"},
		{"failed", func(f *status.Facts) {
			all(is("a", blocked("NotOurs", "there is one")), is("b", busy), is("c", nil))(f)
			f.Failures = map[string]status.Failure{"b": {Message: "no such pool"}, "c": {Message: "another"}, "gone": {Message: "long ago"}}
		}, Failure, "failed at b, c: no such pool"},
		{"a failure of one that is gone", func(f *status.Facts) {
			f.Failures = map[string]status.Failure{"gone": {Message: "long ago"}}
		}, Success, "in sync: 0 machines"},
		{"a broken document", func(f *status.Facts) {
			all(is("a", busy))(f)
			f.Documents.Problems = []manifest.Problem{{File: "web.yaml", Line: 3, Column: 7, Message: "spec.cpus is not known"}}
		}, Failure, "1 problem in the documents: web.yaml:3:7: spec.cpus is not known"},
		{"a pinned revision that is not read yet", func(f *status.Facts) {
			all(is("a", blocked("InvalidDocument", "its documents cannot be used")))(f)
			f.Documents.Problems, f.Documents.Unread = []manifest.Problem{{File: "web.yaml", Line: 9, Column: 2, Message: "it is not known yet"}}, 1
		}, Pending, "reading what machines are pinned to: web.yaml:9:2: it is not known yet"},
		{"and a broken document", func(f *status.Facts) {
			f.Documents.Problems = []manifest.Problem{{File: "db.yaml", Message: "it is broken"}, {File: "web.yaml", Message: "it is not known yet"}}
			f.Documents.Unread = 1
		}, Failure, "1 problem in the documents: db.yaml: it is broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := status.Facts{Source: status.Source{Revision: commit}, Libvirt: status.Libvirt{Up: true}}
			tt.facts(&f)
			v, ok := Judge(f)
			if v.State != tt.state || v.Text != tt.text || ok != (tt.state != "") {
				t.Errorf("%q %q %v, want %q %q", v.State, v.Text, ok, tt.state, tt.text)
			}
			if ok && v.Commit != commit {
				t.Errorf("commit %q", v.Commit)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	f := status.Facts{Source: status.Source{Revision: commit}}
	if v, ok := Refused(f); ok {
		t.Errorf("nothing is held, and it says %+v", v)
	}
	f.Source.Held = &status.Held{Commit: "b", Reason: "the branch was rewritten"}
	if v, ok := Refused(f); !ok || v != (Verdict{"b", Held, "the branch was rewritten"}) {
		t.Errorf("%+v %v", v, ok)
	}
}

func TestInSync(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*status.Facts)
		want   bool
	}{
		{"yes", func(*status.Facts) {}, true},
		{"no revision", func(f *status.Facts) { f.Source.Revision = "" }, false},
		{"the fetch failed", func(f *status.Facts) { f.Source.Error = "no route" }, false},
		{"no libvirt", func(f *status.Facts) { f.Libvirt.Up = false }, false},
		{"an action", func(f *status.Facts) { f.Plan.Actions = []plan.Action{{}} }, false},
		{"a problem", func(f *status.Facts) { f.Documents.Problems = []manifest.Problem{{}} }, false},
	} {
		f := status.Facts{Source: status.Source{Revision: commit}, Libvirt: status.Libvirt{Up: true}}
		tt.change(&f)
		if got := InSync(f); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestInstances(t *testing.T) {
	condition := func(kind, is, message string) status.Condition {
		return status.Condition{Type: kind, Status: is, Message: message}
	}
	one := func(name string, failure *status.Failed, c ...status.Condition) status.Instance {
		return status.Instance{Metadata: status.Metadata{Name: name}, Status: status.InstanceStatus{Phase: plan.PhaseRunning, Failure: failure, Conditions: c}}
	}
	ready, not := condition(status.Ready, "True", ""), condition(status.Ready, "False", "it is to be Running")
	got := Instances(&status.Snapshot{Instances: []status.Instance{
		one("blocked", nil, ready, condition(status.Blocked, "True", "root would shrink")),
		one("failed", &status.Failed{Message: "no such pool", Time: time.Now()}, not, condition(status.Blocked, "True", "x")),
		one("not-ready", nil, not, condition(status.Synced, "False", "x"), condition(status.Blocked, "False", "")),
		one("ready", nil, ready),
		one("unknown", nil, not, condition(status.Synced, "Unknown", "libvirt gives no answer about it")),
	}})
	want := []Instance{
		{"blocked", Blocked, "root would shrink"}, {"failed", Failed, "no such pool"}, {"not-ready", NotReady, "it is to be Running"},
		{"ready", Ready, "Running"}, {"unknown", Unknown, "libvirt gives no answer about it"},
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("%+v, want %+v", got[n], want[n])
		}
	}
}
