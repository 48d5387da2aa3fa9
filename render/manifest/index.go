package manifest

import (
	"cmp"
	"maps"
	"slices"
)

// index is what the files of a revision define. It is not changed once it was made: the index of the next revision is a copy
// with what has changed, because of a hundred thousand documents a commit changes one.
type index struct {
	// defined are the documents that can be told, one of each name, and twins all those whose name is there more than
	// once, in the order of their places.
	defined catalogue
	twins   map[id][]*Document
	strays  []*Document // that cannot be told
	// What follows are the few documents of defined that need a look in each revision: the broken ones, those with a body,
	// those that name a text, and those that refer to what is not there. Twins are among them.
	broken   map[id]*Document
	bodied   map[id]*Document
	naming   map[id]*Document
	dangling map[id]*Document
	flawed   map[string]*File // with problems or warnings
}

func newIndex() *index {
	return &index{
		defined: catalogue{}, twins: map[id][]*Document{}, broken: map[id]*Document{}, bodied: map[id]*Document{},
		naming: map[id]*Document{}, dangling: map[id]*Document{}, flawed: map[string]*File{},
	}
}

// next is the index after files were taken away and others added. A changed file is both.
func (x *index) next(removed, added []*File) *index {
	kinds := map[string]bool{}
	for _, f := range slices.Concat(removed, added) {
		for i := range f.Documents {
			kinds[f.Documents[i].Kind] = true
		}
	}
	n := &index{
		defined: x.defined.clone(kinds), twins: maps.Clone(x.twins), strays: slices.Clone(x.strays), broken: maps.Clone(x.broken),
		bodied: maps.Clone(x.bodied), naming: maps.Clone(x.naming), dangling: maps.Clone(x.dangling), flawed: maps.Clone(x.flawed),
	}
	n.change(removed, added)
	return n
}

// change makes an index that nobody else has seen another one.
func (x *index) change(removed, added []*File) {
	touched := map[id]bool{} // and whether it was there before
	touch := func(k id) {
		if _, ok := touched[k]; !ok {
			touched[k] = x.defined.get(k) != nil
		}
	}
	for _, f := range removed {
		delete(x.flawed, f.Path)
		for i := range f.Documents {
			touch(f.Documents[i].id())
			x.remove(&f.Documents[i])
		}
	}
	for _, f := range added {
		if len(f.Problems)+len(f.Warnings) > 0 {
			x.flawed[f.Path] = f
		}
		for i := range f.Documents {
			touch(f.Documents[i].id())
			x.add(&f.Documents[i])
		}
	}
	gone := false
	for k, was := range touched {
		x.sort(k)
		gone = gone || was && x.defined.get(k) == nil
	}
	for k := range touched {
		x.refer(k, x.defined.get(k))
	}
	look := maps.All(x.dangling) // what they missed may have come
	if gone {
		look = x.defined.each // what referred to it may be any
	}
	for k, d := range look {
		x.refer(k, d)
	}
}

func (x *index) add(d *Document) {
	k := d.id()
	switch {
	case !d.identified():
		x.strays = append(x.strays, d)
	case x.defined.get(k) == nil:
		x.defined.put(k, d)
	default:
		all := x.twins[k]
		if all == nil {
			all = []*Document{x.defined.get(k)}
		}
		all = append(slices.Clip(all), d)
		slices.SortFunc(all, byPlace)
		x.twins[k] = all
		x.defined.put(k, all[0])
	}
}

func (x *index) remove(d *Document) {
	k := d.id()
	same := func(o *Document) bool { return o == d }
	switch all := x.twins[k]; {
	case !d.identified():
		x.strays = slices.DeleteFunc(x.strays, same)
	case all == nil:
		x.defined.remove(k)
	default:
		all = slices.DeleteFunc(slices.Clone(all), same)
		x.twins[k] = all
		x.defined.put(k, all[0])
		if len(all) == 1 {
			delete(x.twins, k)
		}
	}
}

// sort puts the document of a name where it belongs.
func (x *index) sort(k id) {
	d := x.defined.get(k)
	for _, s := range []struct {
		of map[id]*Document
		is bool
	}{
		{x.broken, d != nil && d.Broken},
		{x.bodied, d != nil && d.hasBody()},
		{x.naming, d != nil && len(d.naming) > 0},
	} {
		if s.is {
			s.of[k] = d
		} else {
			delete(s.of, k)
		}
	}
}

// refer finds out whether all that a document refers to is there.
func (x *index) refer(k id, d *Document) {
	if d != nil && slices.ContainsFunc(d.refers, func(r referral) bool { return x.defined.get(r.to) == nil }) {
		x.dangling[k] = d
	} else {
		delete(x.dangling, k)
	}
}

func byPlace(a, b *Document) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Kind, b.Kind))
}
