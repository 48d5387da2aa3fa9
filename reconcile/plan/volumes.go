package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// recorded are the volumes of a record, as a runner takes them.
func recorded(m *metadata.Metadata, choose func(keep bool) bool) []render.Volume {
	var list []render.Volume
	for _, v := range m.Volumes {
		if choose(v.Keep) {
			list = append(list, render.Volume{Name: v.Name, Pool: v.Pool, File: v.File})
		}
	}
	return list
}

// stale are recorded volumes that hold nothing of worth and that the instance no longer names: the seed image of an
// earlier user-data, an empty disk that is gone.
func (a *Assessment) stale(m metadata.Metadata) []render.Volume {
	return slices.DeleteFunc(recorded(&m, func(keep bool) bool { return !keep }), func(old render.Volume) bool {
		return holds(slices.Concat(a.Instance.Volumes, a.Instance.TemporaryVolumes), old.Pool, old.File)
	})
}

// holds says whether volumes have one of a pool and a name in it: that is what a volume is known by.
func holds(volumes []render.Volume, pool, file string) bool {
	return slices.ContainsFunc(volumes, func(v render.Volume) bool { return v.Pool == pool && v.File == file })
}

// find is where a record has a volume; -1 when it has not.
func find(volumes []metadata.Volume, pool, file string) int {
	return slices.IndexFunc(volumes, func(v metadata.Volume) bool { return v.Pool == pool && v.File == file })
}

// joined are a record's volumes with those of more that it has not.
func joined(volumes, more []metadata.Volume) []metadata.Volume {
	all := slices.Clone(volumes)
	for _, v := range more {
		if find(volumes, v.Pool, v.File) < 0 {
			all = append(all, v)
		}
	}
	return all
}

// keepStale keeps the volumes that the run which goes on needs still. Those of a definition that never ran may go.
func (def *definition) keepStale(d *Domain) {
	gone := def.stale
	def.stale = nil
	for _, v := range gone {
		listed := d.Live.Meta != nil && find(d.Live.Meta.Volumes, v.Pool, v.File) >= 0
		if listed || strings.Contains(d.Live.Text(), v.File) {
			def.meta.Volumes = append(def.meta.Volumes, metadata.Volume{Name: v.Name, Pool: v.Pool, File: v.File})
		} else {
			def.stale = append(def.stale, v)
		}
	}
}

// checkSizes refuses to shrink a disk: what is beyond the new end would be lost.
func (a *Assessment) checkSizes(m metadata.Metadata) {
	for _, v := range a.Instance.Volumes {
		if old := sizeOf(m, v); v.Size > 0 && old > v.Size {
			if a.Instance.Pinned {
				a.note("DiskKept", fmt.Sprintf("volume %s keeps its %s: a disk never shrinks, not even to an earlier revision's %s", v.Name, bytes(old), bytes(v.Size)))
				continue
			}
			c := Change{Path: "volumes[" + v.Name + "].size", From: bytes(old), To: bytes(v.Size)}
			a.block("DiskShrink", fmt.Sprintf("%s: a disk never shrinks, from %s to %s: say the old size again, or make a new volume under another name",
				c.Path, c.From, c.To), c)
		}
	}
}

// keepSizes keeps the larger size in the record, so that a refused one is not forgotten.
func (a *Assessment) keepSizes(old metadata.Metadata, next *metadata.Metadata) {
	for n, v := range next.Volumes {
		if o := find(old.Volumes, v.Pool, v.File); o >= 0 {
			next.Volumes[n].Size = max(v.Size, old.Volumes[o].Size)
		}
	}
}

// sizeChanges are the disks that the instance wants larger than the record has them.
func sizeChanges(m metadata.Metadata, i *render.Instance) []Change {
	var changes []Change
	for _, v := range i.Volumes {
		if old := sizeOf(m, v); old > 0 && v.Size > old {
			changes = append(changes, Change{Path: "volumes[" + v.Name + "].size", From: bytes(old), To: bytes(v.Size)})
		}
	}
	return changes
}

func sizeOf(m metadata.Metadata, v render.Volume) int64 {
	if n := find(m.Volumes, v.Pool, v.File); n >= 0 {
		return m.Volumes[n].Size
	}
	return 0
}

// bytes is a number of bytes as Kubernetes writes it: 2Gi.
func bytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

// kib is libvirt's number of KiB as Kubernetes writes it; anything else as it is.
func kib(s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return s
	}
	return bytes(n * 1024)
}
