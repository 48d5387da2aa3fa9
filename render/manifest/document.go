package manifest

// Document is one document of a file, as one of the kinds that a Set holds: a manifest of KubeVirt's can be several.
type Document struct {
	Origin
	// Kind and Name of a broken document are empty when they cannot be told for certain.
	Kind, Name string
	// Written is the kind in the file.
	Written string
	// Version names the bytes of the file of a document that was made lean.
	Version string
	// Broken documents have problems and say nothing but what they are.
	Broken bool
	// object is what a sound document says: *Config, *RunState, *Flavour, *Preset, *Group, *Host, *Instancetype,
	// *Preference or *Claim. A lean document says less: *Away for a run state, and nothing for a config.
	object any
	// meta is the metadata of a config that is lean, packed; nil when there is none.
	meta *Partial

	naming []naming // the files that it names
	nameAt position
	refers []referral
}

// id is what a document is known by.
type id struct{ Kind, Name string }

func (d *Document) id() id { return id{d.Kind, d.Name} }

// identified says whether it is certain which document this is.
func (d *Document) identified() bool { return d.Kind != "" && d.Name != "" }

// ConfigName is the config that a run state is of.
func (d *Document) ConfigName() string {
	if len(d.refers) == 0 {
		return ""
	}
	return d.refers[0].to.Name // a run state refers to nothing else
}

// Host is where a run state says that its machine is; empty when that depends on other documents.
func (d *Document) Host() string {
	switch o := d.object.(type) {
	case *Away:
		return o.Host
	case *RunState:
		return o.Spec.Host
	}
	return ""
}

// hasBody says whether it says what it says itself.
func (d *Document) hasBody() bool {
	_, away := d.object.(*Away)
	return d.object != nil && !away
}

// position is a line and a column.
type position struct{ line, column int32 }

// referral is what a document says of another that has to be there.
type referral struct {
	to    id
	field string
	what  string
	at    position
}

// Away is what is known of a run state whose machine is on another host.
type Away struct {
	Host  string
	State PowerState
	Run   int64
	// Recreate says that it may begin there with empty volumes.
	Recreate bool
}

// Lean returns the file without what an agent of a host can do without: the bodies of configs, since most are of no machine of
// its own, and most of what run states say of machines on other hosts. An agent of a large fleet could not hold them all.
// Set.Having takes those that are needed after all; version is what Document.Version says of where to read them. aways has those
// that were made so far: most machines of a host are in the same state.
func (f *File) Lean(host, version string, aways map[Away]*Away) *File {
	lean := &File{Path: f.Path, Problems: f.Problems, Warnings: f.Warnings, Documents: make([]Document, len(f.Documents))}
	for i, d := range f.Documents {
		d.File, d.Version = f.Path, version
		switch o := d.object.(type) {
		case *Config:
			d.meta, d.object = packMeta(o.Metadata), nil
		case *RunState:
			if at := o.Spec.Host; at != "" && at != host {
				away := Away{Host: at, State: o.Spec.State, Run: o.Spec.Run, Recreate: o.Spec.MoveVolumes == "Recreate"}
				if aways[away] == nil {
					aways[away] = &away
				}
				d.object = aways[away]
			}
		}
		lean.Documents[i] = d
	}
	return lean
}

// Lean says whether the document's body is to be found in its file only.
func (d *Document) Lean() bool { return !d.Broken && !d.hasBody() }

// Body is what a lean document says, a *Config or a *RunState, in the file that it was read from, read again; nil when the
// file does not say it.
func (d *Document) Body(f File) any {
	for _, o := range f.Documents {
		if o.Index != d.Index || o.Kind != d.Kind || !o.hasBody() {
			continue
		}
		if c, ok := o.object.(*Config); ok {
			return d.whole(c)
		}
		return o.object
	}
	return nil
}

// Metadata is what the document is called.
func (d *Document) Metadata() Meta {
	if head := headerOf(d.object); head != nil {
		return head.Metadata
	}
	m := Meta{Name: d.Name}
	if d.meta == nil {
		return m
	}
	for field, words := range d.meta.Tree() {
		of := map[string]string{}
		for key, value := range words.(map[string]any) {
			of[key] = value.(string)
		}
		if field == "labels" {
			m.Labels = of
		} else {
			m.Annotations = of
		}
	}
	return m
}

func packMeta(m Meta) *Partial {
	tree := Tree{}
	for field, words := range map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations} {
		if len(words) == 0 {
			continue
		}
		of := make(map[string]any, len(words))
		for key, value := range words {
			of[key] = value
		}
		tree[field] = of
	}
	if len(tree) == 0 {
		return nil
	}
	p := PartialOf(tree)
	p.pack()
	return &p
}
