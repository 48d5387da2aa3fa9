package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// volumeOf completes a config with one volume.
func volumeOf(t *testing.T, says string) (*render.Instance, []manifest.Problem) {
	t.Helper()
	docs := fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root}]}}, volumes: [{name: root, %s}]}}}
`, says)
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(docs))}, nil)
	if len(set.Problems) > 0 {
		return nil, set.Problems
	}
	return render.Place(set, "").Unplaced("web", render.Options{})
}

// TestVolumeKinds: what a document says of its image decides whether the volume needs that later on.
func TestVolumeKinds(t *testing.T) {
	for says, want := range map[string]render.VolumeKind{
		"{size: 1Gi}":                                                      render.VolumeBlank,
		"{image: {path: /a.qcow2}}":                                        render.VolumeOverlay,
		"{image: {path: /a.qcow2, copy: true}}":                            render.VolumeCopy,
		"{image: {path: /a.qcow2}, format: raw}":                           render.VolumeCopy,
		"{image: {container: 'localhost/a:1'}}":                            render.VolumeOverlay,
		"{image: {container: 'localhost/a:1', copy: true}, format: qcow2}": render.VolumeCopy,
	} {
		i, problems := volumeOf(t, "volume: "+says)
		if i == nil {
			t.Errorf("%s: %v", says, problems)
			continue
		}
		v := i.Volumes[0]
		if v.Kind != want || !v.Persistent() || (v.Backing == "") != (want == render.VolumeBlank) {
			t.Errorf("%s is %s on %q, persistent %v, want %s", says, v.Kind, v.Backing, v.Persistent(), want)
		}
	}
	if _, problems := volumeOf(t, "emptyDisk: {image: {path: /a.qcow2, copy: true}}"); len(problems) != 1 || !strings.Contains(problems[0].Message, "cannot be said of an emptyDisk") {
		t.Errorf("an emptyDisk as a copy: %v", problems)
	}
}
