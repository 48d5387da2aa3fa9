package render_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// FuzzComplete places and completes what is accepted of any file: it renders to a domain that can be parsed again, the same
// twice, or is refused with a problem that names a document and its field.
func FuzzComplete(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("found %d archives: %v", len(archives), err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if manifest.IsDocumentFile(file.Name) {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", data)}, func(string) ([]byte, bool) { return []byte("<domain/>"), true })
		p := render.Place(set, "kvm1")
		problems := p.Problems
		if len(p.Machines) > 200 {
			return // a group of thousands says no more than one of two hundred
		}
		for _, m := range p.Machines {
			i, bad := p.Of(m, render.Options{Fleet: "f", Revision: "r"})
			if (i == nil) != (len(bad) > 0) {
				t.Fatalf("%s: an instance %v, and problems %v", m.Run.Metadata.Name, i, bad)
			}
			problems = append(problems, bad...)
			if i == nil {
				continue
			}
			created, _ := domxml.Create(i.Domain)
			if _, err := domxml.Parse(created.String()); err != nil {
				t.Fatalf("%s: %v\n%s", i.Name, err, created)
			}
			if again, _ := p.Of(m, render.Options{Fleet: "f", Revision: "r"}); again == nil || again.Digest != i.Digest {
				t.Fatalf("%s renders differently the second time", i.Name)
			}
			if _, err := p.Explain(i); err != nil {
				t.Fatal(err)
			}
		}
		for name := range set.Configs {
			_, bad := p.Unplaced(name, render.Options{Fleet: "f"})
			problems = append(problems, bad...)
		}
		for _, q := range problems {
			if q.In == nil || q.File == "" || q.Field == "" || q.Message == "" {
				t.Fatalf("a problem without a place: %+v", q)
			}
		}
	})
}
