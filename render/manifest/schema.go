package manifest

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// shape is what a value in a document has to be.
type shape uint8

const (
	shapeObject   shape = iota // a mapping with known keys
	shapeMap                   // a mapping with any keys
	shapeList                  // a sequence
	shapeString                //
	shapeBool                  //
	shapeInt                   // of any Go integer type
	shapeFloat                 //
	shapeQuantity              // a resource.Quantity
	shapeLeaf                  // a scalar that its type's UnmarshalJSON reads, such as a duration
	shapeAny                   // whatever it is
)

// schema is what a document may say, made from a Go type. It is never changed after it was built.
type schema struct {
	shape  shape
	typ    reflect.Type // not a pointer
	fields map[string]*field
	names  []string // of the supported fields, sorted; for suggestions
	elem   *schema  // of lists and maps
	enum   *enum
	min    int64
	max    uint64
	tree   bool // it is kept as a Tree
}

// field is a field of an object.
type field struct {
	name    string
	index   []int
	schema  *schema
	refused string // why it may not be said; schema is nil then
	ignored string // why it has no effect; schema is nil then
}

// schemas are those of the kinds.
type schemas struct {
	kinds    []*kind
	form2017 *kind // VirtualMachine as it was in 2017
	instance *schema
}

// theSchemas builds them at first use: they depend on the Go types alone.
var theSchemas = sync.OnceValue(func() schemas {
	b := builder{
		typeEnums: typeEnums(), fieldEnums: fieldEnums(), minimums: minimums(), refusals: refusals(), ignored: ignoredFields(),
		support: support{rows: Supported(), instead: instead()},
	}
	all := schemas{instance: b.instance(false)}
	b.own, b.foreign = all.instance, b.instance(true)
	for _, k := range kinds() {
		k.schema = b.build(k.typ, "")
		all.kinds = append(all.kinds, &k)
		if k.typ == reflect.TypeFor[libvirtMachine]() {
			all.form2017 = &k
		}
	}
	return all
})

type builder struct {
	typeEnums    map[reflect.Type]*enum
	fieldEnums   map[owned]*enum
	minimums     map[owned]int64
	refusals     map[owned]string
	ignored      map[owned]string
	support      support
	inInstance   bool    // the support table speaks of the paths
	own, foreign *schema // of a template's spec, in documents of ours and of KubeVirt's
}

// instance builds the schema of InstanceSpec, as far as it is supported.
func (b builder) instance(foreign bool) *schema {
	b.inInstance = true
	b.support.foreign = foreign
	s := b.build(reflect.TypeFor[InstanceSpec](), "")
	s.tree = true
	return s
}

// preset is a template's spec, with a selector in it.
func (b builder) preset() *schema {
	s := *b.own
	s.typ, s.tree = reflect.TypeFor[PresetSpec](), false
	s.fields = maps.Clone(s.fields)
	selector, _ := s.typ.FieldByName("Selector")
	s.fields["selector"] = &field{name: "selector", schema: b.build(selector.Type, ""), index: selector.Index}
	s.names = slices.Sorted(slices.Values(append([]string{"selector"}, s.names...)))
	return &s
}

// leaf says whether a type's own UnmarshalJSON reads it from a scalar. Structs that have one and are not read from a
// scalar (KubeVirt's DHCPOptions, which only trims addresses) are objects like any other: their method would swallow
// unknown fields.
func leaf(t reflect.Type) bool {
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Time", "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime",
		"k8s.io/apimachinery/pkg/apis/meta/v1.Duration", "k8s.io/apimachinery/pkg/util/intstr.IntOrString":
		return true
	}
	return false
}

// build makes the schema of a type, which is at path in the spec when inInstance is set.
func (b builder) build(t reflect.Type, path string) *schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &schema{typ: t, enum: b.typeEnums[t], min: math.MinInt64, max: math.MaxInt64}
	switch {
	case t == reflect.TypeFor[Tree](), t == reflect.TypeFor[Partial]():
		return b.own
	case t == reflect.TypeFor[foreignTree]():
		return b.foreign
	case t == reflect.TypeFor[PresetSpec]():
		return b.preset()
	case t == reflect.TypeFor[resource.Quantity]():
		s.shape = shapeQuantity
	case leaf(t):
		s.shape = shapeLeaf
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		s.shape = shapeAny
	default:
		b.buildKind(s, path)
	}
	return s
}

// buildKind fills in the schema of a type that has no rules of its own.
func (b builder) buildKind(s *schema, path string) {
	switch t := s.typ; t.Kind() {
	case reflect.Struct:
		s.shape = shapeObject
		s.fields = map[string]*field{}
		b.addFields(s, t, nil, path)
		for f, why := range b.refusals {
			if f.owner == t {
				s.fields[f.field] = &field{name: f.field, refused: why}
			}
		}
		for f, why := range b.ignored {
			if f.owner == t {
				s.fields[f.field] = &field{name: f.field, ignored: why}
			}
		}
		for name, f := range s.fields {
			if f.refused == "" && f.ignored == "" {
				s.names = append(s.names, name)
			}
		}
		slices.Sort(s.names)
	case reflect.Map:
		s.shape, s.elem = shapeMap, b.build(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		s.shape, s.elem = shapeList, b.build(t.Elem(), path+"[]")
	case reflect.String:
		s.shape = shapeString
	case reflect.Bool:
		s.shape = shapeBool
	case reflect.Float32, reflect.Float64:
		s.shape = shapeFloat
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.shape = shapeInt
		s.min, s.max = math.MinInt64>>(64-t.Bits()), 1<<(t.Bits()-1)-1
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.shape = shapeInt
		s.min, s.max = 0, min(uint64(math.MaxUint64)>>(64-t.Bits()), math.MaxInt64)
	default:
		panic("manifest: no document can hold a " + t.String())
	}
}

// addFields adds a struct's fields, and those of the structs embedded in it; what is nearer the top wins, as in
// encoding/json.
func (b builder) addFields(s *schema, t reflect.Type, index []int, path string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(slices.Clone(index), i)
		if f.Anonymous && name == "" {
			b.addFields(s, f.Type, at, path)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		if have, ok := s.fields[name]; ok && len(have.index) <= len(at) {
			continue
		}
		s.fields[name] = b.field(s.typ, name, f.Type, at, joinField(path, name))
	}
}

// field makes one field; fields that are not supported have no schema.
func (b builder) field(owner reflect.Type, name string, t reflect.Type, index []int, path string) *field {
	if b.inInstance {
		if why := b.support.ignores(path); why != "" {
			return &field{name: name, ignored: why}
		}
		if !b.support.covers(path) {
			return &field{name: name, refused: b.support.refusal(path)}
		}
	}
	f := &field{name: name, index: index, schema: b.build(t, path)}
	if e := b.fieldEnums[owned{owner, name}]; e != nil {
		f.schema.enum = e
	}
	if least, ok := b.minimums[owned{owner, name}]; ok {
		f.schema.min = least
	}
	return f
}
