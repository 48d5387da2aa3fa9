package preference

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1beta1 "kubevirt.io/api/instancetype/v1beta1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestEveryFieldOfAPreferenceIsUsed walks the type: each field is moved, or handled, or known to have no effect.
func TestEveryFieldOfAPreferenceIsUsed(t *testing.T) {
	known := handled()
	for from := range moves() {
		known = append(known, from)
	}
	covered := func(path string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return k == path || strings.HasPrefix(path, k+".") })
	}
	above := func(path string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, path+".") })
	}
	seen := 0
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if path != "" && covered(path) {
			seen++
			return
		}
		if typ.Kind() != reflect.Struct || path != "" && !above(path) {
			t.Errorf("%s has no effect, and nothing says so", path)
			return
		}
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || f.Anonymous && name == "" {
				continue
			}
			if outer, _ := typ.FieldByName(f.Name); outer.Type != f.Type {
				continue // another of that name is nearer
			}
			walk(f.Type, strings.TrimPrefix(path+"."+name, "."))
		}
	}
	walk(reflect.TypeFor[manifest.PreferenceSpec](), "")
	if seen < 40 {
		t.Errorf("only %d fields were seen", seen)
	}
}

// TestTheTableOfSystems: each name is there once, and says what its guests need.
func TestTheTableOfSystems(t *testing.T) {
	names := map[string]string{}
	for _, s := range Systems() {
		if len(s.Why) < 10 || reflect.DeepEqual(s.Preference, manifest.PreferenceSpec{}) {
			t.Errorf("%s says nothing", s.Name)
		}
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			if other, ok := names[n]; ok || n != strings.ToLower(n) {
				t.Errorf("%s of %s is also of %q, or is not in lower case", n, s.Name, other)
			}
			names[n] = s.Name
			if found, err := OS(strings.ToUpper(n)); err != nil || found.Name != s.Name {
				t.Errorf("OS(%q) = %s, %v", n, found.Name, err)
			}
		}
	}
	for _, n := range []string{"windows11", "debian12", "rhel6", "ubuntu24.04", "fedora", "alpine", "linux", "windows"} {
		if names[n] == "" {
			t.Errorf("there is no %s", n)
		}
	}
	if _, err := OS("debain12"); err == nil || !strings.Contains(err.Error(), `"debian12"`) {
		t.Errorf("a slip of the finger: %v", err)
	}
	if _, err := OS("plan9"); err == nil || !strings.Contains(err.Error(), "deploy/reference/os.md") {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestSpread divides vCPUs as preferences want it.
func TestSpread(t *testing.T) {
	tests := []struct {
		guest    uint32
		topology v1beta1.PreferredCPUTopology
		ratio    uint32
		across   v1beta1.SpreadAcross
		want     string
	}{
		{4, "", 0, "", "4 1 1"},
		{4, v1beta1.Sockets, 0, "", "4 1 1"},
		{4, v1beta1.Any, 0, "", "4 1 1"},
		{4, v1beta1.DeprecatedPreferCores, 0, "", "1 4 1"},
		{4, v1beta1.Threads, 0, "", "1 1 4"},
		{8, v1beta1.Spread, 0, "", "4 2 1"},
		{8, v1beta1.Spread, 4, "", "2 4 1"},
		{8, v1beta1.DeprecatedPreferSpread, 2, v1beta1.SpreadAcrossCoresThreads, "1 4 2"},
		{8, v1beta1.Spread, 2, v1beta1.SpreadAcrossSocketsCoresThreads, "2 2 2"},
		{6, v1beta1.Spread, 2, v1beta1.SpreadAcrossSocketsCoresThreads, "6 vCPUs cannot be spread across SocketsCoresThreads by 4, as the preference wants it"},
	}
	for _, tt := range tests {
		p := &manifest.PreferenceSpec{}
		p.CPU = &v1beta1.CPUPreferences{SpreadOptions: &v1beta1.SpreadOptions{}}
		if tt.topology != "" {
			p.CPU.PreferredCPUTopology = &tt.topology
		}
		if tt.ratio > 0 {
			p.CPU.SpreadOptions.Ratio = &tt.ratio
		}
		if tt.across != "" {
			p.CPU.SpreadOptions.Across = &tt.across
		}
		cpu := map[string]any{}
		got := ""
		if err := spread(cpu, tt.guest, p); err != nil {
			got = err.Error()
		} else {
			text, _ := json.Marshal([]any{cpu["sockets"], cpu["cores"], cpu["threads"]})
			got = strings.NewReplacer("[", "", "]", "", ",", " ").Replace(string(text))
			if n := VCPUs(manifest.Tree{"domain": map[string]any{"cpu": cpu}}); n != uint64(tt.guest) {
				t.Errorf("%+v: %d vCPUs", tt, n)
			}
		}
		if got != tt.want {
			t.Errorf("%d %s by %d across %s: %s, want %s", tt.guest, tt.topology, tt.ratio, tt.across, got, tt.want)
		}
	}
}

// TestPreferencesNameDevicesThatAreThere gives machines with any devices any system's preferences: what is preferred of a
// list is for devices of the machine's, by name, and the machine is not changed.
func TestPreferencesNameDevicesThatAreThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		devices := map[string]any{}
		for _, list := range []string{"disks", "interfaces", "inputs"} {
			var items []any
			for _, name := range []string{"a", "b", "c"}[:r.IntN(4)] {
				item := map[string]any{"name": name}
				if kind := []string{"", "disk", "cdrom", "lun", "bridge"}[r.IntN(5)]; kind != "" {
					item[kind] = map[string]any{}
				}
				items = append(items, item)
			}
			if items != nil {
				devices[list] = items
			}
		}
		tree := manifest.Tree{"domain": map[string]any{"devices": devices}}
		before, _ := json.Marshal(tree)
		all := Systems()
		p := all[r.IntN(len(all))]
		extra := p.For(tree)
		if after, _ := json.Marshal(tree); string(after) != string(before) {
			t.Fatalf("the machine was changed: %s, %s", before, after)
		}
		for _, list := range []string{"disks", "interfaces", "inputs"} {
			preferred, _ := at(extra, "domain.devices."+list)
			items, _ := preferred.([]any)
			for _, item := range items {
				name := item.(map[string]any)["name"]
				have, _ := devices[list].([]any)
				if !slices.ContainsFunc(have, func(h any) bool { return h.(map[string]any)["name"] == name }) {
					t.Fatalf("%s are preferred for %v of %v", list, items, have)
				}
			}
		}
		if again := p.For(tree); !cmp.Equal(extra, again) {
			t.Fatal("another time, another preference")
		}
	}
}
