package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// scalar reads a scalar node. A value that is not said (null) is nil.
func (w *walker) scalar(n *yaml.Node, s *schema) (any, bool) {
	value := scalar(n)
	if value == nil {
		return nil, true
	}
	if _, bad := value.(badTag); bad {
		w.report(n, "the tag %s is not supported; take it out", printable(n.Tag))
		return nil, false
	}
	v, fault := s.accept(value, n.Value)
	switch fault {
	case "":
		return v, true
	case mismatched:
		w.mismatch(n, s)
	default:
		w.report(n, "%s", fault)
	}
	return nil, false
}

// mismatched is a fault that is best described by what was expected.
const mismatched = "mismatched"

// accept checks a scalar against a schema and returns the value for the tree. text is how it was written; fault is ""
// when it is accepted.
func (s *schema) accept(value any, text string) (v any, fault string) {
	switch s.shape {
	case shapeString:
		if str, ok := value.(string); ok {
			return str, s.enumFault(str)
		}
	case shapeBool:
		if b, ok := value.(bool); ok {
			return b, ""
		}
	case shapeInt:
		return s.acceptInt(value)
	case shapeFloat:
		switch f := value.(type) {
		case float64:
			return f, ""
		case int64:
			return float64(f), ""
		}
	case shapeQuantity:
		switch value.(type) {
		case int64, float64:
			if !plainNumber.MatchString(text) {
				return nil, fmt.Sprintf("%s is not a plain number; write it in decimals, or in quotes", printable(text))
			}
		case string:
		default:
			return nil, mismatched
		}
		_, fault := parseQuantity(text)
		if i, ok := value.(int64); ok {
			return i, fault
		}
		return text, fault // a float would lose digits
	case shapeLeaf:
		if err := unmarshalLeaf(reflect.New(s.typ), value); err != nil {
			return nil, fmt.Sprintf("%s is not a %s: %v", quoted(text), s.typ.Name(), err)
		}
		return value, ""
	case shapeAny:
		if _, inf := value.(notFinite); !inf {
			return value, ""
		}
	}
	return nil, mismatched
}

// acceptInt takes integers, and floats that are integers: 1e3 is 1000 to JSON.
func (s *schema) acceptInt(value any) (any, string) {
	i, ok := value.(int64)
	if !ok {
		f, ok := value.(float64)
		if !ok {
			return nil, mismatched
		}
		if f != math.Trunc(f) {
			return nil, "must be a whole number"
		}
		if math.Abs(f) > 1<<53 {
			return nil, "is too large"
		}
		i = int64(f)
	}
	if i < s.min {
		return nil, fmt.Sprintf("must be at least %d", s.min)
	}
	if i > 0 && uint64(i) > s.max {
		return nil, fmt.Sprintf("must be at most %d", s.max)
	}
	return i, ""
}

// enumFault says why a string is not one of the known values.
func (s *schema) enumFault(value string) string {
	switch {
	case s.enum == nil || slices.Contains(s.enum.values, value):
		return ""
	case slices.Contains(s.enum.later, value):
		return value + " is not supported yet" + didYouMean("", s.enum.values)
	}
	return quoted(value) + " is not a value of this field" + didYouMean(value, s.enum.values)
}

// unmarshalLeaf lets a type's own UnmarshalJSON read a scalar.
func unmarshalLeaf(to reflect.Value, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to.Interface())
}

// mismatch reports a node that is not of the shape that is expected.
func (w *walker) mismatch(n *yaml.Node, s *schema) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	msg := "expected " + s.expects() + ", found " + describe(n)
	if n.Kind == yaml.ScalarNode {
		switch value := scalar(n).(type) {
		case bool, int64, float64, notFinite:
			if s.shape == shapeString {
				msg += `; put it in quotes: "` + printable(n.Value) + `"`
			}
		case string:
			if _, fault := s.accept(unquoted(value), value); fault == "" && value != "" {
				msg += "; take off the quotes"
			}
		}
	}
	w.report(n, "%s", msg)
}

// unquoted is what a string would have been without its quotes.
func unquoted(s string) any {
	n := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	n.Tag = n.ShortTag()
	return scalar(&n)
}

// expects names what a schema takes.
func (s *schema) expects() string {
	switch s.shape {
	case shapeObject, shapeMap:
		return "a mapping"
	case shapeList:
		return "a list"
	case shapeString:
		return "a string"
	case shapeBool:
		return "true or false"
	case shapeInt:
		return "a whole number"
	case shapeFloat:
		return "a number"
	case shapeQuantity:
		return "a quantity such as 2Gi"
	}
	return "a scalar"
}
