package render

import (
	"maps"
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// choices are fields of which only one can be said: what says one of them takes the others back. The first word tells the
// list or object that they stand in.
var choices = map[string][]string{
	"volumes": {"volume", "containerDisk", "emptyDisk", "hostDisk", "block", "hostPath", "cloudInitNoCloud", "cloudInitConfigDrive",
		"ignition", "iso", "network", "persistentVolumeClaim", "dataVolume", "ephemeral"},
	"networks":   {"libvirt", "bridge", "direct", "pci", "user", "pod", "multus"},
	"disks":      {"disk", "cdrom", "lun"},
	"interfaces": {"bridge", "masquerade", "sriov", "macvtap"},
	"bootloader": {"bios", "efi"},
	"clock":      {"utc", "timezone"},
	"image":      {"path", "container"},
	"iso":        {"path", "name", "image"},
	"":           {"domainXML", "domainXMLFrom"},
}

// mergeTrees lays over's words over base's: objects field by field, lists of named things name by name, anything else
// whole. Neither is changed.
func mergeTrees(base, over manifest.Tree) manifest.Tree {
	return mergeObjects("", base, over)
}

func mergeObjects(at string, base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]any{}
	}
	group := choices[at]
	for _, said := range group {
		if _, ok := over[said]; ok {
			for _, other := range group {
				if other != said {
					delete(merged, other)
				}
			}
		}
	}
	for name, value := range over {
		merged[name] = mergeValues(name, merged[name], value)
	}
	return merged
}

func mergeValues(at string, base, over any) any {
	switch o := over.(type) {
	case manifest.Tree:
		return mergeValues(at, base, map[string]any(o))
	case map[string]any:
		if b, ok := base.(map[string]any); ok {
			return mergeObjects(at, b, o)
		}
	case []any:
		if b, ok := base.([]any); ok && named(b) && named(o) {
			return mergeLists(at, b, o)
		}
	}
	return over
}

func named(list []any) bool {
	for _, item := range list {
		if nameOf(item) == "" {
			return false
		}
	}
	return true
}

func nameOf(item any) string {
	if m, ok := item.(map[string]any); ok {
		name, _ := m["name"].(string)
		return name
	}
	return ""
}

func mergeLists(at string, base, over []any) []any {
	merged := slices.Clone(base)
	for _, item := range over {
		i := slices.IndexFunc(merged, func(b any) bool { return nameOf(b) == nameOf(item) })
		if i < 0 {
			merged = append(merged, item)
			continue
		}
		merged[i] = mergeObjects(at, merged[i].(map[string]any), item.(map[string]any))
	}
	return merged
}

// fillTree puts below's words under what a tree says: what the tree says stays, in its order, and what only below says is
// added. Neither is changed; what nothing is added to is not copied.
func fillTree(tree, below manifest.Tree) manifest.Tree {
	filled, _ := fillObject("", tree, below)
	return filled
}

func fillObject(at string, object, below map[string]any) (filled map[string]any, changed bool) {
	filled = object
	set := func(name string, value any) {
		if !changed {
			filled, changed = make(map[string]any, len(object)+len(below)), true
			maps.Copy(filled, object)
		}
		filled[name] = value
	}
	group := choices[at]
	chosen := slices.IndexFunc(group, func(name string) bool { _, ok := object[name]; return ok })
	for name, value := range below {
		if have, ok := object[name]; !ok {
			if chosen < 0 || !slices.Contains(group, name) {
				set(name, value)
			}
		} else if value, more := fillValue(name, have, value); more {
			set(name, value)
		}
	}
	return filled, changed
}

func fillValue(at string, have, below any) (any, bool) {
	switch b := below.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return fillObject(at, h, b)
		}
	case []any:
		if h, ok := have.([]any); ok && named(h) && named(b) {
			return fillList(at, h, b)
		}
	}
	return have, false
}

func fillList(at string, list, below []any) (filled []any, changed bool) {
	filled = list
	for _, item := range below {
		i := slices.IndexFunc(filled, func(f any) bool { return nameOf(f) == nameOf(item) })
		value, more := item, true
		if i >= 0 {
			value, more = fillObject(at, filled[i].(map[string]any), item.(map[string]any))
		}
		if more && !changed {
			filled, changed = slices.Clone(list), true
		}
		switch {
		case i < 0:
			filled = append(filled, value)
		case more:
			filled[i] = value
		}
	}
	return filled, changed
}
