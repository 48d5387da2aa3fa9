package manifest

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// notFinite stands for a number that JSON has no word for.
type notFinite struct{}

// badTag stands for a scalar with a tag that nothing here can read.
type badTag struct{}

// scalar is the value of a scalar node: nil, bool, int64, float64, string, notFinite or badTag. Plain words mean what
// they mean to Kubernetes, whose reader speaks YAML 1.1: yes, no, on, off, y and n are booleans, 0123 is octal, and dates
// are strings. The parser has resolved the rest (YAML 1.2) when it set the tag.
func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!str", "!!timestamp", "!!merge":
		if n.Style == 0 {
			if b, ok := oldBool(n.Value); ok {
				return b
			}
		}
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		if b, ok := oldBool(n.Value); ok {
			return b
		}
		if b, err := strconv.ParseBool(n.Value); err == nil && len(n.Value) > 1 {
			return b
		}
	case "!!int":
		plain := strings.ReplaceAll(n.Value, "_", "")
		if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f // too large for an integer of ours
		}
	case "!!float":
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return notFinite{} // .inf, .nan, or past what a float holds
		}
		return f
	}
	return badTag{}
}

// oldBool reads YAML 1.1's other words for booleans.
func oldBool(s string) (value, ok bool) {
	if len(s) > 3 {
		return false, false
	}
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// describe says what a node is, for the end of "expected …, found …".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch scalar(n).(type) {
	case nil:
		return "nothing"
	case bool:
		return "the boolean " + printable(n.Value)
	case int64, float64, notFinite:
		return "the number " + printable(n.Value)
	case badTag:
		return "a value with the tag " + printable(n.Tag)
	}
	return "the string " + quoted(n.Value)
}
