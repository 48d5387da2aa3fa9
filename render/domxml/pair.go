package domxml

import (
	"cmp"
	"slices"
	"strings"
)

// A pairing is an element of one side and its counterpart.
type pairing map[*Element]*Element

// matcher finds counterparts among elements of one name below one parent.
type matcher struct {
	path  string
	id    identity
	pairs pairing
	taken map[*Element]bool
	// rough takes the first of several where the nearest would have to be found: to look into each at each level of a deep
	// tree would never end.
	rough bool
}

// pair finds for each element of a its counterpart in b. Elements with different user aliases are never the same, whatever
// else they share.
func pair(path string, a, b []*Element) pairing {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	if single(path, a, b) {
		return pairing{a[0]: b[0]}
	}
	m := newMatcher(path, len(a))
	if slices.EqualFunc(a, b, (*Element).identical) {
		for i, x := range a {
			m.pairs[x] = b[i]
		}
		return m.pairs
	}
	m.byAlias(a, b)
	m.byKey(a, b, 0, len(m.id.keys))
	m.alike(a, b)
	return m.pairs
}

// inOrder pairs by name, by key and then by the order alone.
func inOrder(path string, a, b []*Element) pairing {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	m := newMatcher(path, len(a))
	m.rough = true
	m.byAlias(a, b)
	m.byKey(a, b, 0, len(m.id.keys))
	for _, x := range a {
		if m.pairs[x] != nil {
			continue
		}
		if i := slices.IndexFunc(b, func(y *Element) bool { return !m.taken[y] && !apart(x, y) && !contradict(m.id, x, y) }); i >= 0 {
			m.take(x, b[i])
		}
	}
	return m.pairs
}

// single says whether there is but one such element below a parent.
func single(path string, a, b []*Element) bool {
	_, known := identities[path]
	return !known && len(a) == 1 && len(b) == 1 && !isDevice(path)
}

func newMatcher(path string, n int) *matcher {
	return &matcher{path: path, id: identityOf(path), pairs: make(pairing, n), taken: make(map[*Element]bool, n)}
}

// byAlias pairs those that have the same name.
func (m *matcher) byAlias(a, b []*Element) {
	m.join(a, b, func(e *Element) (string, bool) { v := e.UserAlias(); return v, v != "" })
}

// byKey pairs those that have the same key, by the keys from one to before another.
func (m *matcher) byKey(a, b []*Element, from, to int) {
	for _, key := range m.id.keys[min(from, len(m.id.keys)):min(to, len(m.id.keys))] {
		m.join(a, b, func(e *Element) (string, bool) { return keyOf(e, key) })
	}
}

// apart says whether two elements have different names.
func apart(x, y *Element) bool {
	ax, ay := x.UserAlias(), y.UserAlias()
	return ax != "" && ay != "" && ax != ay
}

// join pairs those whose value is the same; of several the ones that are nearest.
func (m *matcher) join(a, b []*Element, value func(*Element) (string, bool)) {
	if len(m.pairs) == len(a) {
		return
	}
	index := make(map[string][]*Element, len(b))
	for _, y := range b {
		if !m.taken[y] {
			if v, ok := value(y); ok {
				index[v] = append(index[v], y)
			}
		}
	}
	if len(index) == 0 {
		return
	}
	same := make(map[string][]*Element, len(a))
	var values []string
	for _, x := range a {
		if m.pairs[x] != nil {
			continue
		}
		if v, ok := value(x); ok && index[v] != nil {
			if same[v] == nil {
				values = append(values, v)
			}
			same[v] = append(same[v], x)
		}
	}
	for _, v := range values {
		m.assign(same[v], index[v])
	}
}

// assign pairs some with some, the nearest first.
func (m *matcher) assign(xs, ys []*Element) {
	type couple struct {
		x, y *Element
		far  int
	}
	var couples []couple
	for _, x := range xs {
		for _, y := range ys {
			if !apart(x, y) {
				couples = append(couples, couple{x: x, y: y})
			}
		}
	}
	if len(couples) > 1 && !m.rough {
		for i, c := range couples {
			couples[i].far = distance(m.path, c.y, c.x)
		}
		slices.SortStableFunc(couples, func(c, d couple) int { return cmp.Compare(c.far, d.far) })
	}
	for _, c := range couples {
		if m.pairs[c.x] == nil && !m.taken[c.y] {
			m.take(c.x, c.y)
		}
	}
}

func (m *matcher) take(x, y *Element) { m.pairs[x], m.taken[y] = y, true }

// alike pairs what is left: first with what has all that is said, which is what is meant, even if nothing names either; and
// those that have an order with what comes nearest. Whoever has the least choice comes first, and takes the one that says it
// in the same words and no more.
func (m *matcher) alike(a, b []*Element) {
	if len(m.pairs) == len(a) {
		return
	}
	type couple struct {
		x, y         *Element
		far, choices int
	}
	var couples []couple
	for _, x := range a {
		if m.pairs[x] != nil {
			continue
		}
		start := len(couples)
		for _, y := range b {
			if !m.taken[y] && !apart(x, y) && !contradict(m.id, x, y) && distance(m.path, y, x) == 0 {
				couples = append(couples, couple{x: x, y: y})
			}
		}
		for i := start; i < len(couples); i++ {
			couples[i].choices = len(couples) - start
		}
	}
	if len(couples) > 1 {
		for i, c := range couples {
			couples[i].far = literally(m.path, c.y, c.x) + literally(m.path, c.x, c.y)
		}
		slices.SortStableFunc(couples, func(c, d couple) int { return cmp.Or(cmp.Compare(c.choices, d.choices), cmp.Compare(c.far, d.far)) })
	}
	for _, c := range couples {
		if m.pairs[c.x] == nil && !m.taken[c.y] {
			m.take(c.x, c.y)
		}
	}
	for _, x := range a {
		if m.pairs[x] != nil || !m.id.ordinal {
			continue
		}
		var free []*Element
		for _, y := range b {
			if !m.taken[y] && !apart(x, y) && !contradict(m.id, x, y) {
				free = append(free, y)
			}
		}
		if len(free) > 0 {
			m.take(x, m.nearest(x, free))
		}
	}
}

// nearest is the element that differs least from what is said.
func (m *matcher) nearest(x *Element, list []*Element) *Element {
	return least(list, func(y *Element) int { return distance(m.path, y, x) })
}

// least is the first element of the least measure.
func least(list []*Element, measure func(*Element) int) *Element {
	best := list[0]
	if len(list) == 1 {
		return best
	}
	low := measure(best)
	for _, y := range list[1:] {
		if n := measure(y); n < low {
			best, low = y, n
		}
	}
	return best
}

// distance is in how many things have differs from what want says.
func distance(path string, have, want *Element) int {
	if have.identical(want) {
		return 0
	}
	c := &converger{want: &Element{}, have: &Element{}, probe: true}
	c.element(site{path: path, e: want, parent: &Element{}, root: c.want, have: c.have}, site{}, site{}, "", have.Clone())
	return len(c.changes) + len(c.consequences)
}

// literally is in how many words they differ.
func literally(path string, have, want *Element) int {
	c := &converger{want: &Element{}, have: &Element{}, literal: true, probe: true}
	c.element(site{path: path, e: want, parent: &Element{}, root: c.want, have: c.have}, site{}, site{}, "", have.Clone())
	return len(c.changes)
}

// contradict says whether both have a key, and not the same.
func contradict(id identity, x, y *Element) bool {
	keys := id.unlike
	if keys == nil {
		keys = id.keys
	}
	for _, key := range keys {
		vx, okx := keyOf(x, key)
		vy, oky := keyOf(y, key)
		if okx && oky && vx != vy {
			return true
		}
	}
	return false
}

// label names an element for people: its user alias, or its key, or nothing.
func label(path string, e *Element) string {
	if alias := e.UserAlias(); alias != "" {
		return "[" + alias + "]"
	}
	for _, key := range identities[path].keys {
		if v, ok := keyOf(e, key); ok {
			return "[" + strings.ReplaceAll(v, "\x00", ",") + "]"
		}
	}
	return ""
}
