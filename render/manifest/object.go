package manifest

// object is what a document's Go type can do.
type object interface {
	// check validates what the document says by itself.
	check(c *checker)
	// documents are what a set holds of it.
	documents() []any
}

// headerOf is the header of a document of ours.
func headerOf(o any) *Header {
	switch o := o.(type) {
	case *Config:
		return &o.Header
	case *RunState:
		return &o.Header
	case *Flavour:
		return &o.Header
	case *Preset:
		return &o.Header
	case *Group:
		return &o.Header
	case *Host:
		return &o.Header
	case *HostNetwork:
		return &o.Header
	case *StoragePool:
		return &o.Header
	}
	return nil
}

// ownSpec is where the template's spec stands in a document of ours.
func ownSpec(o any) string {
	if _, ok := o.(*Config); ok {
		return "spec.template.spec"
	}
	return "spec"
}

// What our kinds hold is themselves.
func (c *Config) documents() []any      { return []any{c} }
func (r *RunState) documents() []any    { return []any{r} }
func (f *Flavour) documents() []any     { return []any{f} }
func (p *Preset) documents() []any      { return []any{p} }
func (g *Group) documents() []any       { return []any{g} }
func (h *Host) documents() []any        { return []any{h} }
func (n *HostNetwork) documents() []any { return []any{n} }
func (p *StoragePool) documents() []any { return []any{p} }

// spec is the document's template spec, or what it has of one; nil when it has none.
func (d *Document) spec() Tree {
	switch o := d.object.(type) {
	case *Config:
		return o.Spec.Template.Spec.Tree()
	case *Flavour:
		return o.Spec
	case *Preset:
		return o.Spec.Template
	}
	return nil
}
