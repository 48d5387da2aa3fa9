package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// onImage is an instance whose root begins as an image.
func onImage(t *testing.T, name string) *render.Instance {
	i := instance(t, "a")
	i.State = manifest.StateRunning
	i.Volumes[0].Kind, i.Volumes[0].Backing = render.VolumeOverlay, "/cache/url/"+name+"/disk"
	i.Volumes[0].Fetch = &render.Fetch{URL: "https://files.example.org/" + name}
	i.Digest += name
	return i
}

// definedAs is the domain of an instance. Below is the file that its root is on while it runs; it is off when that is empty.
func definedAs(t *testing.T, i *render.Instance, volumes []metadata.Volume, below string) Domain {
	t.Helper()
	xml, meta := creation(i)
	meta.Volumes = volumes
	meta.Run, meta.UID, meta.Outcome = 1, "u", metadata.OutcomeStarted
	meta.Put(xml)
	d := Domain{Name: "a", UUID: i.UUID, ID: -1, State: DomainShutoff, Persistent: true, Autostart: true}
	d.Inactive = XML{Packed: Plain(xml.String()), Hash: "1" + xml.String(), Meta: &meta}
	if below != "" {
		disk := domxml.Named(xml, "disk", i.Volumes[0].Name)
		disk.Append(domxml.New("backingStore", "type", "file")).Append(domxml.New("source", "file", below))
		d.ID, d.State = 1, DomainRunning
		d.Live = XML{Packed: Plain(xml.String()), Hash: "2" + xml.String(), Meta: &meta}
	}
	return d
}

// TestANewImageTakesARebuild: a volume that is there keeps the image that it began as; the plan says so for as long as the
// documents name another, and no longer once the volume was made again.
func TestANewImageTakesARebuild(t *testing.T) {
	one, two := onImage(t, "one"), onImage(t, "two")
	make := func(wanted *render.Instance, d Domain, memos map[string]*Memo) (Plan, Assessment) {
		p, all := Make(Wanted{Host: "h", Instances: []*render.Instance{wanted}}, World{Domains: []Domain{d}},
			Memory{Now: time.Unix(1000, 0), Memos: memos})
		return p, all[0]
	}
	told := func(a Assessment) bool {
		return slices.ContainsFunc(a.Notes, func(n Block) bool {
			return n.Reason == "NewImage" && strings.Contains(n.Message, "it has to be made anew") && strings.Contains(n.Message, "to begin as https://files.example.org/two")
		})
	}
	was := record(one, nil)
	p, a := make(two, definedAs(t, one, was.Volumes, one.Volumes[0].Backing), nil)
	if !told(a) || len(p.Actions) == 0 || !slices.ContainsFunc(p.Actions[0].Changes, func(c Change) bool {
		return c.Path == "volumes["+two.Volumes[0].Name+"].image" && c.To == "https://files.example.org/two"
	}) {
		t.Fatalf("when it is edited: %+v, %+v", a.Notes, p.Actions)
	}
	if p, a := make(one, definedAs(t, one, was.Volumes, one.Volumes[0].Backing), nil); len(a.Notes)+len(p.Actions) > 0 {
		t.Errorf("of the same image: %+v, %+v", a.Notes, p.Actions)
	}
	// Defined anew, it is still told, from what is known by heart too.
	now := record(two, nil)
	keepImages(was, &now)
	if now.Volumes[0].Image != imageOf(one.Volumes[0]) {
		t.Fatalf("the record has %+v", now.Volumes)
	}
	stale := definedAs(t, two, now.Volumes, one.Volumes[0].Backing)
	p, a = make(two, stale, nil)
	if !told(a) || len(p.Actions) > 0 {
		t.Errorf("once it is defined: %+v, %+v", a.Notes, p.Actions)
	}
	if p, a := make(two, stale, map[string]*Memo{"a": a.Memo}); !told(a) || len(p.Actions) > 0 {
		t.Errorf("by heart: %+v, %+v", a.Notes, p.Actions)
	}
	// The volume was deleted and made again: the running machine shows it, and the record follows.
	p, a = make(two, definedAs(t, two, now.Volumes, two.Volumes[0].Backing), nil)
	if told(a) || len(p.Actions) != 1 || len(p.Actions[0].Steps) != 1 || p.Actions[0].Steps[0].Op != OpMetadata {
		t.Fatalf("once it was made again: %+v, %+v", a.Notes, p.Actions)
	}
	fixed := *p.Actions[0].Steps[0].Metadata
	if p, a := make(two, definedAs(t, two, fixed.Volumes, two.Volumes[0].Backing), nil); len(a.Notes)+len(p.Actions) > 0 {
		t.Errorf("at last: %+v, %+v", a.Notes, p.Actions)
	}
	// A volume that began as nothing, and one whose record is of an agent that did not note it, tell nothing.
	for _, m := range []metadata.Metadata{record(instance(t, "a"), nil), {}} {
		if _, a := make(two, definedAs(t, one, m.Volumes, ""), nil); told(a) {
			t.Errorf("of an unknown image: %+v", a.Notes)
		}
	}
}
