package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Decode makes the typed spec of a tree, such as one merged from a flavour and a config. The problems' fields are
// relative to the spec. There are none when the tree is made of trees that Read returned.
func Decode(tree Tree) (*InstanceSpec, []FieldProblem) {
	spec := new(InstanceSpec)
	d := decoder{}
	d.set(reflect.ValueOf(spec).Elem(), map[string]any(tree), theSchemas().instance)
	slices.SortFunc(d.problems, func(a, b FieldProblem) int { return strings.Compare(a.Field, b.Field) })
	return spec, d.problems
}

// decoder sets Go values from trees. It does what encoding/json would do with the tree's JSON, without writing that, and
// without the UnmarshalJSON of KubeVirt's structs, which swallow unknown fields.
type decoder struct {
	path     fieldPath
	problems []FieldProblem
}

func (d *decoder) fail(format string, args ...any) {
	d.problems = append(d.problems, FieldProblem{d.path.String(), fmt.Sprintf(format, args...)})
}

// set sets v, which can be set, from x.
func (d *decoder) set(v reflect.Value, x any, s *schema) {
	if x == nil {
		return
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch x := x.(type) {
	case Tree:
		d.setMapping(v, x, s)
	case map[string]any:
		d.setMapping(v, x, s)
	case []any:
		if s.shape != shapeList {
			d.setScalar(v, x, s)
			return
		}
		d.setList(v, x, s)
	default:
		d.setScalar(v, x, s)
	}
}

func (d *decoder) setMapping(v reflect.Value, x map[string]any, s *schema) {
	switch {
	case v.Type() == reflect.TypeFor[Partial]():
		v.Set(reflect.ValueOf(PartialOf(x)))
	case s.tree && v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
	case v.Type() == reflect.TypeFor[PresetSpec]():
		d.setPreset(v.Addr().Interface().(*PresetSpec), x, s)
	case s.shape == shapeObject:
		for key, value := range x {
			if f := s.fields[key]; f != nil && f.ignored != "" {
				continue
			}
			d.path = append(d.path, step{key: key})
			if f := s.fields[key]; f == nil {
				d.fail("unknown field%s", didYouMean(key, s.names))
			} else if f.refused != "" {
				d.fail("%s", f.refused)
			} else if value != nil {
				d.set(fieldAt(v, f.index), value, f.schema)
			}
			d.path = d.path[:len(d.path)-1]
		}
	case s.shape == shapeMap:
		m := reflect.MakeMapWithSize(v.Type(), len(x))
		for key, value := range x {
			d.path = append(d.path, step{key: key})
			elem := reflect.New(v.Type().Elem()).Elem()
			d.set(elem, value, s.elem)
			m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), elem)
			d.path = d.path[:len(d.path)-1]
		}
		v.Set(m)
	default:
		d.setScalar(v, x, s)
	}
}

// setPreset takes the selector out of the template's fields.
func (d *decoder) setPreset(p *PresetSpec, x map[string]any, s *schema) {
	p.Template = maps.Clone(Tree(x))
	delete(p.Template, "selector")
	if selector := x["selector"]; selector != nil {
		d.path = append(d.path, step{key: "selector"})
		d.set(reflect.ValueOf(&p.Selector).Elem(), selector, s.fields["selector"].schema)
		d.path = d.path[:len(d.path)-1]
	}
}

// fieldAt finds a field of a struct, and makes the embedded structs on the way to it.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

func (d *decoder) setList(v reflect.Value, x []any, s *schema) {
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(x), len(x)))
	}
	for i, value := range x {
		d.path = append(d.path, step{index: i})
		if i < v.Len() {
			d.set(v.Index(i), value, s.elem)
		} else {
			d.fail("the list has more than %d items", v.Len())
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// setScalar sets what is not a mapping or a list. The checks are those of reading: a merged tree came from checked ones,
// but a caller may have made its own.
func (d *decoder) setScalar(v reflect.Value, x any, s *schema) {
	text, value := "", x
	switch x := x.(type) {
	case string:
		text = x
	case int:
		text, value = strconv.Itoa(x), int64(x)
	case int64:
		text = strconv.FormatInt(x, 10)
	case float64:
		text = strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
	default:
		if s.shape != shapeAny {
			d.fail("expected %s, found %T", s.expects(), x)
			return
		}
	}
	accepted, fault := s.accept(value, text)
	if fault != "" {
		if fault == mismatched {
			fault = fmt.Sprintf("expected %s, found %v", s.expects(), value)
		}
		d.fail("%s", fault)
		return
	}
	switch s.shape {
	case shapeString:
		v.SetString(text)
	case shapeBool:
		v.SetBool(accepted.(bool))
	case shapeInt:
		if v.CanUint() {
			v.SetUint(uint64(accepted.(int64)))
		} else {
			v.SetInt(accepted.(int64))
		}
	case shapeFloat:
		v.SetFloat(accepted.(float64))
	case shapeQuantity:
		q, _ := parseQuantity(text)
		v.Set(reflect.ValueOf(resource.Quantity(q)))
	case shapeLeaf:
		_ = unmarshalLeaf(v.Addr(), value) // accept has tried it
	case shapeAny:
		d.setAny(v, accepted)
	}
}

// setAny sets an interface, or the JSON of what was written.
func (d *decoder) setAny(v reflect.Value, x any) {
	if v.Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(x))
		return
	}
	data, err := json.Marshal(x)
	if err != nil {
		d.fail("cannot be kept as JSON: %v", err)
		return
	}
	v.SetBytes(data)
}
