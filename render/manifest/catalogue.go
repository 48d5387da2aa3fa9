package manifest

import "maps"

// catalogue is documents by kind and name: names take less room than ids, and what holds most documents is copied for the
// kinds alone that change.
type catalogue map[string]map[string]*Document

// get is the document of an id; nil when there is none.
func (c catalogue) get(k id) *Document { return c[k.Kind][k.Name] }

// put and remove change a catalogue that is nobody else's.
func (c catalogue) put(k id, d *Document) {
	if c[k.Kind] == nil {
		c[k.Kind] = map[string]*Document{}
	}
	c[k.Kind][k.Name] = d
}

func (c catalogue) remove(k id) { delete(c[k.Kind], k.Name) }

// clone is a copy, of some kinds; the others are shared, and must not be changed.
func (c catalogue) clone(kinds map[string]bool) catalogue {
	copied := maps.Clone(c)
	for kind := range kinds {
		copied[kind] = maps.Clone(c[kind])
	}
	return copied
}

// whole is a copy of all.
func (c catalogue) whole() catalogue {
	copied := make(catalogue, len(c))
	for kind, documents := range c {
		copied[kind] = maps.Clone(documents)
	}
	return copied
}

// each gives all documents, in no order.
func (c catalogue) each(yield func(id, *Document) bool) {
	for kind, documents := range c {
		for name, d := range documents {
			if !yield(id{kind, name}, d) {
				return
			}
		}
	}
}

func (c catalogue) size() int {
	n := 0
	for _, documents := range c {
		n += len(documents)
	}
	return n
}
