package domxml

// Rest is what have says and said does not, as it is merged over said (Merge): with it, said says all of have. Devices of
// said that have a name are named in it, so that each part comes to its own. It is nil when there is nothing more.
func Rest(have, said *Element) *Element {
	e := rest("", have, said)
	if len(e.Attrs)+len(e.Children) == 0 && e.Text == "" {
		return nil
	}
	return e
}

func rest(path string, have, said *Element) *Element {
	e := New(have.Name)
	for _, a := range have.Attrs {
		if v, ok := said.lookup(a.Name); !ok || v != a.Value {
			e.SetAttr(a.Name, a.Value)
		}
	}
	if have.Text != said.Text || amountText(have) != amountText(said) {
		e.Text = have.Text
		if u, ok := have.lookup("unit"); ok {
			e.SetAttr("unit", u)
		}
	}
	for _, name := range childNames(have, nil) {
		below := join(path, name)
		haves, saids := have.All(name), said.All(name)
		if identityOf(below).whole {
			if len(saids) == 0 || !sameList(below, haves, saids) || !sameList(below, saids, haves) {
				cloneAll(e, haves)
			}
			continue
		}
		restOfAll(e, below, haves, saids)
	}
	return e
}

// restOfAll adds the rest of all children of one name.
func restOfAll(e *Element, path string, haves, saids []*Element) {
	pairs := pair(path, saids, haves)
	counterpart := make(pairing, len(pairs))
	for s, h := range pairs {
		counterpart[h] = s
	}
	rests := make([]*Element, len(haves))
	vague := false // whether a part could come to another element than its own
	for n, h := range haves {
		s := counterpart[h]
		if s == nil {
			rests[n] = h.Clone()
			continue
		}
		r := rest(path, h, s)
		if len(r.Attrs)+len(r.Children) == 0 && r.Text == "" {
			continue
		}
		rests[n] = r
		vague = !identify(path, r, s, len(haves) == 1 && len(saids) == 1) || vague
	}
	for n, h := range haves {
		switch {
		case vague:
			c := h.Clone()
			if s := counterpart[h]; s != nil && s.UserAlias() != "" && c.Child("alias") == nil {
				c.Append(s.Child("alias").Clone())
			}
			e.Append(c)
		case rests[n] != nil:
			e.Append(rests[n])
		}
	}
}

// identify has a part say which element it is of: by its name, by its key, or by being the only one.
func identify(path string, r, said *Element, only bool) bool {
	if alias := said.UserAlias(); alias != "" {
		if r.Child("alias") == nil {
			r.Append(said.Child("alias").Clone())
		}
		return true
	}
	if only {
		return true
	}
	for _, key := range identityOf(path).keys {
		if isAttribute(key) {
			if v, ok := said.lookup(key[1:]); ok {
				r.SetAttr(key[1:], v)
				return true
			}
		}
	}
	return false
}

// isAttribute says whether a key is an attribute of the element itself.
func isAttribute(key string) bool {
	for i, c := range key {
		if (c == '@') != (i == 0) || c == '+' || c == '=' || c == '/' {
			return false
		}
	}
	return key != ""
}

func cloneAll(e *Element, list []*Element) {
	for _, h := range list {
		e.Append(h.Clone())
	}
}
