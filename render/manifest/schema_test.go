package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	kubevirt "kubevirt.io/api/core/v1"
)

// TestSupportedRows holds each row of the table to a field that is there. KubeVirt's must be leaves: below anything else
// a newer KubeVirt could add fields that nothing renders.
func TestSupportedRows(t *testing.T) {
	for _, row := range Supported() {
		s := theSchemas().instance
		for _, name := range strings.Split(strings.ReplaceAll(row, "[]", ".[]"), ".") {
			if name == "[]" {
				s = s.elem
				continue
			}
			if s == nil || s.fields[name] == nil || s.fields[name].refused != "" {
				t.Fatalf("%s: there is no field %s", row, name)
			}
			s = s.fields[name].schema
		}
		ours := s.typ.PkgPath() == reflect.TypeFor[Config]().PkgPath() || s.shape == shapeList
		if s.shape == shapeObject && len(s.fields) > 0 && !ours {
			t.Errorf("%s is an object of KubeVirt's: list its leaves", row)
		}
	}
}

// TestAdviceRows holds the other tables to fields that are there, or are not.
func TestAdviceRows(t *testing.T) {
	spec := reflect.TypeFor[kubevirt.VirtualMachineInstanceSpec]()
	for table, paths := range map[string]map[string]string{"instead": instead(), "Ignored": Ignored()} {
		for path := range paths {
			if !kubevirtHas(spec, path) {
				t.Errorf("%s: KubeVirt has no %s", table, path)
			}
			if (support{rows: Supported()}).covers(path) {
				t.Errorf("%s: %s is supported", table, path)
			}
		}
	}
	for _, table := range []map[owned]bool{keys(fieldEnums()), keys(minimums())} {
		for row := range table {
			typ := row.owner
			if typ == reflect.TypeFor[InstanceSpec]() {
				typ = spec
			}
			if _, ok := jsonField(typ, row.field); !ok {
				t.Errorf("%s has no field %s", row.owner, row.field)
			}
		}
	}
	for row := range refusals() {
		if _, ok := jsonField(row.owner, row.field); ok {
			t.Errorf("refusals: %s has the field %s", row.owner, row.field)
		}
	}
}

func keys[V any](m map[owned]V) map[owned]bool {
	out := map[owned]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

func kubevirtHas(t reflect.Type, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		f, ok := jsonField(t, strings.TrimSuffix(name, "[]"))
		if !ok {
			return false
		}
		if t = f.Type; t.Kind() == reflect.Slice {
			t = t.Elem()
		}
	}
	return true
}

func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// TestOwnUnmarshalers finds the types below our documents that have an UnmarshalJSON: each must be a leaf, or known to be
// an object whose method does nothing that we need.
func TestOwnUnmarshalers(t *testing.T) {
	b := builder{support: support{rows: []string{"domain", "networks", "volumes"}}, inInstance: true}
	s := b.build(reflect.TypeFor[InstanceSpec](), "")
	objects := map[string]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		if reflect.PointerTo(s.typ).Implements(reflect.TypeFor[json.Unmarshaler]()) && s.shape != shapeLeaf && s.shape != shapeQuantity {
			objects[s.typ.String()] = true
		}
		for _, f := range s.fields {
			if f.schema != nil {
				visit(f.schema)
			}
		}
		if s.elem != nil {
			visit(s.elem)
		}
	}
	visit(s)
	if want := map[string]bool{"v1.DHCPOptions": true}; !reflect.DeepEqual(objects, want) {
		t.Errorf("types with an UnmarshalJSON of their own: %v, want %v", objects, want)
	}
}
