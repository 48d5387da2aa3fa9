package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on what one document may ask of the reader.
const (
	maxDepth    = 100    // of nesting
	maxExpanded = 10_000 // values reached through aliases: a few lines of YAML can stand for billions
	maxProblems = 100    // reported of one document
)

var errTooDeep = fmt.Errorf("it is nested deeper than %d levels", maxDepth)

// finding is a problem and the node that it was found at.
type finding struct {
	FieldProblem
	line, column int
	warning      bool // it keeps nothing from happening
}

// walker reads one document's node tree against a schema. It reports all that is wrong, and makes of the rest the tree
// of values that JSON would have given.
type walker struct {
	path     fieldPath
	findings []finding
	depth    int
	open     []*yaml.Node // the anchored nodes that are being expanded
	expanded int
	stopped  bool // a bound was reached; nothing more is read
}

// report adds a problem at a node.
func (w *walker) report(n *yaml.Node, format string, args ...any) {
	if w.stopped {
		return
	}
	field := w.path.String()
	msg := fmt.Sprintf(format, args...)
	if len(w.findings) == maxProblems {
		w.stopped = true
		msg = fmt.Sprintf("more than %d problems in this document; the rest is not shown", maxProblems)
		field = ""
	}
	w.findings = append(w.findings, finding{FieldProblem: FieldProblem{field, msg}, line: n.Line, column: n.Column})
}

// warn says that a field has no effect.
func (w *walker) warn(n *yaml.Node, why string) {
	if !w.stopped && len(w.findings) < maxProblems {
		w.findings = append(w.findings, finding{FieldProblem: FieldProblem{w.path.String(), why}, line: n.Line, column: n.Column, warning: true})
	}
}

// stop reports a bound that was reached.
func (w *walker) stop(n *yaml.Node, msg string) {
	w.report(n, "%s", msg)
	w.stopped = true
}

// value reads a node. It returns false when there was nothing to be read from it.
func (w *walker) value(n *yaml.Node, s *schema) (any, bool) {
	if w.stopped {
		return nil, false
	}
	if len(w.open) > 0 && !w.spend(n) {
		return nil, false
	}
	switch n.Kind {
	case yaml.AliasNode:
		if !w.enter(n) {
			return nil, false
		}
		defer w.leave()
		return w.value(n.Alias, s)
	case yaml.MappingNode:
		if s.shape == shapeObject || s.shape == shapeMap || s.shape == shapeAny {
			return w.nested(n, s, w.mapping)
		}
	case yaml.SequenceNode:
		if s.shape == shapeList || s.shape == shapeAny {
			return w.nested(n, s, w.list)
		}
	case yaml.ScalarNode:
		return w.scalar(n, s)
	}
	w.mismatch(n, s)
	return nil, false
}

// spend counts a value that was reached through an alias.
func (w *walker) spend(n *yaml.Node) bool {
	if w.expanded++; w.expanded > maxExpanded {
		w.stop(n, fmt.Sprintf("the aliases of this document stand for more than %d values; write fewer", maxExpanded))
	}
	return !w.stopped
}

// enter goes through an alias; leave comes back.
func (w *walker) enter(alias *yaml.Node) bool {
	for _, n := range w.open {
		if n == alias.Alias {
			w.stop(alias, "the anchor &"+printable(alias.Value)+" contains itself")
			return false
		}
	}
	w.open = append(w.open, alias.Alias)
	return true
}

func (w *walker) leave() { w.open = w.open[:len(w.open)-1] }

// nested reads a mapping or a list one level down.
func (w *walker) nested(n *yaml.Node, s *schema, read func(*yaml.Node, *schema) (any, bool)) (any, bool) {
	if w.depth++; w.depth > maxDepth {
		w.stop(n, errTooDeep.Error())
		return nil, false
	}
	defer func() { w.depth-- }()
	if tag := n.Tag; tag != "!!map" && tag != "!!seq" {
		w.report(n, "the tag %s is not supported; take it out", printable(tag))
		return nil, false
	}
	return read(n, s)
}

func (w *walker) list(n *yaml.Node, s *schema) (any, bool) {
	elem := s.elem
	if s.shape == shapeAny {
		elem = s
	}
	out := make([]any, 0, len(n.Content))
	for i, c := range n.Content {
		w.path = append(w.path, step{index: i})
		v, ok := w.value(c, elem)
		if ok && v == nil && s.shape != shapeAny {
			w.mismatch(c, elem)
		}
		// What could not be read keeps its place, so that the paths of what follows stay right.
		out = append(out, v)
		w.path = w.path[:len(w.path)-1]
	}
	return out, true
}

// mapping reads an object or a map: first what it says itself, then what it merges in with "<<".
func (w *walker) mapping(n *yaml.Node, s *schema) (any, bool) {
	out := make(map[string]any, len(n.Content)/2)
	merges := w.pairs(n, s, out, false)
	for _, m := range merges {
		w.merge(m, s, out)
	}
	return out, true
}

// pairs reads a mapping's pairs into out and returns the values of its merge keys. A merged mapping's pairs do not
// replace what is there.
func (w *walker) pairs(n *yaml.Node, s *schema, out map[string]any, merged bool) (merges []*yaml.Node) {
	for i := 0; i+1 < len(n.Content) && !w.stopped; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if isMerge(k) {
			merges = append(merges, v)
			continue
		}
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		key, ok := scalar(k).(string)
		if k.Kind != yaml.ScalarNode || !ok {
			w.badKey(k)
			continue
		}
		if _, have := out[key]; have {
			if !merged {
				w.duplicate(n, i, key)
			}
			continue
		}
		w.path = append(w.path, step{key: key})
		w.entry(k, v, s, key, out)
		w.path = w.path[:len(w.path)-1]
	}
	return merges
}

// entry reads one pair.
func (w *walker) entry(k, v *yaml.Node, s *schema, key string, out map[string]any) {
	elem := s.elem
	switch s.shape {
	case shapeAny:
		elem = s
	case shapeObject:
		f := s.fields[key]
		if f == nil {
			out[strings.Clone(key)] = nil
			w.report(k, "unknown field%s", didYouMean(key, s.names))
			return
		}
		if f.ignored != "" {
			if !isEmpty(v) {
				w.warn(k, f.ignored)
			}
			return
		}
		key, elem = f.name, f.schema
		if f.refused != "" {
			out[key] = nil
			w.report(k, "%s", f.refused)
			return
		}
	}
	value, ok := w.value(v, elem)
	if ok && value == nil && s.shape == shapeMap {
		w.mismatch(v, elem)
	}
	if ok && value == nil && elem.shape == shapeObject && len(elem.fields) == 0 {
		w.report(k, "is empty, which says nothing; write {}")
	}
	out[key] = value
}

// merge reads what a merge key names: a mapping or a list of mappings, of which the first wins.
func (w *walker) merge(n *yaml.Node, s *schema, out map[string]any) {
	switch {
	case w.stopped || len(w.open) > 0 && !w.spend(n):
	case n.Kind == yaml.AliasNode:
		if w.enter(n) {
			defer w.leave()
			w.merge(n.Alias, s, out)
		}
	case n.Kind == yaml.SequenceNode && n.Tag == "!!seq":
		for _, c := range n.Content {
			w.merge(c, s, out)
		}
	case n.Kind == yaml.MappingNode:
		if w.depth++; w.depth > maxDepth {
			w.stop(n, errTooDeep.Error())
			return
		}
		for _, m := range w.pairs(n, s, out, true) {
			w.merge(m, s, out)
		}
		w.depth--
	default:
		w.report(n, "<< merges a mapping, or a list of them; found %s", describe(n))
	}
}

func isMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" && k.Style&^yaml.TaggedStyle == 0
}

// duplicate reports a key that the mapping has at an earlier place.
func (w *walker) duplicate(n *yaml.Node, i int, key string) {
	w.path = append(w.path, step{key: key})
	defer func() { w.path = w.path[:len(w.path)-1] }()
	for j := 0; j < i; j += 2 {
		if n.Content[j].Value == key {
			w.report(n.Content[i], "duplicate key; the first is at line %d", n.Content[j].Line)
			return
		}
	}
}

func (w *walker) badKey(k *yaml.Node) {
	if k.Kind == yaml.ScalarNode {
		w.report(k, "a key must be a string, found %s; put it in quotes", describe(k))
		return
	}
	w.report(k, "a key must be a string, found %s", describe(k))
}
