package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Explained is one field of a completed instance, and where its value is from.
type Explained struct {
	// Field is its path in the spec; one that begins with "<" is an element's in domainXML.
	Field string `json:"field"`
	// Value is what it says; a digest for a secret.
	Value string `json:"value"`
	From  Source `json:"from"`
	// Name is the document's, or the operating system's; empty for what is built in.
	Name string `json:"name,omitempty"`
	// In and At are the document and the field of it; nil for what is built in.
	In *manifest.Origin `json:"-"`
	At string           `json:"-"`
}

// Explain says of every field of an instance where its value is from. It is completed from in, as Complete does it.
func Explain(in Input, i *Instance) ([]Explained, error) {
	spec, err := treeOf(i.Public())
	if err != nil {
		return nil, err
	}
	layers := in.layers()
	below := in.additions()
	out := in.runs(i)
	for _, leaf := range leaves("", nil, spec) {
		e := Explained{Field: leaf.path, Value: leaf.value, From: FromDefault}
		for n := len(layers) - 1; n >= 0; n-- {
			if at, ok := find(layers[n].tree, leaf.keys); ok {
				e.from(layers[n].from, layers[n].header, joinPath(layers[n].header.Written.Spec, at))
				break
			}
		}
		if e.From == FromDefault {
			in.beneath(&e, leaf, below)
		}
		out = append(out, e)
	}
	return append(out, in.inXML(i, layers)...), nil
}

func (e *Explained) from(s Source, h *manifest.Header, field string) {
	e.From, e.Name, e.In, e.At = s, h.Metadata.Name, &h.At, field
}

// runs are the fields beside the spec.
func (in Input) runs(i *Instance) []Explained {
	r, c := in.RunState, in.Config
	of, host, run := FromRunState, "spec.host", r.Spec
	if in.Group != nil {
		of, host = FromGroup, "spec.hosts"
	}
	if r.Written.KubeVirt {
		host = r.Written.Spec + ".nodeSelector"
	}
	var out []Explained
	add := func(field, value string, said bool, from Source, h *manifest.Header, at string) {
		e := Explained{Field: field, Value: value, From: FromDefault}
		if said {
			e.from(from, h, at)
			if from == FromGroup {
				e.Name = in.Group.Name
			}
		}
		out = append(out, e)
	}
	add("config", i.Config, true, of, &r.Header, "spec.config")
	add("host", i.Host, i.Host != "", of, &r.Header, host)
	add("state", string(i.State), run.State != "", of, &r.Header, "spec.state")
	add("run", strconv.FormatInt(i.Run, 10), run.Run != 0, of, &r.Header, "spec.run")
	add("restartPolicy", string(i.RestartPolicy), c.Spec.RestartPolicy != "", FromConfig, &c.Header, "spec.restartPolicy")
	add("rollout", string(i.Rollout), c.Spec.Rollout != "", FromConfig, &c.Header, "spec.rollout")
	add("rollback", string(i.Rollback), c.Spec.Rollback != "", FromConfig, &c.Header, "spec.rollback")
	add("deletionPolicy", string(i.DeletionPolicy), c.Spec.DeletionPolicy != "", FromConfig, &c.Header, "spec.deletionPolicy")
	return out
}

// beneath finds a field that no document of the machine says in what lies below them.
func (in Input) beneath(e *Explained, leaf leaf, below []addition) {
	for n := len(below) - 1; n >= 0; n-- {
		if _, ok := find(below[n].tree, leaf.keys); ok {
			e.From, e.Name, e.In = below[n].from, below[n].name, below[n].in
			if e.In != nil {
				e.At = "spec"
			}
			return
		}
	}
	if in.Host != nil && len(leaf.keys) > 1 && (leaf.keys[0] == "networks" || leaf.keys[0] == "volumes") && in.mapped(leaf.keys[:2]) {
		e.from(FromHost, &in.Host.Header, "spec")
	}
}

// mapped says whether a network or a volume is one of a cluster's, for which the host has something else.
func (in Input) mapped(keys []string) bool {
	tree, _ := merged(in)
	tree, _ = underlay(in, tree)
	for _, kind := range []string{"pod", "multus", "persistentVolumeClaim", "dataVolume", "ephemeral"} {
		if _, ok := find(tree, append(slices.Clone(keys), kind)); ok {
			return true
		}
	}
	return false
}

// inXML are the elements and attributes that domainXML says.
func (in Input) inXML(i *Instance, layers []layer) []Explained {
	own, field, err := ownXML(in, &i.Spec)
	if err != nil || own == nil {
		return nil
	}
	e := Explained{From: FromXML}
	for _, l := range layers {
		if _, ok := l.tree[field]; ok {
			e.Name, e.In, e.At = l.header.Metadata.Name, &l.header.At, joinPath(l.header.Written.Spec, field)
		}
	}
	var out []Explained
	var walk func(path string, x *domxml.Element)
	walk = func(path string, x *domxml.Element) {
		path += "<" + x.Name + ">"
		add := func(at, value string) {
			row := e
			row.Field, row.Value = at, value
			out = append(out, row)
		}
		for _, a := range x.Attrs {
			add(path+" "+a.Name, a.Value)
		}
		if x.Text != "" || len(x.Attrs)+len(x.Children) == 0 {
			add(path, x.Text)
		}
		for _, c := range x.Children {
			walk(path, c)
		}
	}
	walk("", domxml.Redact(own))
	return out
}

// leaf is a value that is neither an object nor a list of named things, with its path and the keys that lead to it: names
// in place of the numbers of list items.
type leaf struct {
	path, value string
	keys        []string
}

func treeOf(spec manifest.InstanceSpec) (map[string]any, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot write the spec: %w", err)
	}
	var tree map[string]any
	return tree, json.Unmarshal(text, &tree)
}

func leaves(path string, keys []string, v any) []leaf {
	var out []leaf
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(joinPath(path, name), append(slices.Clone(keys), name), v[name])...)
		}
		if len(v) > 0 || path == "" {
			return out
		}
	case []any:
		if len(v) > 0 && named(v) {
			for i, item := range v {
				out = append(out, leaves(fmt.Sprintf("%s[%d]", path, i), append(slices.Clone(keys), nameOf(item)), item)...)
			}
			return out
		}
	}
	text, err := json.Marshal(v)
	if s, ok := v.(string); ok && err == nil {
		text = []byte(s)
	}
	return []leaf{{path, string(text), keys}}
}

// find follows keys through a tree and returns the path that they lead to, with the numbers of list items.
func find(tree any, keys []string) (path string, ok bool) {
	at := tree
	for _, key := range keys {
		switch v := at.(type) {
		case manifest.Tree:
			at, ok = v[key]
			path = joinPath(path, key)
		case map[string]any:
			at, ok = v[key]
			path = joinPath(path, key)
		case []any:
			n := slices.IndexFunc(v, func(item any) bool { return nameOf(item) == key })
			if ok = n >= 0; ok {
				at = v[n]
				path += "[" + strconv.Itoa(n) + "]"
			}
		default:
			ok = false
		}
		if !ok {
			return "", false
		}
	}
	return path, ok
}
