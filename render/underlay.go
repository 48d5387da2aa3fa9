package render

import (
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// underlay puts below what documents say what KubeVirt adds to its manifests, an instancetype, a preference and the
// guest's operating system. The problems' fields are relative to the spec.
func underlay(in Input, tree manifest.Tree) (manifest.Tree, []manifest.FieldProblem) {
	if in.Config.Written.KubeVirt && tree["domainXML"] == nil {
		tree = mergeTrees(tree, attached(tree))
	}
	if in.Config.Written.KubeVirt && tree["domainXML"] == nil {
		tree = mergeTrees(kubevirtDefaults(tree), tree)
	}
	return tree, nil
}

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
	disks, _ := devices["disks"].([]any)
	disks = slices.Clone(disks)
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

// kubevirtDefaults are KubeVirt's where they are not ours: disks are on SATA.
func kubevirtDefaults(tree manifest.Tree) manifest.Tree {
	domain, _ := tree["domain"].(map[string]any)
	devices, _ := domain["devices"].(map[string]any)
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
	if len(out) == 0 {
		return nil
	}
	return manifest.Tree{"domain": map[string]any{"devices": map[string]any{"disks": out}}}
}
