package imported

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// indented is an element as people write it.
func indented(e *domxml.Element) string { return e.String() }

// write writes the documents of a machine with this template.
func write(d Domain, h Host, spec manifest.Tree) []byte {
	name := d.XML.Child("name").Text
	config := map[string]any{"template": map[string]any{"spec": map[string]any(spec)}}
	if d.RestartPolicy != "" {
		config["restartPolicy"] = string(d.RestartPolicy)
	}
	return Documents([]map[string]any{
		document(manifest.KindConfig, name, config),
		document(manifest.KindRunState, name, map[string]any{"host": h.Name, "state": string(d.State), "adopt": true}),
	})
}

func document(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": manifest.APIVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}
}

// Documents writes documents as YAML, in an order that people like.
func Documents(documents []map[string]any) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, d := range documents {
		// Trees of strings, numbers and booleans can be written, and a buffer takes all.
		_ = e.Encode(node(d))
	}
	_ = e.Close()
	return b.Bytes()
}

// first are the fields that stand before all others, in this order, and last those that stand behind them.
var (
	first = []string{"apiVersion", "kind", "metadata", "protocol", "name", "start"}
	last  = []string{"networks", "volumes", "domainXML"}
)

func rank(key string) int {
	if n := slices.Index(first, key); n >= 0 {
		return n - len(first)
	}
	return slices.Index(last, key) + 1
}

func node(v any) *yaml.Node {
	n := &yaml.Node{}
	switch v := v.(type) {
	case map[string]any:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		keys := slices.SortedFunc(maps.Keys(v), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
		for _, key := range keys {
			n.Content = append(n.Content, node(key), node(v[key]))
		}
	case []any:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v {
			n.Content = append(n.Content, node(item))
		}
	case string:
		n.SetString(v)
		if n.Tag == "!!str" && n.Style == 0 && mayBeElse(v) {
			n.Style = yaml.DoubleQuotedStyle
		}
	default:
		// Numbers and booleans.
		_ = n.Encode(v)
	}
	return n
}

// mayBeElse says whether a reader of YAML 1.1 may take a plain text for something else, as for y, on, 012 or 1:30.
func mayBeElse(s string) bool {
	if strings.Count(s, ".") > 1 || len(s) == len("11111111-2222-3333-4444-555555555555") {
		return false // an address, or a UUID
	}
	if s == "" || strings.ContainsAny(s[:1], "0123456789.+-~yYnNoOtTfF") && !strings.ContainsAny(s, "/\n") {
		_, bad := plainWords[strings.ToLower(s)]
		return s == "" || bad || strings.Trim(s, "0123456789:_.+-eExXaAbBcCdDfF") == ""
	}
	return false
}

var plainWords = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "~": true, "nan": true, "inf": true}
