package reconcile

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// guard holds what documents want of the host against the agent's policy. It is for one goroutine.
type guard struct {
	policy policy.Policy
	files  policy.Resolver
	log    *slog.Logger
	known  map[*domxml.Element]policy.Finding // by the instance's domain, which an edit makes anew
	sizes  map[string]policy.Size             // of what is defined, by the hash of its XML
	// answers are what was said of instances, by name.
	answers map[string]verdict
	said    map[string]string // what was logged, by instance
}

func newGuard(p policy.Policy, files policy.Resolver, log *slog.Logger) *guard {
	return &guard{policy: p, files: files, log: log, known: map[*domxml.Element]policy.Finding{}, sizes: map[string]policy.Size{}, said: map[string]string{}}
}

// judge says in what is wanted which of it the policy refuses. What names files of the host is looked at anew each time:
// where a link leads to may have changed.
func (g *guard) judge(w *plan.Wanted, world plan.World, r *revision) {
	known := make(map[*domxml.Element]policy.Finding, len(w.Instances))
	ask := g.policy.Host != (policy.Limits{})
	for _, i := range w.Instances {
		f := g.find(i)
		known[i.Domain] = f
		ask = ask || len(f.Refusals) > 0
	}
	for name, back := range w.Fallback {
		if back.Instance == nil {
			continue
		}
		f := g.find(back.Instance)
		known[back.Instance.Domain] = f
		if len(f.Refusals) > 0 {
			w.Fallback[name] = plan.Fallback{Why: "the host's policy refuses that: " + f.Refusals[0].String()}
		}
	}
	g.known = known
	w.Forbidden = map[string]plan.Forbidden{}
	if !ask {
		g.answers = nil
	}
	if ask {
		g.admit(w, world, r)
	}
	g.tell(w.Forbidden)
}

// mostSaid is how many refusals of a machine its condition says.
const mostSaid = 5

// admit says which instances are forbidden, by what they are and by what the host has left.
func (g *guard) admit(w *plan.Wanted, world plan.World, r *revision) {
	sizes, answers := map[string]policy.Size{}, map[string]verdict{}
	var machines []policy.Machine
	for _, i := range w.Instances {
		f := g.known[i.Domain]
		m := g.machine(i, world.Domain(i.Name), f, sizes)
		m.Refused = len(f.Refusals) > 0
		machines = append(machines, m)
	}
	g.sizes = sizes
	verdicts := policy.Admit(g.policy.Host, machines)
	for _, i := range w.Instances {
		v := verdicts[i.Name]
		refusals := append(slices.Clip(g.known[i.Domain].Refusals), v.Refusals...)
		if len(refusals) == 0 {
			continue
		}
		a := g.answers[i.Name]
		if a.to != i.Domain || a.of != r || !slices.Equal(a.refusals, refusals) {
			a = verdict{i.Domain, r, refusals, message(r, i, refusals)}
		}
		answers[i.Name] = a
		w.Forbidden[i.Name] = plan.Forbidden{Message: a.message, Start: v.Start}
	}
	g.answers = answers
}

// verdict is what was said of an instance: to find its lines, its file is read.
type verdict struct {
	to       *domxml.Element
	of       *revision
	refusals []policy.Refusal
	message  string
}

func message(r *revision, i *render.Instance, refusals []policy.Refusal) string {
	more := len(refusals) - mostSaid
	var said []string
	for _, problem := range refusalProblems(r.snapshot, r.view.Set, r.view.Placement, i, refusals[:min(len(refusals), mostSaid)]) {
		said = append(said, problem.String())
	}
	if more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// find is what the policy says of an instance.
func (g *guard) find(i *render.Instance) policy.Finding {
	if f, ok := g.known[i.Domain]; ok && !f.OfHost {
		return f
	}
	return policy.Check(g.policy, i, g.files)
}

// still says whether an instance may be worked at as it was planned: files of the host are looked at once more, right before.
func (g *guard) still(a plan.Assessment) bool {
	i := a.Instance
	if i == nil || !g.known[i.Domain].OfHost || len(g.known[i.Domain].Refusals) > 0 {
		return true
	}
	return len(policy.Check(g.policy, i, g.files).Refusals) == 0
}

// machine is an instance as far as the host's ceilings are concerned.
func (g *guard) machine(i *render.Instance, d *plan.Domain, f policy.Finding, sizes map[string]policy.Size) policy.Machine {
	m := policy.Machine{Name: i.Name, Size: f.Size, On: i.State == manifest.StateRunning || i.State == manifest.StatePaused}
	if d == nil || d.Meta() == nil {
		return m
	}
	m.Active = d.Active()
	m.On = m.On || i.State == manifest.StateManual && m.Active
	meta, xml := d.Meta(), d.Inactive
	m.Ran = meta.Run == i.Run && meta.Outcome != ""
	m.Same = meta.Digest == i.Digest
	if m.Active && d.Live.Meta != nil {
		xml = d.Live
		m.Same = m.Same && d.Live.Meta.Digest == i.Digest
	}
	has := f.Size
	if !m.Same {
		has = g.defined(xml, sizes)
		has.Disk = 0
		for _, v := range meta.Volumes {
			has.Disk += v.Size
		}
	}
	m.Has = &has
	return m
}

// defined is the size of what libvirt has; nothing where no ceiling asks for it.
func (g *guard) defined(x plan.XML, sizes map[string]policy.Size) policy.Size {
	if g.policy.Host == (policy.Limits{}) {
		return policy.Size{}
	}
	s, ok := g.sizes[x.Hash]
	if !ok {
		if e, err := domxml.Parse(x.Text()); err == nil {
			s = policy.DomainSize(e)
		}
	}
	sizes[x.Hash] = s
	return s
}

// tell logs what is refused, once.
func (g *guard) tell(forbidden map[string]plan.Forbidden) {
	said := make(map[string]string, len(forbidden))
	for name, f := range forbidden {
		said[name] = f.Message
		if g.said[name] != f.Message {
			g.log.Warn("the policy refuses a machine", "instance", name, "message", f.Message)
		}
	}
	g.said = said
}

// refusalProblems finds where the documents say what is refused. One that is pinned stands in another revision, of which only
// the file is named.
func refusalProblems(s *source.Snapshot, set *manifest.Set, placed *render.Placement, i *render.Instance, refusals []policy.Refusal) []manifest.Problem {
	config := set.Configs[i.Config]
	var all []manifest.Problem
	for _, r := range refusals {
		m, ok := placed.Find(i.Name)
		attached := strings.HasPrefix(r.Field, "attach")
		switch {
		case attached && ok:
			all = append(all, m.Run.Problem("spec."+r.Field, r.String()))
		case config == nil || i.Pinned:
			file, _, _ := strings.Cut(i.Source, ":")
			if i.Pinned {
				file = fmt.Sprintf("%s of revision %.12s", file, i.Revision)
			}
			all = append(all, manifest.Problem{File: file, Kind: manifest.KindConfig, Name: i.Config, Field: r.Field, Message: r.String()})
		default:
			at := config.Written.Spec
			if r.Field != "" {
				at += "." + r.Field
			}
			all = append(all, config.Problem(at, r.String()))
		}
	}
	return Locate(s, all)
}

// Refusals are what a policy says of a view's instances, as problems of their documents: for a check, which knows the agent's
// file and neither the host's files nor what runs there.
func (v View) Refusals(s *source.Snapshot, p policy.Policy) []manifest.Problem {
	var all []manifest.Problem
	hosts := map[string][]policy.Machine{}
	by := map[string]*render.Instance{}
	for _, i := range v.Instances {
		by[i.Name] = i
		f := policy.Check(p, i, policy.Lexical{})
		all = append(all, refusalProblems(s, v.Set, v.Placement, i, f.Refusals)...)
		on := i.State == manifest.StateRunning || i.State == manifest.StatePaused
		hosts[i.Host] = append(hosts[i.Host], policy.Machine{Name: i.Name, Size: f.Size, On: on, Refused: len(f.Refusals) > 0})
	}
	for _, machines := range hosts {
		for name, verdict := range policy.Admit(p.Host, machines) {
			all = append(all, refusalProblems(s, v.Set, v.Placement, by[name], verdict.Refusals)...)
		}
	}
	all = append(all, Locate(s, v.resourceRefusals(p))...)
	slices.SortFunc(all, func(a, b manifest.Problem) int { return strings.Compare(a.String(), b.String()) })
	return all
}
