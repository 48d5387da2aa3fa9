package manifest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
)

// naming is what a document says of another file of the repository: one with domain XML, or with what a seed holds.
type naming struct {
	path, field string
	at          position
	// text is what the file held while the document was sound, of a document that stands in for a broken one.
	text []byte
}

// textFields are the fields of a seed that name a file, with those that hold its content in Base64 instead.
var textFields = map[string]map[string]string{
	"cloudInitNoCloud":     seedTexts,
	"cloudInitConfigDrive": seedTexts,
	"ignition":             {"configFrom": "configBase64"},
}

var seedTexts = map[string]string{"userDataFrom": "userDataBase64", "networkDataFrom": "networkDataBase64", "metaDataFrom": "metaDataBase64"}

const xmlFrom = "domainXMLFrom"

// textAt is a file that the tree of a spec names: by the field key of the object holder.
type textAt struct {
	field  string
	holder map[string]any
	key    string
}

func (t textAt) name() string {
	name, _ := t.holder[t.key].(string)
	return name
}

// textsIn are the files that the tree of a spec names, in the order of their fields.
func textsIn(tree map[string]any) []textAt {
	var all []textAt
	add := func(field, key string, holder map[string]any) {
		if name, _ := holder[key].(string); name != "" {
			all = append(all, textAt{joinField(field, key), holder, key})
		}
	}
	add("", xmlFrom, tree)
	volumes, _ := tree["volumes"].([]any)
	for i, v := range volumes {
		volume, _ := v.(map[string]any)
		for _, kind := range slices.Sorted(maps.Keys(textFields)) {
			holder, _ := volume[kind].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(textFields[kind])) {
				add(fmt.Sprintf("volumes[%d].%s", i, kind), key, holder)
			}
		}
	}
	return all
}

// textsOf are the files that typed volumes name.
func textsOf(volumes []Volume) []volumeText {
	var all []volumeText
	add := func(field string, from, encoded *string) {
		if *from != "" {
			all = append(all, volumeText{field, from, encoded})
		}
	}
	for i, v := range volumes {
		for n, c := range []*CloudInit{v.CloudInitConfigDrive, v.CloudInitNoCloud} {
			if c == nil {
				continue
			}
			at := fmt.Sprintf("volumes[%d].%s.", i, []string{"cloudInitConfigDrive", "cloudInitNoCloud"}[n])
			add(at+"metaDataFrom", &c.MetaDataFrom, &c.MetaDataBase64)
			add(at+"networkDataFrom", &c.NetworkDataFrom, &c.NetworkDataBase64)
			add(at+"userDataFrom", &c.UserDataFrom, &c.UserDataBase64)
		}
		if g := v.Ignition; g != nil {
			add(fmt.Sprintf("volumes[%d].ignition.configFrom", i), &g.ConfigFrom, &g.ConfigBase64)
		}
	}
	return all
}

// volumeText is a file that a volume names, and where its content goes instead.
type volumeText struct {
	field         string
	from, encoded *string
}

// TextsOf are the files of the repository that the tree of a spec names, once Read has made their paths relative to it.
func TextsOf(tree Tree) []string {
	var all []string
	for _, t := range textsIn(tree) {
		all = append(all, t.name())
	}
	return all
}

// VolumeTexts are those that volumes name.
func VolumeTexts(volumes []Volume) []string {
	var all []string
	for _, t := range textsOf(volumes) {
		all = append(all, *t.from)
	}
	return all
}

// MentionsTexts says whether it may name files of the repository: false is certain, and costs no tree.
func (p Partial) MentionsTexts() bool {
	return p.Mentions(xmlFrom) || p.Mentions("DataFrom") || p.Mentions("configFrom")
}

// textPaths makes the paths of the files that a document names relative to the repository.
func (r *reader) textPaths(doc *Document, at string) []FieldProblem {
	var problems []FieldProblem
	join := func(field, name string) (string, bool) {
		joined, fault := repositoryPath(r.at.File, name)
		if fault != "" {
			problems = append(problems, FieldProblem{field, fault})
			return "", false
		}
		n := naming{path: joined, field: field}
		r.place(&n.at, field)
		doc.naming = append(doc.naming, n)
		return joined, true
	}
	if run, ok := doc.object.(*RunState); ok && run.Spec.Attach != nil {
		for _, t := range textsOf(run.Spec.Attach.Volumes) {
			if joined, ok := join("spec.attach."+t.field, *t.from); ok {
				*t.from = joined
			}
		}
		return problems
	}
	for _, t := range textsIn(doc.spec()) {
		if joined, ok := join(joinField(at, t.field), t.name()); ok {
			t.holder[t.key] = joined
		}
	}
	return problems
}

// inline returns a document that holds the texts of some of the files that it names itself.
func (d *Document) inline(texts map[string][]byte) *Document {
	c := *d
	c.naming = slices.Clone(d.naming)
	for n := range c.naming {
		if text, ok := texts[c.naming[n].path]; ok {
			c.naming[n].text = bytes.Clone(text)
		}
	}
	switch o := d.object.(type) {
	case *Config:
		c.object = c.whole(o)
	case *Flavour:
		flavour := *o
		flavour.Spec = inlined(o.Spec, texts)
		c.object = &flavour
	case *Preset:
		preset := *o
		preset.Spec.Template = inlined(o.Spec.Template, texts)
		c.object = &preset
	case *RunState:
		run, attach := *o, *o.Spec.Attach
		attach.Volumes = slices.Clone(attach.Volumes)
		for i, v := range attach.Volumes {
			attach.Volumes[i].CloudInitConfigDrive, attach.Volumes[i].CloudInitNoCloud = cloned(v.CloudInitConfigDrive), cloned(v.CloudInitNoCloud)
			attach.Volumes[i].Ignition = cloned(v.Ignition)
		}
		for _, t := range textsOf(attach.Volumes) {
			if text, ok := texts[*t.from]; ok {
				*t.from, *t.encoded = "", base64.StdEncoding.EncodeToString(text)
			}
		}
		run.Spec.Attach = &attach
		c.object = &run
	}
	return &c
}

func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// whole is a config with the texts of the files that it names, where those are not the newest.
func (d *Document) whole(c *Config) *Config {
	texts := map[string][]byte{}
	for _, n := range d.naming {
		if n.text != nil {
			texts[n.path] = n.text
		}
	}
	if len(texts) == 0 {
		return c
	}
	config := *c
	config.Spec.Template.Spec = PartialOf(inlined(c.Spec.Template.Spec.Tree(), texts))
	return &config
}

// inlined is a spec that says itself what files held.
func inlined(spec Tree, texts map[string][]byte) Tree {
	copied, _ := copyTree(map[string]any(spec)).(map[string]any)
	for _, t := range textsIn(copied) {
		text, ok := texts[t.name()]
		if !ok {
			continue
		}
		delete(t.holder, t.key)
		if t.key == xmlFrom {
			t.holder["domainXML"] = string(text)
			continue
		}
		for _, fields := range textFields {
			if to := fields[t.key]; to != "" {
				t.holder[to] = base64.StdEncoding.EncodeToString(text)
			}
		}
	}
	return copied
}

func copyTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, value := range v {
			c[name] = copyTree(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, item := range v {
			c[i] = copyTree(item)
		}
		return c
	}
	return v
}
