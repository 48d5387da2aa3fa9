package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// made is an instance, and what it was made of. Documents are the same while their files are.
type made struct {
	of       []any
	instance *render.Instance
}

// View is what a revision says of one host.
type View struct {
	Set *manifest.Set
	// Placement is of all hosts, but for machines on other hosts of which the set has no more than where they are.
	Placement *render.Placement
	Instances []*render.Instance
	// Broken are instances that cannot be rendered, not even in their last good form.
	Broken map[string]string
	// Locked are instances with a secret that the host cannot use.
	Locked map[string]string
	// Problems are those of the documents, and those that show when they are completed.
	Problems []manifest.Problem
	host     string // whose instances they are
	// Resources are the host's networks and storage pools; those of every host, where it is no one host's view.
	Resources render.Resources
	// Unread are pinned revisions that could not be read, or not yet. Their machines are among Broken.
	Unread []manifest.Problem
}

// Scope is whose instances are completed, and how.
type Scope struct {
	// Host is the one whose instances are completed; of all hosts when it is empty.
	Host string
	// DefaultHost is where machines are of which KubeVirt's manifests do not say it.
	DefaultHost string
	// Pins find what machines are pinned to.
	Pins *Pins
	// GoodFile reads a file of the last revision without a problem; nil for the newest's.
	GoodFile func(path string) ([]byte, bool)
	render.Options
}

// View completes the instances of a host. What is broken is taken from good, the last revision without a problem; good may
// be nil. The error says that the repository's objects cannot be read.
func (d *Documents) View(s *source.Snapshot, set, good *manifest.Set, goodCommit string, o Scope) (View, error) {
	v := View{host: o.Host, Set: set, Broken: map[string]string{}, Locked: map[string]string{}}
	if good != nil && len(set.Problems) > 0 {
		v.Set = set.Mend(good)
	}
	used := map[*manifest.Document]any{}
	var err error
	if v.Placement, err = d.place(s, v.Set, o, used); err != nil {
		return v, err
	}
	v.Set = v.Placement.Set()
	var before *render.Placement
	if good != nil {
		if before, err = d.place(s, good, o, used); err != nil {
			return v, err
		}
		good = before.Set()
		if o.GoodFile != nil {
			before = before.Sealed(o.GoodFile)
		}
	}
	d.bodies = used
	v.Problems = append(slices.Clone(v.Set.Problems), Locate(s, v.Placement.Problems)...)
	seen := make(map[string]made, len(d.rendered))
	o.Revision = s.Commit
	if o.Secrets != nil {
		d.epoch = o.Secrets.Epoch()
	}
	unpinned := v.pin(s, o)
	for _, m := range v.Placement.Machines {
		if o.Host != "" && m.Run.Spec.Host != o.Host {
			continue
		}
		name := m.Run.Metadata.Name
		if why, ok := unpinned[name]; ok {
			v.Broken[name] = why
			continue
		}
		i, problems := d.instance(v.Placement, m, o.Options, seen)
		if i == nil && problems[0].Locked {
			v.Locked[name] = Locate(s, problems)[0].String()
			continue
		}
		if pin := v.Placement.PinOf(name); pin != nil {
			if i == nil {
				p := v.pinProblem(s, m, fmt.Errorf("revision %.12s cannot be used: %s; say another revision, or take it out", pin.Commit, problems[0]))
				v.Problems, v.Broken[name] = append(v.Problems, p), p.String()
				continue
			}
			i.Revision, i.Pinned = pin.Commit, true
			v.Instances = append(v.Instances, i)
			continue
		}
		v.Problems = append(v.Problems, Locate(s, problems)...)
		if i == nil && good != nil && good.Configs[m.Run.ConfigName()] != nil {
			i, _ = d.instance(before, m, o.Options, seen)
			if i != nil {
				i.Revision = goodCommit
			}
		}
		if i == nil {
			v.Broken[name] = problems[0].String()
			continue
		}
		if v.mended(i) {
			i.Revision = goodCommit
		}
		v.Instances = append(v.Instances, i)
	}
	d.rendered = seen
	v.resourcesOf(o.Options)
	v.Problems = append(v.Problems, Locate(s, v.Resources.Problems)...)
	return v, nil
}

// place finds the machines of a set, and takes in the configs that those on the host are of.
func (d *Documents) place(s *source.Snapshot, set *manifest.Set, o Scope, used map[*manifest.Document]any) (*render.Placement, error) {
	p := render.Place(set, o.DefaultHost)
	var configs []string
	for _, m := range p.Machines {
		if o.Host == "" || m.Run.Spec.Host == o.Host {
			configs = append(configs, m.Run.ConfigName())
		}
	}
	whole, err := d.having(s, set, manifest.KindConfig, configs, used)
	if err != nil {
		return nil, err
	}
	return p.Having(whole).Sealed(Sealed(s)), nil
}

// Sealed reads the encrypted files of a revision, as a placement takes it.
func Sealed(s *source.Snapshot) func(path string) ([]byte, bool) {
	return func(path string) ([]byte, bool) {
		data, err := read(s, path)
		return data, err == nil
	}
}

// mended says whether an instance is made of a document that stands in for a broken one.
func (v View) mended(i *render.Instance) bool {
	keys := []string{manifest.Key(manifest.KindConfig, i.Config), manifest.Key(manifest.KindFlavour, i.Flavour), manifest.Key(manifest.KindHost, i.Host)}
	for _, p := range i.Presets {
		keys = append(keys, manifest.Key(manifest.KindPreset, p))
	}
	return slices.ContainsFunc(keys, func(key string) bool { return v.Set.Mended[key] })
}

// instance completes one, or takes it from an earlier revision that had the same documents.
func (d *Documents) instance(p *render.Placement, m render.Placed, o render.Options, seen map[string]made) (*render.Instance, []manifest.Problem) {
	name := m.Run.Metadata.Name
	of := append(p.Made(m), o.DomainType, d.epoch)
	before, ok := d.rendered[name]
	if !ok || !slices.Equal(before.of, of) {
		i, problems := p.Of(m, o)
		if i == nil {
			return nil, problems
		}
		before = made{of, i}
	}
	// A copy, because the one before is in a plan that others may still look at; and the only one that is kept.
	i := *before.instance
	i.Revision, i.Pinned = o.Revision, false
	seen[name] = made{of, &i}
	return &i, nil
}

// Locate finds the lines of problems that placement and completion found.
func Locate(s *source.Snapshot, problems []manifest.Problem) []manifest.Problem {
	for n, p := range problems {
		if p.In == nil {
			continue
		}
		if data, err := read(s, p.In.File); err == nil {
			problems[n].Line, problems[n].Column = manifest.Locate(data, p.In.Index, p.Field)
		}
	}
	return problems
}

// LocateExplained makes file:line of the fields that a document says.
func LocateExplained(s *source.Snapshot, all []render.Explained) []render.Explained {
	files := map[string][]byte{}
	for n, e := range all {
		if e.In == nil {
			continue
		}
		data, ok := files[e.In.File]
		if !ok {
			data, _ = read(s, e.In.File) // the set was read from it
			files[e.In.File] = data
		}
		line, _ := manifest.Locate(data, e.In.Index, e.At)
		all[n].At = fmt.Sprintf("%s:%d", e.In.File, line)
	}
	return all
}

// left is what the revision says of domains that are here and not wanted here: that they are elsewhere, or that their config
// is gone.
func (v View) left(world plan.World) (elsewhere map[string]plan.Elsewhere, gone map[string]bool) {
	elsewhere, gone = map[string]plan.Elsewhere{}, map[string]bool{}
	for _, d := range world.Domains {
		if m := d.Meta(); m != nil && !v.wants(d.Name) {
			if to, ok := v.elsewhere(d.Name); ok {
				elsewhere[d.Name] = to
			}
			if v.Set.Find(manifest.KindConfig, m.Config) == nil {
				gone[m.Config] = true
			}
		}
	}
	return elsewhere, gone
}

// wants says whether a machine is among the instances, which are sorted by name.
func (v View) wants(name string) bool {
	_, found := slices.BinarySearchFunc(v.Instances, name, func(i *render.Instance, name string) int { return strings.Compare(i.Name, name) })
	return found
}

// elsewhere is where a machine is, if that is on another host.
func (v View) elsewhere(name string) (plan.Elsewhere, bool) {
	if a, ok := v.Set.Away(name); ok {
		return plan.Elsewhere{Host: a.Host, Recreate: a.Recreate}, true
	}
	m, ok := v.Placement.Find(name)
	if !ok || m.Run.Spec.Host == v.host {
		return plan.Elsewhere{}, false
	}
	return plan.Elsewhere{Host: m.Run.Spec.Host, Recreate: m.Run.Spec.MoveVolumes == "Recreate"}, true
}

// Wanted is the view as a plan takes it.
func (v View) Wanted(host, revision string) plan.Wanted {
	w := plan.Wanted{
		Host: host, Revision: revision, Instances: v.Instances, Broken: v.Broken, Locked: v.Locked,
		Incomplete: len(v.Problems)+len(v.Unread) > 0,
	}
	if h := v.Set.Hosts[host]; h != nil && h.Spec.Suspend != nil {
		w.Suspended = &plan.Suspension{Reason: h.Spec.Suspend.Reason}
		if h.Spec.Suspend.Until != nil {
			w.Suspended.Until = h.Spec.Suspend.Until.Time
		}
	}
	return w
}
