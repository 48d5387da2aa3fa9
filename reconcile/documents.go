package reconcile

import (
	"fmt"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// Documents read revisions. They keep what they read by its hash, so that a new revision costs what changed in it.
// They are for one goroutine.
type Documents struct {
	files    map[source.Entry]manifest.File
	rendered map[string]made
}

// made is an instance, and what it was made of. Documents are the same while their files are.
type made struct {
	of       []any
	instance *render.Instance
}

// NewDocuments returns an empty reader.
func NewDocuments() *Documents { return &Documents{} }

// Read reads the documents of a revision.
func (d *Documents) Read(s *source.Snapshot) (*manifest.Set, error) {
	seen := make(map[source.Entry]manifest.File, len(d.files))
	var files []manifest.File
	for _, e := range s.Entries {
		if !manifest.IsDocumentFile(e.Path) {
			continue
		}
		f, ok := d.files[e]
		if !ok {
			data, err := s.Read(e)
			if err != nil {
				return nil, err
			}
			f = manifest.Read(e.Path, data)
		}
		seen[e] = f
		files = append(files, f)
	}
	d.files = seen
	defer s.Rest()
	return manifest.Collect(files, func(path string) ([]byte, bool) {
		data, err := read(s, path)
		return data, err == nil
	}), nil
}

func read(s *source.Snapshot, path string) ([]byte, error) {
	for _, e := range s.Entries {
		if e.Path == path {
			return s.Read(e)
		}
	}
	return nil, fmt.Errorf("there is no file %s in revision %.12s", path, s.Commit)
}

// View is what a revision says of one host.
type View struct {
	Set *manifest.Set
	// Placement is of all hosts.
	Placement *render.Placement
	Instances []*render.Instance
	// Broken are instances that cannot be rendered, not even in their last good form.
	Broken map[string]string
	// Problems are those of the documents, and those that show when they are completed.
	Problems []manifest.Problem
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
	render.Options
}

// View completes the instances of a host. What is broken is taken from good, the last revision without a problem; good may
// be nil.
func (d *Documents) View(s *source.Snapshot, set, good *manifest.Set, goodCommit string, o Scope) View {
	v := View{Set: set, Broken: map[string]string{}}
	var before *render.Placement
	if good != nil && len(set.Problems) > 0 {
		v.Set = set.Mend(good)
	}
	if good != nil {
		before = render.Place(good, o.DefaultHost)
	}
	v.Placement = render.Place(v.Set, o.DefaultHost)
	v.Problems = append(slices.Clone(v.Set.Problems), Locate(s, v.Placement.Problems)...)
	seen := make(map[string]made, len(d.rendered))
	o.Revision = s.Commit
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
	return v
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
	of := append(p.Made(m), o.DomainType)
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

// Wanted is the view as a plan takes it.
func (v View) Wanted(host, revision string) plan.Wanted {
	w := plan.Wanted{
		Host: host, Revision: revision, Instances: v.Instances, Broken: v.Broken,
		Incomplete: len(v.Problems)+len(v.Unread) > 0,
		Configs:    make(map[string]bool, len(v.Set.Configs)),
		Elsewhere:  map[string]plan.Elsewhere{},
	}
	for name := range v.Set.Configs {
		w.Configs[name] = true
	}
	for _, m := range v.Placement.Machines {
		if r := m.Run; r.Spec.Host != host {
			w.Elsewhere[r.Metadata.Name] = plan.Elsewhere{Host: r.Spec.Host, Recreate: r.Spec.MoveVolumes == "Recreate"}
		}
	}
	if h := v.Set.Hosts[host]; h != nil && h.Spec.Suspend != nil {
		w.Suspended = &plan.Suspension{Reason: h.Spec.Suspend.Reason}
		if h.Spec.Suspend.Until != nil {
			w.Suspended.Until = h.Spec.Suspend.Until.Time
		}
	}
	return w
}
