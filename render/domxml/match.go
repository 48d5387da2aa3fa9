package domxml

// match finds the counterparts of what is wanted, in what there is and in what was wanted.
func match(path string, haves, wants, wases []*Element) (inHave, before pairing) {
	inHave, before = pair(path, wants, haves), pair(path, wants, wases)
	if len(inHave) == len(wants) || len(wases) == 0 || len(haves) == 0 {
		return inHave, before
	}
	if inHave == nil {
		inHave = pairing{}
	}
	if before == nil {
		before = pairing{}
	}
	r := renames{path: path, lost: pair(path, wases, haves), taken: map[*Element]bool{}, known: map[*Element]bool{}}
	for _, w := range wants {
		r.taken[inHave[w]], r.known[before[w]] = true, true
	}
	for _, w := range wants {
		switch o := before[w]; {
		case inHave[w] != nil:
		case o == nil:
			if o, h := r.declared(w, wases); h != nil {
				inHave[w], before[w] = h, o
				r.taken[h], r.known[o] = true, true
			}
		case isDevice(path):
			if h := r.byHand(w, haves); h != nil {
				inHave[w] = h
				r.taken[h] = true
			}
		}
	}
	return inHave, before
}

// renames finds what goes by another name now.
type renames struct {
	path         string
	lost         pairing // what was wanted, in what there is
	taken, known map[*Element]bool
}

// declared finds what was wanted and is no longer, and differs from what is wanted in one thing: it is that one.
func (r renames) declared(w *Element, wases []*Element) (o, h *Element) {
	for _, o := range wases {
		h := r.lost[o]
		if h != nil && !r.known[o] && !r.taken[h] && distance(r.path, o, w) <= 1 && distance(r.path, w, o) <= 1 {
			return o, h
		}
	}
	return nil, nil
}

// byHand finds the device that somebody changed in the one thing that tells it from others. One with a name of its own, or
// that was wanted itself, is another one.
func (r renames) byHand(w *Element, haves []*Element) *Element {
	others := map[*Element]bool{}
	for _, h := range r.lost {
		others[h] = true
	}
	for _, h := range haves {
		if !r.taken[h] && !others[h] && h.UserAlias() == "" && distance(r.path, h, w) == 1 {
			return h
		}
	}
	return nil
}
