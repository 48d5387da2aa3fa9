package manifest

import (
	"bytes"
	"cmp"
	"slices"
)

// Mend returns the set with what is broken in it as it was in the last good set, which may be nil: nothing is known then,
// and what is broken is left out. The problems stay, and Mended names what was put back.
//
// A broken document may be misread in any part, its name included. So a file with a broken document keeps all that it
// held and that no document defines now. Where that is nothing, and the document was not there before, it may be any that
// is missing, and all of them are kept.
func (s *Set) Mend(lastGood *Set) *Set {
	if len(s.Problems) == 0 {
		return s
	}
	m := mender{from: lastGood, now: s.read.whole(), mended: map[string]bool{}}
	if m.from == nil {
		m.from = &Set{}
	}
	m.identities(s.broken)
	m.files(s)
	m.close()
	out := &Set{Problems: s.Problems, Warnings: s.Warnings, Mended: m.mended, index: s.index, read: s.read, files: s.files, broken: s.broken}
	m.takeTexts(s, out)
	out.hold(m.now, m.now.each)
	return out
}

// mender puts a set together.
type mender struct {
	from   *Set
	now    catalogue
	mended map[string]bool
}

// restore puts back a document in place of what is there.
func (m *mender) restore(k id) bool {
	d := m.from.held.get(k)
	if d == nil {
		return false
	}
	m.now.put(k, d)
	m.mended[Key(k.Kind, k.Name)] = true
	return true
}

// identities puts back the documents that are known to be broken.
func (m *mender) identities(broken []*Document) {
	for _, d := range broken {
		if m.now.get(d.id()) == nil && d.identified() {
			m.restore(d.id())
		}
	}
}

// files puts back what the files with problems held.
func (m *mender) files(s *Set) {
	held := map[string][]id{}
	var missing []id
	for k, d := range m.from.held.each {
		if m.now.get(k) == nil {
			held[d.File] = append(held[d.File], k)
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return
	}
	for _, p := range s.Problems {
		for _, k := range held[p.File] {
			m.restore(k)
		}
		if !m.stood(p) && len(held[p.File]) == 0 {
			for _, k := range missing {
				m.restore(k)
			}
			return
		}
	}
}

// stood says whether the document that has a problem stood in the same file before.
func (m *mender) stood(p Problem) bool {
	for _, k := range theSchemas().kinds {
		if k.name != p.Kind {
			continue
		}
		for _, made := range k.makes {
			if was := m.from.held.get(id{made, p.Name}); was != nil && was.File == p.File {
				return true
			}
		}
	}
	return false
}

// close sees to it that what a document refers to is there: the document is put back as it was, with what it referred
// to then, or left out.
func (m *mender) close() {
	for _, kind := range []string{KindConfig, KindRunState, KindGroup} {
		for _, k := range m.sorted(kind) {
			if !m.satisfied(k) && !m.restoreWhole(k) {
				m.now.remove(k)
			}
		}
	}
}

func (m *mender) sorted(kind string) []id {
	var ids []id
	for name := range m.now[kind] {
		ids = append(ids, id{kind, name})
	}
	slices.SortFunc(ids, func(a, b id) int { return cmp.Compare(a.Name, b.Name) })
	return ids
}

// satisfied says whether what a document refers to is there.
func (m *mender) satisfied(k id) bool {
	for _, r := range m.now.get(k).refers {
		if m.now.get(r.to) == nil {
			return false
		}
	}
	return true
}

// restoreWhole puts back a document and, where they are missing, the documents that it needs.
func (m *mender) restoreWhole(k id) bool {
	if !m.restore(k) {
		return false
	}
	for _, r := range m.now.get(k).refers {
		if m.now.get(r.to) == nil && !m.restoreWhole(r.to) {
			return false
		}
	}
	return true
}

// takeTexts collects the texts that the documents name. What was put back keeps the texts that it had; where a file has
// another one now, the document holds the old one itself.
func (m *mender) takeTexts(s, out *Set) {
	out.texts = map[string][]byte{}
	for k, d := range m.now.each {
		old := map[string][]byte{}
		for _, n := range d.naming {
			if n.text != nil {
				continue
			}
			now, have := s.files[n.path]
			if !m.mended[Key(k.Kind, k.Name)] {
				out.texts[n.path] = now
				continue
			}
			before := m.from.texts[n.path]
			if have && !bytes.Equal(before, now) {
				old[n.path] = before
				continue
			}
			out.texts[n.path] = before
		}
		if len(old) > 0 {
			m.now.put(k, d.inline(old))
		}
	}
}
