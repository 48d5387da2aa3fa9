package manifest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	kubevirt "kubevirt.io/api/core/v1"
)

// TestEveryFieldIsAccountedFor walks KubeVirt's spec: each field is rendered, or ignored with a warning, or refused with a
// reason of its own, and only one of these.
func TestEveryFieldIsAccountedFor(t *testing.T) {
	counts := map[string]int{}
	for _, path := range leaves(reflect.TypeFor[kubevirt.VirtualMachineInstanceSpec](), "") {
		var in []string
		covered := func(table string, rows []string) {
			if slices.ContainsFunc(rows, func(row string) bool { return row == path || below(path, row) }) {
				in = append(in, table)
			}
		}
		covered("Supported", Supported())
		covered("Ignored", slices.Collect(keysOf(Ignored())))
		covered("instead", slices.Collect(keysOf(instead())))
		if len(in) != 1 {
			t.Errorf("%s is in %v, want exactly one table", path, in)
			continue
		}
		counts[in[0]]++
	}
	t.Logf("fields of KubeVirt's spec: %v", counts)
	if len(counts) != 3 {
		t.Errorf("fields by table: %v", counts)
	}
}

// TestEverySourceIsAccountedFor does so for the networks and volumes, which are types of ours.
func TestEverySourceIsAccountedFor(t *testing.T) {
	for ours, theirs := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[Network](): reflect.TypeFor[kubevirt.Network](), reflect.TypeFor[Volume](): reflect.TypeFor[kubevirt.Volume](),
	} {
		for _, f := range reflect.VisibleFields(theirs) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			_, have := jsonField(ours, name)
			_, refused := refusals()[owned{ours, name}]
			if have == refused {
				t.Errorf("%s: %s is ours: %v, refused: %v", ours, name, have, refused)
			}
		}
	}
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// leaves are the paths of a type's fields that have none below them. A list that stands in a table whole is one, as is
// what a table ignores.
func leaves(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ignored := Ignored()[path]; ignored || instead()[path] != "" || path == "networks" || path == "volumes" {
		return []string{path}
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return leaves(t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct || leaf(t) || t == reflect.TypeFor[Quantity]() || t.NumField() == 0:
		return []string{path}
	}
	var list []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		list = append(list, leaves(f.Type, joinField(path, name))...)
	}
	return list
}
