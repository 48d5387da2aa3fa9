package render

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// layer is one document's part of a template's spec.
type layer struct {
	from   Source
	header *manifest.Header
	tree   manifest.Tree
}

// Source says what kind of document a field comes from.
type Source string

// The sources, those that yield first.
const (
	FromDefault    Source = "default"
	FromPreference Source = "preference"
	FromOS         Source = "os"
	FromType       Source = "instancetype"
	FromFlavour    Source = "flavour"
	FromPreset     Source = "preset"
	FromConfig     Source = "config"
	FromRunState   Source = "run state"
	FromGroup      Source = "group"
	FromHost       Source = "host"
	FromXML        Source = "domainXML"
)

// layers are the documents that say something of a template's spec, those that yield first.
func (in Input) layers() []layer {
	return append(in.yielding(), layer{FromConfig, &in.Config.Header, in.Config.Spec.Template.Spec.Tree()})
}

// yielding are the layers that yield to the config.
func (in Input) yielding() []layer {
	var all []layer
	if in.Flavour != nil {
		all = append(all, layer{FromFlavour, &in.Flavour.Header, in.Flavour.Spec})
	}
	for _, p := range in.Presets {
		all = append(all, layer{FromPreset, &p.Header, p.Spec.Template})
	}
	return all
}

// merged lays the documents over each other. What a preset says, no other preset and not the config may contradict.
func merged(in Input) (manifest.Tree, []manifest.Problem) {
	all := in.layers()
	var problems []manifest.Problem
	for i, a := range all {
		if a.from != FromPreset {
			continue
		}
		for _, b := range all[i+1:] {
			for _, c := range contradictions(a.tree, b.tree) {
				what := "the config says"
				if b.from == FromPreset {
					what = fmt.Sprintf("the preset %s (%s:%d) says", b.header.Metadata.Name, b.header.At.File, b.header.At.Line)
				}
				problems = append(problems, in.Config.Problem(in.Config.Written.Spec+"."+c.path, fmt.Sprintf(
					"%s %s, and the preset %s (%s:%d) says %s: take one out", what, c.b, a.header.Metadata.Name, a.header.At.File, a.header.At.Line, c.a)))
			}
		}
	}
	// What a preset adds to a list comes behind what the config has in it: the first disk is the config's.
	tree := all[len(all)-1].tree
	for _, p := range in.Presets {
		tree = fillTree(tree, p.Spec.Template)
	}
	if in.Flavour != nil {
		tree = mergeTrees(in.Flavour.Spec, tree)
	}
	return tree, problems
}

// contradiction is a field of which two documents say different things.
type contradiction struct{ path, a, b string }

// contradictions are the fields that two trees both say, and differently; sorted by path.
func contradictions(a, b manifest.Tree) []contradiction {
	out := contradict("", "", map[string]any(a), map[string]any(b))
	slices.SortFunc(out, func(x, y contradiction) int { return cmp.Compare(x.path, y.path) })
	return out
}

func contradict(path, at string, a, b any) []contradiction {
	ma, mapA := a.(map[string]any)
	mb, mapB := b.(map[string]any)
	if mapA && mapB {
		return contradictObjects(path, at, ma, mb)
	}
	la, listA := a.([]any)
	lb, listB := b.([]any)
	if listA && listB && named(la) && named(lb) {
		var out []contradiction
		for i, item := range lb {
			if j := slices.IndexFunc(la, func(o any) bool { return nameOf(o) == nameOf(item) }); j >= 0 {
				out = append(out, contradict(fmt.Sprintf("%s[%d]", path, i), at, la[j], item)...)
			}
		}
		return out
	}
	if same(a, b) {
		return nil
	}
	return []contradiction{{path, brief(a), brief(b)}}
}

func contradictObjects(path, at string, a, b map[string]any) []contradiction {
	var out []contradiction
	choice := func(m map[string]any) string {
		i := slices.IndexFunc(choices[at], func(name string) bool { _, ok := m[name]; return ok })
		if i < 0 {
			return ""
		}
		return choices[at][i]
	}
	if x, y := choice(a), choice(b); x != "" && y != "" && x != y {
		out = append(out, contradiction{joinPath(path, y), x, y})
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if value, ok := a[name]; ok {
			out = append(out, contradict(joinPath(path, name), name, value, b[name])...)
		}
	}
	return out
}

// same says whether two values mean the same: 1024Mi is 1Gi.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	qa, errA := resource.ParseQuantity(fmt.Sprint(a))
	qb, errB := resource.ParseQuantity(fmt.Sprint(b))
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

// brief is a value, for a message.
func brief(v any) string {
	switch v := v.(type) {
	case map[string]any, []any:
		return "something else"
	case string:
		if len(v) > 60 {
			return "another text" // it may be a secret, too
		}
	}
	return fmt.Sprint(v)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// selectedPresets are the presets of a config: those whose selector matches it, by name, and then those that it names.
func selectedPresets(set *manifest.Set, c *manifest.Config) []*manifest.Preset {
	of := labels.Set{}
	maps.Copy(of, c.Metadata.Labels)
	maps.Copy(of, c.Spec.Template.Metadata.Labels)
	var out []*manifest.Preset
	for _, name := range slices.Sorted(maps.Keys(set.Presets)) {
		p := set.Presets[name]
		if p.Spec.Selector == nil || slices.Contains(c.Spec.Presets, name) {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector); err == nil && s.Matches(of) {
			out = append(out, p)
		}
	}
	for _, name := range c.Spec.Presets {
		out = append(out, set.Presets[name])
	}
	return out
}
