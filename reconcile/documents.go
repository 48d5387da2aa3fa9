package reconcile

import (
	"fmt"
	"maps"
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
	rendered map[made]*render.Instance
}

// made is what an instance was made of. The documents are the same while their files are.
type made struct {
	run     *manifest.RunState
	config  *manifest.Config
	flavour *manifest.Flavour
	kind    string // of the domain
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
	Set       *manifest.Set
	Instances []*render.Instance
	// Broken are instances that cannot be rendered, not even in their last good form.
	Broken map[string]string
	// Problems are those of the documents, and those that show when they are completed.
	Problems []manifest.Problem
}

// View completes the instances of a host, of all hosts when it is empty. What is broken is taken from good, the last
// revision without a problem; good may be nil.
func (d *Documents) View(s *source.Snapshot, set, good *manifest.Set, goodCommit, host string, o render.Options) View {
	v := View{Set: set, Problems: set.Problems, Broken: map[string]string{}}
	if good != nil && len(set.Problems) > 0 {
		v.Set = set.Mend(good)
		v.Problems = v.Set.Problems
	}
	seen := make(map[made]*render.Instance, len(d.rendered))
	o.Revision = s.Commit
	for _, name := range slices.Sorted(maps.Keys(v.Set.RunStates)) {
		r := v.Set.RunStates[name]
		if host != "" && r.Spec.Host != host {
			continue
		}
		i, problems := d.instance(v.Set, r, o, seen)
		v.Problems = append(v.Problems, Locate(s, v.Set, problems)...)
		if i == nil && good != nil && good.Configs[r.ConfigName()] != nil {
			i, _ = d.instance(good, r, o, seen)
			if i != nil {
				i.Revision = goodCommit
			}
		}
		if i == nil {
			v.Broken[name] = problems[0].String()
			continue
		}
		if v.Set.Mended[manifest.Key(manifest.KindConfig, i.Config)] || v.Set.Mended[manifest.Key(manifest.KindFlavour, i.Flavour)] {
			i.Revision = goodCommit
		}
		v.Instances = append(v.Instances, i)
	}
	d.rendered = seen
	return v
}

// instance completes one, or takes it from an earlier revision that had the same documents.
func (d *Documents) instance(set *manifest.Set, r *manifest.RunState, o render.Options, seen map[made]*render.Instance) (*render.Instance, []manifest.Problem) {
	c := set.Configs[r.ConfigName()]
	key := made{r, c, set.Flavours[c.Spec.Flavour], o.DomainType}
	before, ok := d.rendered[key]
	if !ok {
		i, problems := render.Of(set, r, o)
		if i == nil {
			return nil, problems
		}
		before = i
	}
	seen[key] = before
	i := *before
	i.Revision = o.Revision
	return &i, nil
}

// Locate finds the lines of problems that completion found.
func Locate(s *source.Snapshot, set *manifest.Set, problems []manifest.Problem) []manifest.Problem {
	for n, p := range problems {
		c := set.Configs[p.Name]
		if c == nil || p.Kind != manifest.KindConfig {
			continue
		}
		if data, err := read(s, c.At.File); err == nil {
			problems[n].Line, problems[n].Column = manifest.Locate(data, c.At.Index, p.Field)
		}
	}
	return problems
}

// Wanted is the view as a plan takes it.
func (v View) Wanted(host, revision string) plan.Wanted {
	w := plan.Wanted{
		Host: host, Revision: revision, Instances: v.Instances, Broken: v.Broken,
		Incomplete: len(v.Problems) > 0,
		Configs:    make(map[string]bool, len(v.Set.Configs)),
		Elsewhere:  map[string]plan.Elsewhere{},
	}
	for name := range v.Set.Configs {
		w.Configs[name] = true
	}
	for name, r := range v.Set.RunStates {
		if r.Spec.Host != host {
			w.Elsewhere[name] = plan.Elsewhere{Host: r.Spec.Host, Recreate: r.Spec.MoveVolumes == "Recreate"}
		}
	}
	return w
}
