package domxml

// match finds the counterparts of what is wanted, in what there is and in what was wanted, and those of what was wanted, in
// what there is. By name first, then by way of what was wanted for what did not change, then by keys, and what is left by
// what it says.
func match(path string, haves, wants, wases []*Element) (inHave, before, lost pairing) {
	before = pair(path, wants, wases)
	if len(wases) == 0 || len(haves) == 0 || len(wants) == 0 || single(path, wants, haves) {
		return pair(path, wants, haves), before, nil
	}
	m := newMatcher(path, len(wants))
	m.byAlias(wants, haves)
	if len(m.pairs) == len(wants) {
		return m.pairs, before, nil
	}
	if before == nil {
		before = pairing{}
	}
	w := way{m: m, before: before, lost: pair(path, wases, haves)}
	w.unchanged(wants)
	if len(m.pairs) < len(wants) {
		m.byKey(wants, haves, 0, 1)
		w.follow(wants, wases)
		m.byKey(wants, haves, 1, len(m.id.keys))
		w.byHand(wants, haves)
		m.alike(wants, haves)
	}
	return m.pairs, before, w.lost
}

// way is the way from what is wanted over what was wanted to what there is.
type way struct {
	m            *matcher
	before, lost pairing
}

// unchanged takes the way for what is wanted as it was.
func (w way) unchanged(wants []*Element) {
	for _, x := range wants {
		o := w.before[x]
		if h := w.lost[o]; w.m.pairs[x] == nil && h != nil && !w.m.taken[h] && !apart(x, h) && equal(w.m.path, o, x) {
			w.m.take(x, h)
		}
	}
}

// follow takes the way for what changed. Where it is cut, because what names an element is another now, one that was wanted
// and is no longer, and differs in no more than one thing, is that element.
func (w way) follow(wants, wases []*Element) {
	known := make(map[*Element]bool, len(w.before))
	for _, o := range w.before {
		known[o] = true
	}
	for _, x := range wants {
		if w.m.pairs[x] != nil {
			continue
		}
		if o := w.before[x]; o != nil {
			if h := w.lost[o]; h != nil && !w.m.taken[h] && !apart(x, h) {
				w.m.take(x, h)
			}
			continue
		}
		for _, o := range wases {
			h := w.lost[o]
			if h != nil && !known[o] && !w.m.taken[h] && distance(w.m.path, o, x) <= 1 && distance(w.m.path, x, o) <= 1 {
				w.m.take(x, h)
				w.before[x], known[o] = o, true
				break
			}
		}
	}
}

// byHand finds the device that somebody changed in the one thing that tells it from others. One with a name of its own, or
// that was wanted itself, is another one.
func (w way) byHand(wants, haves []*Element) {
	if !isDevice(w.m.path) || len(w.m.pairs) == len(wants) {
		return
	}
	others := make(map[*Element]bool, len(w.lost))
	for _, h := range w.lost {
		others[h] = true
	}
	for _, x := range wants {
		if w.m.pairs[x] != nil || w.before[x] == nil {
			continue
		}
		for _, h := range haves {
			if !w.m.taken[h] && !others[h] && h.UserAlias() == "" && distance(w.m.path, h, x) == 1 {
				w.m.take(x, h)
				break
			}
		}
	}
}
