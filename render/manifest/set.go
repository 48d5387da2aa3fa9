package manifest

import (
	"bytes"
	"maps"
)

// Set is the documents of one revision. It is never changed after it was returned; the documents in it are not to be
// changed either.
//
// What it holds is closed: each run state's config and each config's flavour is in it.
type Set struct {
	// Configs, RunStates and Flavours are the sound documents, by name.
	Configs   map[string]*Config
	RunStates map[string]*RunState
	Flavours  map[string]*Flavour
	// Problems are of all files, sorted by file and line. While there are any, nothing is to be removed.
	Problems []Problem
	// Mended are the documents, as Key names them, that are those of an earlier set because this revision's are broken.
	Mended map[string]bool

	read   map[id]*Document  // sound and unique in this revision, though what they refer to may be missing
	files  map[string][]byte // the texts that those documents name
	broken []*Document       // of this revision; without kind and name when those cannot be told
	held   map[id]*Document  // what the maps above show
	texts  map[string][]byte // the texts that those documents name
}

// id is what a document is known by.
type id struct{ kind, name string }

// Key is how Set.Mended names a document.
func Key(kind, name string) string { return kind + "/" + name }

// Text is the content of a file that a spec's DomainXMLFrom names.
func (s *Set) Text(path string) ([]byte, bool) {
	text, ok := s.texts[path]
	return text, ok
}

func (d *Document) id() id { return id{d.Kind, d.Name} }

// identified says whether it is certain which document this is.
func (d *Document) identified() bool { return d.Kind != "" && d.Name != "" }

// refersTo is the document that this one cannot do without; false when it stands by itself.
func (d *Document) refersTo() (id, bool) {
	switch {
	case d.Config != nil && d.Config.Spec.Flavour != "":
		return id{KindFlavour, d.Config.Spec.Flavour}, true
	case d.RunState != nil:
		return id{KindConfig, d.RunState.ConfigName()}, true
	}
	return id{}, false
}

// ConfigName is the config that the run state is of.
func (r *RunState) ConfigName() string {
	if r.Spec.Config != "" {
		return r.Spec.Config
	}
	return r.Metadata.Name
}

// hold makes documents what the set shows.
func (s *Set) hold(documents map[id]*Document) {
	s.held = documents
	s.Configs, s.RunStates, s.Flavours = map[string]*Config{}, map[string]*RunState{}, map[string]*Flavour{}
	for k, d := range documents {
		switch k.kind {
		case KindConfig:
			s.Configs[k.name] = d.Config
		case KindRunState:
			s.RunStates[k.name] = d.RunState
		case KindFlavour:
			s.Flavours[k.name] = d.Flavour
		}
	}
}

// inline returns a document that holds the text of its domainXML file itself.
func (d *Document) inline(text []byte) *Document {
	c := *d
	switch {
	case d.Config != nil:
		config := *d.Config
		config.Spec.Template.Spec = inlined(config.Spec.Template.Spec, text)
		c.Config = &config
	case d.Flavour != nil:
		flavour := *d.Flavour
		flavour.Spec = inlined(flavour.Spec, text)
		c.Flavour = &flavour
	}
	return &c
}

func inlined(spec Tree, text []byte) Tree {
	spec = maps.Clone(spec)
	delete(spec, "domainXMLFrom")
	spec["domainXML"] = string(bytes.Clone(text))
	return spec
}
