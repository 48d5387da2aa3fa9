package manifest

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Set is the documents of one revision. It is never changed after it was returned; the documents in it are not to be
// changed either.
//
// What it holds is closed: what a document refers to by name is in it.
type Set struct {
	// Configs and the others are the sound documents, by name. KubeVirt's machines are among the configs, run states and
	// groups; its presets among the presets. Documents that were made lean are not there: configs come with Having.
	Configs   map[string]*Config
	RunStates map[string]*RunState
	Flavours  map[string]*Flavour
	Presets   map[string]*Preset
	Groups    map[string]*Group
	Hosts     map[string]*Host
	Networks  map[string]*HostNetwork
	Pools     map[string]*StoragePool
	// Instancetypes and Preferences are KubeVirt's.
	Instancetypes map[Reference]*Instancetype
	Preferences   map[Reference]*Preference
	// Claims and DataVolumes are those of a cluster's storage.
	Claims      map[string]*Claim
	DataVolumes map[string]*Claim
	// Problems are of all files, sorted by file and line. While there are any, nothing is to be removed.
	Problems []Problem
	// Warnings are what is read and has no effect.
	Warnings []Problem
	// Mended are the documents, as Key names them, that are those of an earlier set because this revision's are broken.
	Mended map[string]bool

	index  *index
	read   catalogue         // sound and unique in this revision, though what they refer to may be missing
	files  map[string][]byte // the texts that those documents name
	broken []*Document       // of this revision; without kind and name when those cannot be told
	held   catalogue         // what the maps above show, and lean documents
	texts  map[string][]byte // the texts that those documents name
}

// Key is how Set.Mended names a document.
func Key(kind, name string) string { return kind + "/" + name }

// Text is the content of a file that a spec's DomainXMLFrom names.
func (s *Set) Text(path string) ([]byte, bool) {
	text, ok := s.texts[path]
	return text, ok
}

// ConfigName is the config that the run state is of.
func (r *RunState) ConfigName() string {
	if r.Spec.Config != "" {
		return r.Spec.Config
	}
	return r.Metadata.Name
}

// hold makes documents what the set shows. Those with a body are among the second.
func (s *Set) hold(documents catalogue, bodied iter.Seq2[id, *Document]) {
	s.held = documents
	s.Configs, s.RunStates, s.Flavours = map[string]*Config{}, map[string]*RunState{}, map[string]*Flavour{}
	s.Presets, s.Groups, s.Hosts = map[string]*Preset{}, map[string]*Group{}, map[string]*Host{}
	s.Networks, s.Pools = map[string]*HostNetwork{}, map[string]*StoragePool{}
	s.Instancetypes, s.Preferences = map[Reference]*Instancetype{}, map[Reference]*Preference{}
	s.Claims, s.DataVolumes = map[string]*Claim{}, map[string]*Claim{}
	for k, d := range bodied {
		if documents.get(k) != d {
			continue
		}
		switch o := d.object.(type) {
		case *Config:
			s.Configs[k.Name] = o
		case *RunState:
			s.RunStates[k.Name] = o
		case *Flavour:
			s.Flavours[k.Name] = o
		case *Preset:
			s.Presets[k.Name] = o
		case *Group:
			s.Groups[k.Name] = o
		case *Host:
			s.Hosts[k.Name] = o
		case *HostNetwork:
			s.Networks[k.Name] = o
		case *StoragePool:
			s.Pools[k.Name] = o
		case *Instancetype:
			s.Instancetypes[Reference(k)] = o
		case *Preference:
			s.Preferences[Reference(k)] = o
		case *Claim:
			if k.Kind == KindDataVolume {
				s.DataVolumes[k.Name] = o
			} else {
				s.Claims[k.Name] = o
			}
		}
	}
}

// Count is the number of documents of a kind.
func (s *Set) Count(kind string) int {
	return len(s.held[kind])
}

// Manifests are the documents that are held, once for each in a file, in the order of their places.
func (s *Set) Manifests() []*Document {
	var all []*Document
	for _, d := range s.held.each {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Document) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.CompactFunc(all, func(a, b *Document) bool { return a.File == b.File && a.Index == b.Index })
}

// Size is the number of all documents that are held, those of KubeVirt's kinds as often as they stand for others.
func (s *Set) Size() int { return s.held.size() }

// Away is a run state of a machine on another host, where run states are lean.
func (s *Set) Away(name string) (Away, bool) {
	d := s.Find(KindRunState, name)
	if d == nil {
		return Away{}, false
	}
	a, ok := d.object.(*Away)
	if !ok {
		return Away{}, false
	}
	return *a, true
}

// EachAway are those run states, in no order.
func (s *Set) EachAway(yield func(*Document, Away) bool) {
	for _, d := range s.held[KindRunState] {
		if a, ok := d.object.(*Away); ok && !yield(d, *a) {
			return
		}
	}
}

// NamesTexts says whether a document names a file with domain XML: a revision can differ in such a file alone.
func (s *Set) NamesTexts() bool { return len(s.index.naming) > 0 }

// Documents are those of a kind, sorted by name.
func (s *Set) Documents(kind string) []*Document {
	var all []*Document
	for _, d := range s.held[kind] {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Document) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Find is the sound document of a kind and name; nil when there is none.
func (s *Set) Find(kind, name string) *Document { return s.held[kind][name] }

// Having is the set with the bodies of some of its lean documents.
func (s *Set) Having(bodies []any) *Set {
	if len(bodies) == 0 {
		return s
	}
	c := *s
	c.Configs, c.RunStates = maps.Clone(s.Configs), maps.Clone(s.RunStates)
	for _, b := range bodies {
		switch o := b.(type) {
		case *Config:
			c.Configs[o.Metadata.Name] = o
		case *RunState:
			c.RunStates[o.Metadata.Name] = o
		}
	}
	return &c
}

// inline returns a document that holds the text of its domainXML file itself.
func (d *Document) inline(text []byte) *Document {
	c := *d
	own := *d.naming
	own.text = text
	c.naming = &own
	switch o := d.object.(type) {
	case *Config:
		c.object = c.whole(o)
	case *Flavour:
		flavour := *o
		flavour.Spec = inlined(o.Spec, text)
		c.object = &flavour
	case *Preset:
		preset := *o
		preset.Spec.Template = inlined(o.Spec.Template, text)
		c.object = &preset
	}
	return &c
}

func inlined(spec Tree, text []byte) Tree {
	spec = maps.Clone(spec)
	delete(spec, "domainXMLFrom")
	spec["domainXML"] = string(bytes.Clone(text))
	return spec
}
