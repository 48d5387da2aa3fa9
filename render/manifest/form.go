package manifest

import (
	"maps"
	"reflect"
	"slices"
)

// Form says what a value in a document may be. It is made from the rules that the reader goes by, for what explains them
// to people and to other programs. Reading does not use it.
type Form struct {
	Is Nature
	// Type is what the value is decoded into; it is not a pointer.
	Type reflect.Type
	// Fields are those of an object that may be said, in the order of the Go type.
	Fields []FormField
	// Elem is what each item of a list, or each value of a map, may be.
	Elem *Form
	// Values are all that a string can be; any string when there are none.
	Values []string
	// Pattern is what a string, or a quantity that is written as one, has to match. It means the same to RE2 and to
	// ECMA 262. "" is none.
	Pattern string
	// Keys is the pattern of a map's keys; "" is none.
	Keys string
	// Minimum and Maximum bound an integer; nil where only 64 bits do.
	Minimum, Maximum *int64
	// Exclusive are sets of an object's fields, of which one field at most can be said; Needed are such of which one must
	// be. A field that is null, "" or an empty list is not said.
	Exclusive, Needed [][]string
	// Template is set for the spec of a template, wherever it stands: InstanceSpec.
	Template bool
}

// FormField is a field of an object.
type FormField struct {
	Name string
	// Owner is the struct that has the field, which may be embedded in the object's own; GoName is its name there.
	Owner  reflect.Type
	GoName string
	Form   *Form
	// Required fields cannot be left out, whatever another document supplies.
	Required bool
	// Null says that null means the same as leaving it out.
	Null bool
	// Default is what leaving it out means, where that is always the same: a string, a bool or an int; nil otherwise.
	Default any
	// Ignored says why the field has no effect, whatever it is; "" where it has one.
	Ignored string
}

// Nature is a kind of value.
type Nature string

// The natures.
const (
	NatureObject   Nature = "object"
	NatureMap      Nature = "map" // an object with any keys
	NatureList     Nature = "list"
	NatureString   Nature = "string"
	NatureBool     Nature = "boolean"
	NatureInt      Nature = "integer"
	NatureFloat    Nature = "number"
	NatureQuantity Nature = "quantity" // a string or a number
	NatureScalar   Nature = "scalar"   // what the type's own UnmarshalJSON reads
	NatureAny      Nature = "any"
)

// Kinds lists gitvirt's own kinds.
func Kinds() []string { return ownKinds() }

// FormOf returns what a document of a kind of gitvirt's own may be; nil when no such kind is read.
func FormOf(name string) *Form {
	all := theSchemas().kinds
	i := slices.IndexFunc(all, func(k *kind) bool { return k.group == groupOurs && k.name == name })
	if i < 0 {
		return nil
	}
	m := former{required: requiredFields(), patterns: patterns(), ranges: ranges(), exclusive: exclusives(), needed: needed(),
		defaults: fieldDefaults()}
	f := m.form(all[i].schema)
	for _, field := range f.Fields {
		switch field.Name {
		case "apiVersion":
			field.Form.Values = []string{APIVersion}
		case "kind":
			field.Form.Values = []string{name}
		case "metadata":
			for _, field := range field.Form.Fields {
				if field.Name == "name" && all[i].dotted {
					field.Form.Pattern = hostPattern
				}
			}
		}
	}
	return f
}

// former makes forms.
type former struct {
	required  map[owned]bool
	patterns  map[owned]pattern
	ranges    map[owned][2]int64
	exclusive map[reflect.Type][][]string
	needed    map[reflect.Type][][]string
	defaults  map[owned]any
}

func (m former) form(s *schema) *Form {
	f := &Form{Is: nature(s.shape), Type: s.typ, Template: s.tree}
	switch s.shape {
	case shapeObject:
		for _, name := range s.names {
			f.Fields = append(f.Fields, m.field(s, s.fields[name]))
		}
		slices.SortFunc(f.Fields, func(a, b FormField) int {
			return slices.Compare(s.fields[a.Name].index, s.fields[b.Name].index)
		})
		f.Fields = append(f.Fields, ignoredIn(s)...)
		f.Exclusive, f.Needed = setsOf(s, m.exclusive), setsOf(s, m.needed)
	case shapeMap, shapeList:
		f.Elem = m.form(s.elem)
	case shapeQuantity:
		f.Pattern = quantityPattern
	case shapeInt:
		f.Minimum, f.Maximum = bound(s.min), bound(int64(s.max))
	}
	if s.enum != nil {
		f.Values = slices.Clone(s.enum.values)
	}
	return f
}

// ignoredIn are the fields of an object that have no effect.
func ignoredIn(s *schema) (fields []FormField) {
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if why := s.fields[name].ignored; why != "" {
			anything := &Form{Is: NatureAny, Type: reflect.TypeFor[any]()}
			fields = append(fields, FormField{Name: name, Owner: s.typ, Form: anything, Null: true, Ignored: why})
		}
	}
	return fields
}

// holder is the struct that the indexes of an object's fields are of.
func holder(s *schema, field string) reflect.Type {
	if s.typ == reflect.TypeFor[PresetSpec]() && field != "selector" {
		return reflect.TypeFor[InstanceSpec]()
	}
	return s.typ
}

// field makes the form of one field.
func (m former) field(s *schema, sf *field) FormField {
	object := holder(s, sf.name)
	owner := object
	if up := sf.index[:len(sf.index)-1]; len(up) > 0 {
		owner = object.FieldByIndex(up).Type
	}
	if owner.Kind() == reflect.Pointer {
		owner = owner.Elem()
	}
	f := FormField{Name: sf.name, Owner: owner, GoName: object.FieldByIndex(sf.index).Name, Form: m.form(sf.schema)}
	f.Null = sf.schema.shape != shapeObject || len(sf.schema.fields) > 0
	// A rule speaks of the object's own type, or of the embedded one that has the field.
	for _, at := range []owned{{owner, sf.name}, {object, sf.name}} {
		f.Required = f.Required || m.required[at]
		if p, ok := m.patterns[at]; ok {
			f.Form.Keys = p.keys
			f.Form.setPattern(p.value)
		}
		if r, ok := m.ranges[at]; ok {
			f.Form.Minimum, f.Form.Maximum = &r[0], &r[1]
		}
		if d, ok := m.defaults[at]; ok {
			f.Default = d
		}
	}
	if f.Required {
		f.Null = false
	} else if f.Form.Pattern != "" && f.Form.Is == NatureString {
		f.Form.Pattern = "^$|" + f.Form.Pattern
	}
	if sf.schema.typ == reflect.TypeFor[Meta]() && s.typ == reflect.TypeFor[Template]() {
		f.Form.Fields = slices.DeleteFunc(f.Form.Fields, func(f FormField) bool { return f.Name == "name" })
	}
	return f
}

// setPattern gives a string, or a map's values, a pattern.
func (f *Form) setPattern(value string) {
	if f.Elem != nil {
		f = f.Elem
	}
	f.Pattern = value
}

// setsOf finds the sets of an object's fields, and of those of the structs embedded in it, as far as they may be said.
func setsOf(s *schema, rows map[reflect.Type][][]string) (sets [][]string) {
	types := []reflect.Type{holder(s, "")}
	for i := 0; i < len(types); i++ {
		for j := range types[i].NumField() {
			if f := types[i].Field(j); f.Anonymous && f.Type.Kind() == reflect.Struct {
				types = append(types, f.Type)
			}
		}
		for _, set := range rows[types[i]] {
			set = slices.DeleteFunc(slices.Clone(set), func(name string) bool { return !slices.Contains(s.names, name) })
			if len(set) > 1 {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// bound is a bound of an integer's; nil when it is further than every program counts exactly.
func bound(n int64) *int64 {
	if n > 1<<53 || n < -1<<53 {
		return nil
	}
	return &n
}

func nature(s shape) Nature {
	switch s {
	case shapeObject:
		return NatureObject
	case shapeMap:
		return NatureMap
	case shapeList:
		return NatureList
	case shapeString:
		return NatureString
	case shapeBool:
		return NatureBool
	case shapeInt:
		return NatureInt
	case shapeFloat:
		return NatureFloat
	case shapeQuantity:
		return NatureQuantity
	case shapeLeaf:
		return NatureScalar
	}
	return NatureAny
}
