package manifest

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Locate finds the place of a field in a file: of the document with that index, as Origin counts. Where the field is
// not there, it is the place of the nearest parent that is; 0, 0 when there is no such document.
func Locate(data []byte, index int, field string) (line, column int) {
	for doc := range documents(data) {
		if index--; index >= 0 {
			continue
		}
		if doc.root == nil {
			return doc.line, doc.column
		}
		return locate(doc.root, field)
	}
	return 0, 0
}

// locate finds a field in a node tree. A scalar's place is its own; a mapping's or a list's is that of its key.
func locate(root *yaml.Node, field string) (line, column int) {
	f := finder{left: maxExpanded}
	at, n := root, root
	for _, key := range parsePath(field) {
		k, v := f.child(n, key)
		if v == nil {
			break
		}
		at, n = k, v
		if n.Kind == yaml.ScalarNode {
			at = n
		}
	}
	return at.Line, at.Column
}

// finder finds children by key. Merged mappings can stand for any number of others, so it looks at a bounded number.
type finder struct{ left int }

// child finds a step below a node: the node that stands for its place, and the node itself.
func (f *finder) child(n *yaml.Node, key string) (at, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	case yaml.MappingNode:
		return f.inMapping(n, key)
	}
	return nil, nil
}

// inMapping finds a key in a mapping, or else in what it merges in.
func (f *finder) inMapping(n *yaml.Node, key string) (at, value *yaml.Node) {
	if f.left--; f.left < 0 {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && (k.Value == key || printable(k.Value) == key) {
			return k, n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		if k, v := f.inMerged(n.Content[i+1], key); v != nil {
			return k, v
		}
	}
	return nil, nil
}

// inMerged finds a key in the value of a merge key.
func (f *finder) inMerged(n *yaml.Node, key string) (at, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		return f.inMapping(n, key)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if f.left--; f.left < 0 {
				break
			}
			if k, v := f.inMerged(c, key); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}
