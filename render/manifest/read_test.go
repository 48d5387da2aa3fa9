package manifest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestIsDocumentFile(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "dir/a.yml": true, "a.json": true, "a.xml": false, "yaml": false, "a.yaml.bak": false, "": false,
	} {
		if IsDocumentFile(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// TestReadAsKubernetes compares what is read with what sigs.k8s.io/yaml reads into the same types.
func TestReadAsKubernetes(t *testing.T) {
	data := fleet(1)[0]
	f := Read("vm.yaml", data)
	if len(f.Problems) > 0 {
		t.Fatal(f.Problems)
	}
	var want typedConfig
	if err := yaml.UnmarshalStrict(data, &want); err != nil {
		t.Fatal(err)
	}
	got := f.Documents[0].object.(*Config)
	got.Written = Written{}
	want.At = got.At
	if diff := cmp.Diff(want.Header, got.Header); diff != "" {
		t.Errorf("header: %s", diff)
	}
	spec, problems := Decode(got.Spec.Template.Spec.Tree())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if problems := Validate(spec); len(problems) > 0 {
		t.Errorf("the completed spec has problems: %v", problems)
	}
	// Quantities keep how they were written, so they are compared as they are written again.
	a, errA := yaml.Marshal(want.Spec.Template.Spec)
	b, errB := yaml.Marshal(spec)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("spec (%v, %v): %s", errA, errB, cmp.Diff(string(a), string(b)))
	}
}

// TestTreeKeepsWhatWasSaid looks at the values of a tree: what is not said is not there, and what is empty is.
func TestTreeKeepsWhatWasSaid(t *testing.T) {
	f := Read("f.json", []byte(`{"apiVersion": "gitvirt.io/v1alpha1", "kind": "VirtualMachineFlavour", "metadata": {"name": "f"}, "spec": {
		"terminationGracePeriodSeconds": 0, "domainXML": "",
		"domain": {"cpu": null, "memory": {"guest": 1024}, "features": {"kvm": {"hidden": false}},
			"devices": {"rng": {}, "disks": [{"name": "a", "bootOrder": 1e0}]}},
		"volumes": [{"name": "a", "emptyDisk": {"capacity": 1.5e3}}]}}`))
	if len(f.Problems) > 0 {
		t.Fatal(f.Problems)
	}
	want := Tree{
		"terminationGracePeriodSeconds": int64(0), "domainXML": "",
		"domain": map[string]any{
			"cpu": nil, "memory": map[string]any{"guest": int64(1024)},
			"features": map[string]any{"kvm": map[string]any{"hidden": false}},
			"devices": map[string]any{"rng": map[string]any{},
				"disks": []any{map[string]any{"name": "a", "bootOrder": int64(1)}}},
		},
		"volumes": []any{map[string]any{"name": "a", "emptyDisk": map[string]any{"capacity": "1.5e3"}}},
	}
	if diff := cmp.Diff(want, f.Documents[0].spec()); diff != "" {
		t.Error(diff)
	}
}

// TestBounds reads documents that ask for more than they should get.
func TestBounds(t *testing.T) {
	head := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineFlavour\nmetadata: {name: f, annotations: {a: b}}\n"
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, c := range map[string]struct{ file, data, want string }{
		"too large":       {"a.yaml", head + "spec: {domainXML: '" + strings.Repeat("x", maxDocument) + "'}\n", "the most that is read"},
		"large JSON":      {"a.json", `{"a": "` + strings.Repeat("x", maxDocument) + `", "b": 1, "apiVersion": "gitvirt.io/v1alpha1"}`, "divide it"},
		"deep unknown":    {"a.yaml", head + "spec: {x: " + deep + "}\n", "unknown field"},
		"deep JSON":       {"a.json", `{"a": ` + deep + `}`, "nested deeper"},
		"deeper than Go":  {"a.json", `{"a": ` + strings.Repeat(deep, 3) + strings.Repeat("[", 20000) + `}`, "cannot be parsed"},
		"deep flow":       {"a.yaml", strings.Repeat("{", 100_000), "exceeded max depth"},
		"many problems":   {"a.yaml", head + "spec:\n" + manyFields(500), "the rest is not shown"},
		"long key":        {"a.yaml", head + "spec: {" + strings.Repeat("k", 900) + ": 1}\n", "…: unknown field"},
		"terminal escape": {"a.yaml", head + `spec: {"a\e[31m": 1}` + "\n", `a\x1b[31m`},
	} {
		t.Run(name, func(t *testing.T) {
			f := Read(c.file, []byte(c.data))
			if len(f.Problems) == 0 {
				t.Fatal("no problem was found")
			}
			if got := fmt.Sprint(f.Problems); !strings.Contains(got, c.want) {
				t.Errorf("got %.2000s, want …%s…", got, c.want)
			}
			if len(f.Problems) > maxProblems+1 {
				t.Errorf("%d problems were reported", len(f.Problems))
			}
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  x%d: 1\n", i)
	}
	return b.String()
}

// TestDepth reads a value that is nested as deep as the schema lets it be.
func TestDepth(t *testing.T) {
	type doc struct {
		A any `json:"a"`
	}
	if faults := read(t, "a: "+strings.Repeat("[", 90)+strings.Repeat("]", 90), new(doc)); len(faults) > 0 {
		t.Error(faults)
	}
	faults := read(t, "a: "+strings.Repeat("[", 110)+strings.Repeat("]", 110), new(doc))
	if len(faults) != 1 || !strings.Contains(faults[0], "nested deeper") {
		t.Error(faults)
	}
}

func TestLocate(t *testing.T) {
	const file = `# comment

apiVersion: gitvirt.io/v1alpha1
metadata:
  labels:
    app.kubernetes.io/name: web
---
# nothing
---
spec:
  <<: {merged: 1, both: 2}
  both: 3
  list:
  - name: a
  - &b
    name: b
    deep: {er: [x, y]}
  - *b
  - <<: [{n: 1}, *b]
--- {bad
`
	for _, c := range []struct {
		index        int
		field        string
		line, column int
	}{
		{0, "", 3, 1},
		{0, "metadata", 4, 1},
		{0, "metadata.labels[app.kubernetes.io/name]", 6, 29},
		{0, "metadata.name", 4, 1},
		{0, "spec.template", 3, 1},
		{1, "spec.merged", 11, 16},
		{1, "spec.both", 12, 9},
		{1, "spec.list[0].name", 14, 11},
		{1, "spec.list[1]", 15, 5},
		{1, "spec.list[1].deep.er[1]", 17, 20},
		{1, "spec.list[1].deep.er[2]", 17, 12},
		{1, "spec.list[2].name", 16, 11},
		{1, "spec.list[3].deep", 17, 5},
		{1, "spec.list[3].n", 19, 14},
		{1, "spec.list[9]", 13, 3},
		{1, "spec.list[x]", 13, 3},
		{1, "spec[", 10, 1},
		{2, "spec", 21, 1},
		{3, "spec", 0, 0},
		{-1, "spec", 3, 1},
	} {
		if line, column := Locate([]byte(file), c.index, c.field); line != c.line || column != c.column {
			t.Errorf("document %d, %s: %d:%d, want %d:%d", c.index, c.field, line, column, c.line, c.column)
		}
	}
	line, column := Locate([]byte(`{"a": 1}`+"\n"+`  {"b": {"é": 1, "c": [1, 2]}}`), 1, "b.c[1]")
	if line != 2 || column != 27 {
		t.Errorf("JSON: %d:%d, want 2:27", line, column)
	}
}

func TestPaths(t *testing.T) {
	for field, want := range map[string][]string{
		"":                        nil,
		"a":                       {"a"},
		"a.b[0].c":                {"a", "b", "0", "c"},
		"a[x.y/z]":                {"a", "x.y/z"},
		"a[x]y]":                  {"a", "x]y"},
		"a[x":                     {"a", "x"},
		"[0][1]":                  {"0", "1"},
		"metadata.labels[a b].c.": {"metadata", "labels", "a b", "c"},
	} {
		if got := parsePath(field); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	path := fieldPath{{key: "metadata"}, {key: "labels"}, {key: "app.kubernetes.io/name"}, {index: 2}}
	if got := path.String(); got != "metadata.labels[app.kubernetes.io/name][2]" {
		t.Error(got)
	}
}

func TestSuggest(t *testing.T) {
	candidates := []string{"cpu", "devices", "features", "firmware", "memory"}
	for word, want := range map[string]string{
		"memroy": "memory", "Memory": "memory", "cpus": "cpu", "feature": "features", "banana": "", "": "", "x": "",
		"firmwear": "firmware", strings.Repeat("memory", 20): "",
	} {
		if got := suggest(word, candidates); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
