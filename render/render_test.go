package render_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestGolden renders the run states of each archive. golden/NAME.xml is what is declared of the domain, golden/NAME.new.xml
// what a new domain is defined with, golden/problems what is wrong.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool {
				return *update && strings.HasPrefix(f.Name, "golden/")
			})
			got := goldens(t, a)
			if *update {
				for _, file := range slices.Sorted(maps.Keys(got)) {
					a.Files = append(a.Files, txtar.File{Name: file, Data: []byte(got[file])})
				}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := map[string]string{}
			for _, f := range a.Files {
				if strings.HasPrefix(f.Name, "golden/") {
					want[f.Name] = string(f.Data)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func goldens(t *testing.T, a *txtar.Archive) map[string]string {
	t.Helper()
	var files []manifest.File
	texts := map[string][]byte{}
	for _, f := range a.Files {
		texts[f.Name] = f.Data
		if manifest.IsDocumentFile(f.Name) {
			files = append(files, manifest.Read(f.Name, f.Data))
		}
	}
	set := manifest.Collect(files, func(path string) ([]byte, bool) { b, ok := texts[path]; return b, ok })
	placement := render.Place(set, strings.TrimSpace(string(texts["default-host"])))
	problems := append(slices.Clone(set.Problems), placement.Problems...)
	got := map[string]string{}
	for _, m := range placement.Machines {
		name := m.Run.Metadata.Name
		o := render.Options{Fleet: "test", Revision: "0123abc"}
		i, bad := placement.Of(m, o)
		problems = append(problems, bad...)
		if i == nil {
			continue
		}
		again, _ := placement.Of(m, o)
		if diff := cmp.Diff(i.Domain.String(), again.Domain.String()); diff != "" || i.Digest != again.Digest {
			t.Errorf("%s renders differently the second time:\n%s", name, diff)
		}
		o.Revision = "other"
		if other, _ := placement.Of(m, o); other.Digest != i.Digest {
			t.Errorf("%s: the commit is part of the digest", name)
		}
		got["golden/"+name+".xml"] = i.Domain.String()
		created, _ := domxml.Create(i.Domain)
		got["golden/"+name+".new.xml"] = created.String()
	}
	if len(problems) > 0 {
		var b strings.Builder
		for _, p := range problems {
			b.WriteString(p.String() + "\n")
		}
		got["golden/problems"] = b.String()
	}
	return got
}

func TestNamesNeverShareFiles(t *testing.T) {
	docs := `
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: a-b}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: c}]}}, volumes: [{name: c, volume: {size: 1Gi}}]}}}
---
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: a}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: b-c}]}}, volumes: [{name: b-c, volume: {size: 1Gi}}]}}}
`
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(docs))}, nil)
	placement := render.Place(set, "")
	x, bad := placement.Unplaced("a-b", render.Options{})
	y, worse := placement.Unplaced("a", render.Options{})
	if len(bad)+len(worse)+len(set.Problems) > 0 {
		t.Fatal(bad, worse, set.Problems)
	}
	if x.Volumes[0].File == y.Volumes[0].File {
		t.Errorf("a-b's c and a's b-c are both %s", x.Volumes[0].File)
	}
}

// TestFixedAddressesAreInTheSeed: a seed that says nothing of the network has the interfaces' addresses.
func TestFixedAddressesAreInTheSeed(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/addresses.txtar")
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Collect([]manifest.File{manifest.Read("docs.yaml", archive.Files[0].Data)}, nil)
	placement := render.Place(set, "")
	m, _ := placement.Find("fixed")
	i, problems := placement.Of(m, render.Options{Fleet: "test"})
	if i == nil {
		t.Fatal(problems)
	}
	want := "ethernets:\n  lan:\n    addresses:\n    - 192.0.2.10/24\n    - 2001:db8::10/64\n    match:\n      macaddress: " +
		i.Spec.Domain.Devices.Interfaces[0].MacAddress + "\nversion: 2\n"
	if got := string(i.Volumes[0].Seed["network-config"]); got != want {
		t.Errorf("the seed's network-config is\n%s\nwant\n%s", got, want)
	}
}
