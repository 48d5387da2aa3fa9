package manifest

import (
	"strings"
	"testing"
)

// TestAssign: one field changes, and not a byte beside it.
func TestAssign(t *testing.T) {
	for name, tt := range map[string]struct {
		before, field, value string
		after                string // the same with what differs
		index                int
		fault                string
	}{
		"a word":                 {before: "kind: A\nspec:\n  host: kvm1   # here\n  state: Running # for now\n", field: "spec.state", value: "Stopped", after: "kind: A\nspec:\n  host: kvm1   # here\n  state: Stopped # for now\n"},
		"in double quotes":       {before: "spec: {state: \"Running\" }\n", field: "spec.state", value: "Stopped", after: "spec: {state: \"Stopped\" }\n"},
		"in single quotes":       {before: "spec:\n    state: 'Running'\n", field: "spec.state", value: "Stopped", after: "spec:\n    state: 'Stopped'\n"},
		"a number":               {before: "spec:\n  run: 9\n  host: kvm1\n", field: "spec.run", value: "10", after: "spec:\n  run: 10\n  host: kvm1\n"},
		"added after the last":   {before: "spec:\n  # where\n  host: kvm1 # this\n# the end\n", field: "spec.state", value: "Stopped", after: "spec:\n  # where\n  host: kvm1 # this\n  state: Stopped\n# the end\n"},
		"added before a mapping": {before: "spec:\n  attach:\n    disks: []\nother: 1\n", field: "spec.state", value: "Stopped", after: "spec:\n  state: Stopped\n  attach:\n    disks: []\nother: 1\n"},
		"added at the end":       {before: "spec:\n  host: kvm1", field: "spec.run", value: "2", after: "spec:\n  host: kvm1\n  run: 2"},
		"added to a flow":        {before: "spec: {host: kvm1} # in short\n", field: "spec.state", value: "Stopped", after: "spec: {host: kvm1, state: Stopped} # in short\n"},
		"added to an odd flow":   {before: "spec: {attach: {disks: []}}\n", field: "spec.state", value: "Stopped", after: "spec: {state: Stopped, attach: {disks: []}}\n"},
		"added to nothing":       {before: "spec: {}\n", field: "spec.state", value: "Stopped", after: "spec: {state: Stopped}\n"},
		"lines end as before":    {before: "spec:\r\n  host: kvm1\r\n", field: "spec.run", value: "2", after: "spec:\r\n  host: kvm1\r\n  run: 2\r\n"},
		"JSON":                   {before: `{"kind": "A", "spec": {"host": "kvm1"}}`, field: "spec.state", value: "Stopped", after: `{"kind": "A", "spec": {"host": "kvm1", "state": "Stopped"}}`},
		"JSON's numbers":         {before: "{\"spec\": {\"run\": 1}}\n", field: "spec.run", value: "2", after: "{\"spec\": {\"run\": 2}}\n"},
		"the second document":    {before: "# é\nspec: {state: Running}\n---\n# ü\nspec: {ö: ü, state: Running}\n", index: 1, field: "spec.state", value: "Paused", after: "# é\nspec: {state: Running}\n---\n# ü\nspec: {ö: ü, state: Paused}\n"},
		"a merged field":         {before: "x: &x {state: Running}\nspec:\n  <<: *x\n  host: kvm1\n", field: "spec.state", value: "Stopped", after: "x: &x {state: Running}\nspec:\n  <<: *x\n  host: kvm1\n  state: Stopped\n"},
		"an alias":               {before: "x: &x Running\nspec: {state: *x}\n", field: "spec.state", value: "Stopped", fault: "line 2: cannot set spec.state to Stopped: its value is not written"},
		"an anchor":              {before: "spec: {state: &x Running, also: *x}\n", field: "spec.state", value: "Stopped", fault: "do it by hand"},
		"a text of lines":        {before: "spec:\n  state: |\n    Running\n", field: "spec.state", value: "Stopped", fault: "line 2: cannot set"},
		"no value":               {before: "spec:\n  state:\n", field: "spec.state", value: "Stopped", fault: "do it by hand"},
		"no parent":              {before: "kind: A\n", field: "spec.state", value: "Stopped", fault: "there is no spec"},
		"no such document":       {before: "kind: A\n", index: 1, field: "spec.state", value: "Stopped", fault: "there is no document 1"},
		"a list":                 {before: "[a, b]\n", field: "spec.state", value: "Stopped", fault: "no mapping"},
		"no YAML":                {before: "a: [\n", field: "spec.state", value: "Stopped", fault: "no document 0 that can be read"},
		"a word that YAML bends": {before: "spec: {state: Running}\n", field: "spec.state", value: "a: b", fault: "without changing something else"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Assign([]byte(tt.before), tt.index, Assignment{tt.field, tt.value})
			switch {
			case tt.fault != "":
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("%q, %v", got, err)
				}
			case err != nil:
				t.Error(err)
			case string(got) != tt.after:
				t.Errorf("got\n%s\nwant\n%s", got, tt.after)
			}
		})
	}
}

// FuzzAssign: whatever a file holds, one line changes at most or one is added, and nothing else that it says; and it ends in
// no panic.
func FuzzAssign(f *testing.F) {
	for _, s := range []string{"kind: A\nspec:\n  state: Running # x\n", "spec: {state: \"Running\"}\n", `{"spec": {"host": "a"}}`, "a: 1\n---\nspec:\r\n  b: 'it''s'\r\n", "\ufeffspec: {ü: ö}"} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, index int) {
		got, err := Assign(data, index&3, Assignment{"spec.state", "Stopped"})
		if err != nil {
			return
		}
		before, after := strings.SplitAfter(string(data), "\n"), strings.SplitAfter(string(got), "\n")
		first := 0
		for first < len(before) && first < len(after) && before[first] == after[first] {
			first++
		}
		rest := 0
		for rest < len(before)-first && rest < len(after)-first && before[len(before)-1-rest] == after[len(after)-1-rest] {
			rest++
		}
		if len(before)-first-rest > 1 || len(after)-first-rest > 2 {
			t.Errorf("%q became %q", data, got)
		}
	})
}
