package render_test

import (
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// rootOf is the volume of a machine that a document has.
func rootOf(t *testing.T, volume string) (render.Volume, string) {
	t.Helper()
	text := `
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root}]}}
      volumes: [{name: root, ` + volume + `}]
---
apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: web}
spec: {host: kvm1}
`
	set := manifest.Collect([]manifest.File{manifest.Read("web.yaml", []byte(text))}, func(string) ([]byte, bool) { return nil, false })
	placement := render.Place(set, "")
	m, ok := placement.Find("web")
	if !ok {
		t.Fatal(set.Problems, placement.Problems)
	}
	i, problems := placement.Of(m, render.Options{Fleet: "test", CacheDir: "/cache"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return i.Volumes[0], i.Digest
}

// TestFetchedPlaces: what the documents say of an image's content is what its place depends on, and nothing else is.
func TestFetchedPlaces(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	places := map[string]string{}
	for _, volume := range []string{
		`volume: {image: {url: "https://files.example.org/d", sha256: ` + a + `}}`,
		`volume: {image: {url: "https://files.example.org/d", sha256: ` + b + `}}`,
		`volume: {image: {url: "https://files.example.org/d", sha512: ` + a + a + `}}`,
		`volume: {image: {url: "https://files.example.org/d", checksums: "https://files.example.org/s"}}`,
		`volume: {image: {url: "https://files.example.org/d", sha256: ` + a + `, format: raw}}`,
		`volume: {image: {url: "https://files.example.org/e", sha256: ` + a + `}}`,
		`containerDisk: {image: registry.example.org/d}`,
		`containerDisk: {image: registry.example.org/d, path: /disk/e}`,
	} {
		v, _ := rootOf(t, volume)
		if v.Fetch == nil || v.Fetched() != v.Backing || !strings.HasPrefix(v.Backing, "/cache/") {
			t.Fatalf("%s gives %+v", volume, v)
		}
		if other := places[v.Backing]; other != "" {
			t.Errorf("%s and %s are at one place", volume, other)
		}
		places[v.Backing] = volume
	}
	plain, _ := rootOf(t, `volume: {image: {url: "https://files.example.org/d", sha256: `+a+`}}`)
	for _, same := range []string{
		`volume: {pool: other, size: 2Gi, image: {url: "https://files.example.org/d", sha256: ` + strings.ToUpper(a) + `}}`,
		`emptyDisk: {image: {url: "https://files.example.org/d", sha256: ` + a + `}}`,
		`volume: {image: {url: "https://files.example.org/d", sha256: ` + a + `, secretRef: {hostFile: files}}}`,
	} {
		if v, _ := rootOf(t, same); v.Backing != plain.Backing {
			t.Errorf("%s is at %s, and not at %s", same, v.Backing, plain.Backing)
		}
	}
	ephemeral, one := rootOf(t, `containerDisk: {image: registry.example.org/d}`)
	kept, two := rootOf(t, `containerDisk: {image: registry.example.org/d, persistent: true, secretRef: {hostFile: registry}}`)
	if ephemeral.Persistent() || !kept.Persistent() || kept.Backing != ephemeral.Backing || kept.File != ephemeral.File || one == two || kept.Fetch.Login == "" {
		t.Errorf("a containerDisk is %+v, and persistent it is %+v", ephemeral, kept)
	}
}
