package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

const secret = "hunter2"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a host with at most one domain, named web. What it knows comes from real documents, renders and plans.
type scene struct {
	t        testing.TB
	domain   *plan.Domain
	now      time.Time
	revision int
	facts    Facts
	latest   *Snapshot
}

func newScene(t testing.TB) *scene { return &scene{t: t, now: start} }

func web(memory, more string) string {
	return fmt.Sprintf(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web, labels: {tier: frontend}}
spec:
  %s
  template:
    spec:
      domain:
        memory: {guest: %s}
        devices:
          disks:
          - {name: root, disk: {bus: virtio}}
          - {name: init, cdrom: {bus: sata}}
          interfaces:
          - {name: lan, bridge: {}}
      networks:
      - {name: lan, libvirt: {network: default}}
      volumes:
      - {name: root, volume: {size: 1Gi}}
      - {name: init, cloudInitNoCloud: {userData: "password: %s"}}
`, more, memory, secret)
}

func runState(state string) string {
	return "---\napiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: web}\nspec: {host: kvm1, state: " + state + "}\n"
}

// observe makes a pass over the documents as a new revision, and a snapshot of it.
func (s *scene) observe(documents string) *Snapshot {
	s.t.Helper()
	s.revision++
	s.now = s.now.Add(time.Minute)
	commit := fmt.Sprintf("%040x", s.revision)
	set := manifest.Collect([]manifest.File{manifest.Read("web.yaml", []byte(documents))}, func(string) ([]byte, bool) { return nil, false })
	w := plan.Wanted{Host: "kvm1", Revision: commit, Budget: 3, Broken: map[string]string{}}
	w.Incomplete = len(set.Problems) > 0
	f := Facts{Now: s.now, Host: "kvm1", Fleet: "test", Version: "v1.2.3"}
	placement := render.Place(set, "")
	for _, m := range placement.Machines {
		i, problems := placement.Of(m, render.Options{Fleet: "test", Revision: commit})
		if i == nil {
			w.Broken[m.Run.Metadata.Name] = problems[0].String()
			set.Problems = append(set.Problems, problems...)
		} else {
			w.Instances = append(w.Instances, i)
		}
		f.Documents.RunStates = append(f.Documents.RunStates, m.Run)
	}
	f.Documents.Set, f.Documents.Problems = set, set.Problems
	var world plan.World
	if s.domain != nil {
		world.Domains = []plan.Domain{*s.domain}
	}
	if s.domain != nil && s.domain.Meta() != nil && set.Find(manifest.KindConfig, s.domain.Meta().Config) == nil {
		w.Gone = map[string]bool{s.domain.Meta().Config: true}
	}
	f.Plan, f.Assessments = plan.Make(w, world, plan.Memory{Now: s.now})
	f.Source = Source{URL: "/srv/vms", Branch: "main", Revision: commit, Success: s.now, Fetches: s.revision}
	f.Libvirt.Up = true
	s.facts = f
	s.latest = Report(s.latest, f)
	return s.latest
}

// converge observes and does what the plan says, until it says no more.
func (s *scene) converge(documents string) *Snapshot {
	s.t.Helper()
	for range 5 {
		if s.observe(documents); len(s.facts.Plan.Actions) == 0 {
			break
		}
		for _, a := range s.facts.Plan.Actions {
			for _, step := range a.Steps {
				s.do(step)
			}
		}
	}
	return s.latest
}

// do does to the domain what libvirt would.
func (s *scene) do(step plan.Step) {
	s.t.Helper()
	if s.domain == nil {
		s.domain = &plan.Domain{Name: "web", ID: -1, State: plan.DomainShutoff, Reason: "unknown"}
	}
	d := s.domain
	switch step.Op {
	case plan.OpDefine:
		d.Inactive, d.Persistent = s.xml(step.XML, nil), true
		d.UUID = s.parse(step.XML).Child("uuid").Text
	case plan.OpStart:
		d.Live, d.ID, d.State, d.Reason = d.Inactive, 1, plan.DomainRunning, "booted"
	case plan.OpShutdown, plan.OpDestroy:
		s.off("shutdown")
	case plan.OpMetadata:
		if step.Config {
			d.Inactive = s.xml(d.Inactive.Text(), step.Metadata)
		}
		if step.Live {
			d.Live = s.xml(d.Live.Text(), step.Metadata)
		}
	case plan.OpAutostart:
		d.Autostart = step.On
	case plan.OpUndefine:
		s.domain = nil
	}
}

// off is a domain that went down.
func (s *scene) off(reason string) {
	s.domain.Live, s.domain.ID, s.domain.State, s.domain.Reason = plan.XML{}, -1, plan.DomainShutoff, reason
}

func (s *scene) xml(text string, m *metadata.Metadata) plan.XML {
	s.t.Helper()
	if m != nil {
		e := s.parse(text)
		m.Put(e)
		text = e.String()
	}
	meta, err := metadata.Parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return plan.XML{Packed: plan.Plain(text), Hash: fmt.Sprintf("%q", text), Meta: meta}
}

func (s *scene) parse(text string) *domxml.Element {
	s.t.Helper()
	e, err := domxml.Parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}
