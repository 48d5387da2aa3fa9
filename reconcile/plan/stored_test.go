package plan

import (
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
)

func TestJudgeStored(t *testing.T) {
	world := World{Domains: []Domain{
		{Name: "old", Persistent: true, Inactive: XML{Meta: &metadata.Metadata{Volumes: []metadata.Volume{{Pool: "p", File: "old.root.qcow2"}}}}},
	}}
	list := func(pool, file string) []render.Volume { return []render.Volume{{Pool: pool, File: file}} }
	all := []Assessment{
		{Name: "web", Instance: &render.Instance{Name: "web", Volumes: list("p", "web.root.qcow2"), TemporaryVolumes: list("q", "web.temp.qcow2")},
			Rejected: &render.Instance{Name: "web", Volumes: list("p", "web.next.qcow2")}},
		{Name: "broken"},
	}
	for name, test := range map[string]struct {
		v                Stored
		wanted, orphaned bool
	}{
		"wanted":                  {Stored{Pool: "p", Name: "web.root.qcow2", Made: MadeHere, Instance: "web"}, true, false},
		"temporary":               {Stored{Pool: "q", Name: "web.temp.qcow2", Made: MadeHere, Instance: "web"}, true, false},
		"of what is rejected":     {Stored{Pool: "p", Name: "web.next.qcow2", Made: MadeHere, Instance: "web"}, true, false},
		"in another pool":         {Stored{Pool: "q", Name: "web.root.qcow2", Made: MadeHere, Instance: "web"}, false, true},
		"renamed":                 {Stored{Pool: "p", Name: "web.was.qcow2", Made: MadeHere, Instance: "web"}, false, true},
		"of a domain's record":    {Stored{Pool: "p", Name: "old.root.qcow2", Made: MadeHere, Instance: "old"}, true, false},
		"of a broken document":    {Stored{Pool: "p", Name: "broken.any.qcow2", Made: MadePerhaps, Instance: "broken"}, true, false},
		"gone":                    {Stored{Pool: "p", Name: "gone.root.qcow2", Made: MadeHere, Instance: "gone"}, false, true},
		"gone, by its name alone": {Stored{Pool: "p", Name: "gone.root.qcow2", Made: MadePerhaps, Instance: "gone"}, false, true},
		"gone, and in use":        {Stored{Pool: "p", Name: "gone.root.qcow2", Made: MadeHere, Instance: "gone", UsedBy: []string{"domain x"}}, false, false},
		"another's":               {Stored{Pool: "p", Name: "disk"}, false, false},
	} {
		volumes := []Stored{test.v}
		JudgeStored(volumes, world, all)
		if got := volumes[0]; got.Wanted != test.wanted || got.Orphaned != test.orphaned {
			t.Errorf("%s: wanted %v, orphaned %v", name, got.Wanted, got.Orphaned)
		}
	}
}

func TestOwnName(t *testing.T) {
	for name, want := range map[string][2]string{
		"web.root.qcow2": {"web", "root"}, "a-0.data.img": {"a-0", "data"}, "web.init-0a1b.iso": {"web", "init-0a1b"},
		"debian-12.qcow2": {}, "web.root.qcow2.bak": {}, "Web.root.img": {}, ".web.img": {}, "web..img": {}, "-a.b.img": {}, "a.b.vmdk": {},
	} {
		instance, volume, ok := OwnName(name)
		if instance != want[0] || volume != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %q, %q, %v", name, instance, volume, ok)
		}
	}
}
