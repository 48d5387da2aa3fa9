package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// imageOf tells the image that a volume keeps beginning as from others; empty for a volume without one. The path of a fetched
// image is made of all that the documents say of its content, so that another checksum is another image.
func imageOf(v render.Volume) string {
	if v.Kind != render.VolumeOverlay {
		return ""
	}
	return imageAt(v.Backing)
}

func imageAt(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%.6x", sha256.Sum256([]byte(path)))
}

// seenImages is a record with the images that the running machine's volumes are of in truth: a volume that was deleted and
// made again is of another one than before. The live XML has the file that an overlay is on (<backingStore>).
func (a *Assessment) seenImages(live *domxml.Element, m metadata.Metadata) (seen metadata.Metadata, changed bool) {
	if live == nil {
		return m, false
	}
	for _, v := range a.Instance.Volumes {
		n := find(m.Volumes, v.Pool, v.File)
		disk := domxml.Named(live, "disk", v.Name)
		if n < 0 || disk == nil || imageOf(v) == "" {
			continue
		}
		source := disk.Child("backingStore/source")
		if source == nil {
			continue
		}
		if is := imageAt(source.Attr("file")); is != "" && is != m.Volumes[n].Image {
			if !changed {
				m.Volumes, changed = slices.Clone(m.Volumes), true
			}
			m.Volumes[n].Image = is
		}
	}
	return m, changed
}

// recordImages corrects what the record says of images.
func (a *Assessment) recordImages(m metadata.Metadata) {
	a.act(EffectNextStart, "ImageSeen", "the record of its volumes' images is behind", nil, a.step(Step{Op: OpMetadata, Metadata: &m, Config: true}))
}

// newImages are the volumes for which the documents have another image than the one that they began as.
func newImages(m metadata.Metadata, i *render.Instance) []render.Volume {
	var list []render.Volume
	for _, v := range i.Volumes {
		n := find(m.Volumes, v.Pool, v.File)
		if is := imageOf(v); n >= 0 && is != "" && m.Volumes[n].Image != "" && m.Volumes[n].Image != is {
			list = append(list, v)
		}
	}
	return list
}

// imageChanges are those of newImages as the plan shows them.
func imageChanges(m metadata.Metadata, i *render.Instance) []Change {
	var changes []Change
	for _, v := range newImages(m, i) {
		changes = append(changes, Change{Path: "volumes[" + v.Name + "].image", From: "the one that it began as", To: imageName(v)})
	}
	return changes
}

// checkImages says which volumes keep an image that the documents no longer name: what the guest has written is a layer on
// it, and is nothing without it.
func (a *Assessment) checkImages(m metadata.Metadata) {
	for _, v := range newImages(m, a.Instance) {
		a.note("NewImage", fmt.Sprintf("volume %s keeps the image that it began as; to begin as %s it has to be made anew: take the machine's RunState away, "+
			"delete the volume with all that its guest wrote (gitvirt volume delete %s/%s), and put the RunState back", v.Name, imageName(v), v.Pool, v.File))
	}
}

// keepImages keeps the images in the record that volumes which are there began as.
func keepImages(old metadata.Metadata, next *metadata.Metadata) {
	for n, v := range next.Volumes {
		if o := find(old.Volumes, v.Pool, v.File); o >= 0 && old.Volumes[o].Image != "" {
			next.Volumes[n].Image = old.Volumes[o].Image
		}
	}
}

func imageName(v render.Volume) string {
	if v.Fetch != nil {
		return v.Fetch.String()
	}
	return v.Backing
}
