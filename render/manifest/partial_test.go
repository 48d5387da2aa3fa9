package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPartialKeepsItsTree packs trees and looks at what comes out again.
func TestPartialKeepsItsTree(t *testing.T) {
	long := strings.Repeat("long ", 100)
	many := make([]any, 300)
	for i := range many {
		many[i] = int64(i - 150)
	}
	for name, tree := range map[string]Tree{
		"empty":    {},
		"scalars":  {"nil": nil, "yes": true, "no": false, "text": "x", "none": "", "long": long, "float": -0.5, "whole": float64(2)},
		"integers": {"zero": int64(0), "least": int64(-1 << 63), "most": int64(1<<63 - 1), "some": many},
		"nested":   {"list": []any{[]any{}, map[string]any{}, map[string]any{"a": []any{nil, "b"}}}, "ümlaut": map[string]any{"": "unnamed"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := PartialOf(tree)
			p.pack()
			if p.tree != nil || p.IsZero() {
				t.Fatal("it is not packed")
			}
			if diff := cmp.Diff(tree, p.Tree()); diff != "" {
				t.Error(diff)
			}
			for field := range tree {
				if !p.Mentions(field) {
					t.Errorf("it does not mention %q", field)
				}
			}
			if p.Mentions("absent") {
				t.Error("it mentions what it does not say")
			}
		})
	}
}

// TestPartialIsJSON writes what is packed, and reads it again.
func TestPartialIsJSON(t *testing.T) {
	p := PartialOf(Tree{"domain": map[string]any{"cpu": map[string]any{"cores": int64(2)}}, "volumes": []any{}})
	p.pack()
	data, err := json.Marshal(Template{Spec: p})
	if want := `{"metadata":{},"spec":{"domain":{"cpu":{"cores":2}},"volumes":[]}}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v; want %s", data, err, want)
	}
	var again Template
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Tree{"domain": map[string]any{"cpu": map[string]any{"cores": 2.0}}, "volumes": []any{}}, again.Spec.Tree()); diff != "" {
		t.Error(diff)
	}
	if data, err = json.Marshal(Template{}); err != nil || string(data) != `{"metadata":{}}` {
		t.Errorf("nothing became %s, %v", data, err)
	}
}

// TestPartialOfNothing looks at a config without a template, and at a value that only a caller can have made.
func TestPartialOfNothing(t *testing.T) {
	var none Partial
	none.pack()
	if !none.IsZero() || none.Tree() != nil {
		t.Errorf("nothing became %v", none.Tree())
	}
	odd := PartialOf(Tree{"n": 1})
	odd.pack()
	if diff := cmp.Diff(Tree{"n": 1}, odd.Tree()); diff != "" || !odd.Mentions("anything") {
		t.Errorf("what cannot be packed was not left as it is: %s", diff)
	}
}
