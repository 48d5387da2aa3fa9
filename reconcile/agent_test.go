package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/source"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// repository is a branch whose commits are folders.
type repository struct {
	dir     string
	sealed  map[string]string // files beside the documents, of the next commit
	commits map[string]*source.Snapshot
	head    *source.Snapshot
	err     error
}

func newRepository(t testing.TB) *repository {
	return &repository{dir: t.TempDir(), commits: map[string]*source.Snapshot{}}
}

// commit makes a revision of the documents. The message may carry the trailer that lets removals through.
func (r *repository) commit(t testing.TB, documents string, allowed int) {
	t.Helper()
	name := fmt.Sprintf("%040d", len(r.commits)+1)
	dir := filepath.Join(r.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for n, text := range strings.Split(documents, "\n====\n") {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range r.sealed {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := source.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Commit, s.Branch, s.Allowed = name, "main", allowed
	r.commits[name], r.head = s, s
}

func (r *repository) Load(ctx context.Context) (*source.Snapshot, error) { return r.Fetch(ctx) }
func (r *repository) Fetch(context.Context) (*source.Snapshot, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.head == nil {
		return nil, source.ErrNoRevision
	}
	return r.head, nil
}
func (r *repository) At(_ context.Context, commit string) (*source.Snapshot, error) {
	if s := r.commits[commit]; s != nil {
		return s, nil
	}
	return nil, source.ErrNoRevision
}
func (r *repository) Watch(context.Context, func()) error { return nil }
func (r *repository) Held() *source.Held                  { return nil }
func (r *repository) Local() bool                         { return true }

// agent drives a loop by hand.
type agent struct {
	t       testing.TB
	repo    *repository
	libvirt reconcile.Runner
	loop    *reconcile.Loop
	host    string
	state   string
	policy  policy.Policy
	prober  reconcile.Prober
	secrets render.Secrets

	mu    sync.Mutex
	acted []string
	facts status.Facts
}

func newAgent(t testing.TB, libvirt reconcile.Runner) *agent {
	a := &agent{t: t, repo: newRepository(t), libvirt: libvirt, host: "kvm1", state: filepath.Join(t.TempDir(), "state.json"), policy: policy.Default()}
	a.restart()
	return a
}

// restart is the agent killed, and another in its place.
func (a *agent) restart() {
	a.t.Helper()
	a.loop = a.newLoop()
}

// newLoop is an agent's loop over what the agent before left.
func (a *agent) newLoop() *reconcile.Loop {
	a.t.Helper()
	loop, err := reconcile.New(reconcile.Options{
		Policy: a.policy,
		Host:   a.host, Fleet: "test", Interval: time.Minute, Budget: 3, StateFile: a.state,
		Source: a.repo, Runner: a.libvirt, Prober: a.prober, Secrets: a.secrets, Logger: slog.New(slog.DiscardHandler), Metrics: a,
		Publish: func(status.Facts) {}, Patience: 100 * time.Millisecond,
		Refused: func(err error) bool {
			return errors.Is(err, runner.ErrInvalid) || errors.Is(err, fakevirt.ErrRefused) || strings.Contains(err.Error(), "refused")
		},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return loop
}

func (a *agent) Fetched(time.Duration, error) {}
func (a *agent) Rewritten()                   {}
func (a *agent) Unverified()                  {}
func (a *agent) Passed(time.Duration, error)  {}
func (a *agent) Acted(action plan.Action, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := fmt.Sprintf("%s %s %s", action.Instance, action.Effect, action.Reason)
	if err != nil {
		s += " failed"
	}
	a.acted = append(a.acted, s)
}

// pass makes a pass and returns what was done in it, sorted by instance.
func (a *agent) pass() []string {
	a.t.Helper()
	a.acted = nil
	var err error
	if a.facts, err = a.loop.Once(a.t.Context()); err != nil {
		a.t.Fatalf("pass: %v", err)
	}
	slices.SortStableFunc(a.acted, func(x, y string) int {
		return strings.Compare(strings.Fields(x)[0], strings.Fields(y)[0])
	})
	return a.acted
}

// expect makes a pass and compares what was done.
func (a *agent) expect(want ...string) {
	a.t.Helper()
	if got := a.pass(); !slices.Equal(got, want) {
		a.t.Errorf("done:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// quiet makes a pass that finds nothing to do.
func (a *agent) quiet() {
	a.t.Helper()
	a.expect()
	for _, action := range a.facts.Plan.Actions {
		a.t.Errorf("still planned: %s %s %s: %s", action.Instance, action.Effect, action.Reason, action.Message)
	}
}

// blocked are the reasons that an instance is blocked for.
func (a *agent) blocked(name string) []string {
	var reasons []string
	for _, x := range a.facts.Assessments {
		if x.Name == name {
			for _, b := range x.Blocked {
				reasons = append(reasons, b.Reason)
			}
		}
	}
	return reasons
}

func (a *agent) assessment(name string) plan.Assessment {
	for _, x := range a.facts.Assessments {
		if x.Name == name {
			return x
		}
	}
	return plan.Assessment{}
}

func (a *agent) domain(name string) *plan.Domain { return a.assessment(name).Domain }

// config and run are documents.
func config(name, policy, spec string) string {
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  %s
  template: {spec: {terminationGracePeriodSeconds: 30, %s}}
`, name, policy, spec)
}

func run(name, spec string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: %s}\nspec: {host: kvm1, %s}\n", name, spec)
}

func docs(documents ...string) string { return strings.Join(documents, "\n====\n") }

// small is a spec with one disk.
const small = "domain: {memory: {guest: 64Mi}, devices: {disks: [{name: root}]}}, volumes: [{name: root, volume: {size: 1Gi}}]"

func memory(spec, guest string) string { return strings.Replace(spec, "64Mi", guest, 1) }

var _ reconcile.Runner = (*fakevirt.Libvirt)(nil)
