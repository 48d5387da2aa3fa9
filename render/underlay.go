package render

import (
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/preference"
)

// addition is what lies below the documents of a machine.
type addition struct {
	from Source
	name string           // of the document or the operating system
	in   *manifest.Origin // nil for what is built in
	tree manifest.Tree
}

// underlay puts below what documents say what KubeVirt adds to its manifests, an instancetype, a preference and the
// guest's operating system. The problems' fields are relative to the spec.
func underlay(in Input, tree manifest.Tree) (manifest.Tree, []manifest.FieldProblem) {
	below, problems := in.beneathOf(tree)
	for _, a := range below {
		tree = fillTree(tree, a.tree)
	}
	return tree, problems
}

// additions are what underlay adds, those that yield first.
func (in Input) additions() []addition {
	tree, _ := merged(in)
	below, _ := in.beneathOf(tree)
	slices.Reverse(below)
	return below
}

// beneathOf is what lies below a merged tree, each below what is before it.
func (in Input) beneathOf(tree manifest.Tree) ([]addition, []manifest.FieldProblem) {
	var below []addition
	var problems []manifest.FieldProblem
	add := func(a addition) {
		if len(a.tree) > 0 {
			below = append(below, a)
			tree = fillTree(tree, a.tree)
		}
	}
	addProblems := func(p []manifest.FieldProblem) { problems = append(problems, p...) }
	detailed := tree["domainXML"] != nil && tree["domain"] == nil
	if in.Config.Written.KubeVirt && !detailed {
		add(addition{from: FromDefault, tree: attached(tree)})
	}
	var preferred *manifest.PreferenceSpec
	if in.Preference != nil {
		preferred = &in.Preference.Spec
	}
	if t := in.Instancetype; t != nil {
		extra, bad := preference.Instancetype(tree, &t.Spec, preferred)
		addProblems(bad)
		add(addition{from: FromType, name: t.Name(), in: &t.At, tree: extra})
	}
	if p := in.Preference; p != nil {
		add(addition{from: FromPreference, name: p.Name(), in: &p.At, tree: preference.WordsOf(preferred).For(tree)})
	}
	if name := in.Config.Spec.Template.Metadata.Annotations[osAnnotation]; name != "" && !detailed {
		system, err := preference.OS(name)
		if err != nil {
			return nil, []manifest.FieldProblem{{Field: osAnnotation, Message: err.Error()}}
		}
		add(addition{from: FromOS, name: system.Name, tree: system.For(tree)})
	}
	if in.Config.Written.KubeVirt && !detailed {
		add(addition{from: FromDefault, tree: kubevirtDefaults(tree)})
	}
	return below, problems
}

// osAnnotation names the guest's operating system.
const osAnnotation = "gitvirt.io/os"

// attached is what KubeVirt adds to a machine: a disk for each volume that has none, and an interface on the cluster's
// network when the machine has neither a network nor an interface.
func attached(tree manifest.Tree) manifest.Tree {
	domain, _ := tree["domain"].(map[string]any)
	devices, _ := domain["devices"].(map[string]any)
	added := map[string]any{}
	out := manifest.Tree{"domain": map[string]any{"devices": added}}
	var has []string
	for _, list := range []string{"disks", "filesystems"} {
		items, _ := devices[list].([]any)
		for _, d := range items {
			has = append(has, nameOf(d))
		}
	}
	var disks []any
	volumes, _ := tree["volumes"].([]any)
	for _, v := range volumes {
		if name := nameOf(v); name != "" && !slices.Contains(has, name) {
			disks = append(disks, map[string]any{"name": name})
		}
	}
	if len(disks) > 0 {
		added["disks"] = disks
	}
	_, networks := tree["networks"]
	_, interfaces := devices["interfaces"]
	if !networks && !interfaces && devices["autoattachPodInterface"] != false {
		added["interfaces"] = []any{map[string]any{"name": "default", "masquerade": map[string]any{}}}
		out["networks"] = []any{map[string]any{"name": "default", "pod": map[string]any{}}}
	}
	return out
}

// kubevirtDefaults are KubeVirt's where they are not ours: disks are on SATA, and there is a screen.
func kubevirtDefaults(tree manifest.Tree) manifest.Tree {
	domain, _ := tree["domain"].(map[string]any)
	devices, _ := domain["devices"].(map[string]any)
	// A machine has a screen unless it says that it has none.
	defaults := map[string]any{"autoattachGraphicsDevice": true}
	disks, _ := devices["disks"].([]any)
	var out []any
	for _, d := range disks {
		m, _ := d.(map[string]any)
		kind := "disk"
		for _, k := range []string{"cdrom", "lun"} {
			if _, ok := m[k]; ok {
				kind = k
			}
		}
		out = append(out, map[string]any{"name": nameOf(d), kind: map[string]any{"bus": "sata"}})
	}
	if len(out) > 0 {
		defaults["disks"] = out
	}
	return manifest.Tree{"domain": map[string]any{"devices": defaults}}
}
