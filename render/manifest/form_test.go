package manifest

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// TestFormRules holds the tables of the forms to fields that are there.
func TestFormRules(t *testing.T) {
	rows := keys(requiredFields())
	for _, table := range []map[owned]bool{keys(patterns()), keys(ranges()), keys(fieldDefaults())} {
		maps.Copy(rows, table)
	}
	for row := range rows {
		if _, ok := jsonField(row.owner, row.field); !ok {
			t.Errorf("%s has no field %s", row.owner, row.field)
		}
	}
	for typ, sets := range exclusives() {
		for _, name := range slices.Concat(append(sets, needed()[typ]...)...) {
			if _, ok := jsonField(typ, name); !ok {
				t.Errorf("%s has no field %s", typ, name)
			}
		}
	}
	for row, p := range patterns() {
		for _, text := range []string{p.value, p.keys} {
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s.%s: %v", row.owner, row.field, err)
			}
		}
	}
}

func TestFormOf(t *testing.T) {
	for _, kind := range Kinds() {
		if FormOf(kind) == nil {
			t.Errorf("there is no form of %s", kind)
		}
	}
	if FormOf(KindVirtualMachine) != nil {
		t.Error("there is a form of a kind that is not ours")
	}
	f := FormOf(KindConfig)
	spec := formAt(t, f, "spec", "template", "spec")
	if !spec.Form.Template || spec.Required || !spec.Null {
		t.Errorf("spec.template.spec is %+v", spec)
	}
	if kind := formAt(t, f, "kind"); !slices.Equal(kind.Form.Values, []string{KindConfig}) || !kind.Required || kind.Null {
		t.Errorf("kind is %+v", kind)
	}
	if cores := formAt(t, f, "spec", "template", "spec", "domain", "cpu", "cores"); *cores.Form.Minimum != 1 ||
		cores.Default != 1 || cores.Owner.String() != "v1.CPU" || cores.GoName != "Cores" {
		t.Errorf("cores is %+v", cores)
	}
	if bus := formAt(t, f, "spec", "template", "spec", "domain", "devices", "interfaces", "bridge"); bus.Null {
		t.Error("an object without fields may be null")
	}
	if host := formAt(t, f, "spec", "template", "spec", "hostname"); host.Ignored == "" || host.Form.Is != NatureAny {
		t.Errorf("hostname is %+v", host)
	}
	for _, field := range formAt(t, f, "spec", "template", "metadata").Form.Fields {
		if field.Name == "name" {
			t.Error("a template may have a name")
		}
	}
}

// formAt finds a field.
func formAt(t *testing.T, f *Form, path ...string) (found FormField) {
	t.Helper()
	for _, name := range path {
		for f.Elem != nil {
			f = f.Elem
		}
		i := slices.IndexFunc(f.Fields, func(f FormField) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("there is no %s of %v", name, path)
		}
		found = f.Fields[i]
		f = found.Form
	}
	return found
}
