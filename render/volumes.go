package render

import (
	"crypto/sha256"
	"fmt"
	"path"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// volumeOf is what a spec's volume needs on the host. A file's name is INSTANCE.VOLUME.SUFFIX: names are DNS labels, so no
// two can be the same.
func volumeOf(i *Instance, in Input, o Options, v manifest.Volume) (Volume, error) {
	out := Volume{Name: v.Name, Pool: defaultPool}
	switch {
	case v.Volume != nil:
		out.Pool, out.Format, out.Kind = v.Volume.Pool, v.Volume.Format, VolumeBlank
		out.File = i.Name + "." + v.Name + suffix(v.Volume.Format)
		if v.Volume.Size != nil {
			out.Size = v.Volume.Size.Value()
		}
		if v.Volume.Image != nil {
			out.Kind = VolumeOverlay
			if v.Volume.Image.Copy || v.Volume.Format == "raw" { // only qcow2 can be an overlay
				out.Kind = VolumeCopy
			}
			out.on(v.Volume.Image, o)
		}
		if e := v.Volume.Encryption; e != nil {
			f := i.found[e.SecretRef]
			out.Encryption = &Encryption{UUID: i.keep("volumes/"+v.Name, "volume", f.token), Token: f.token}
		}
	case v.EmptyDisk != nil:
		out.Kind, out.Format = VolumeEmpty, defaultFormat
		out.File = i.Name + "." + v.Name + suffix(out.Format)
		out.Size = v.EmptyDisk.Capacity.Value()
		if v.EmptyDisk.Image != nil {
			out.on(v.EmptyDisk.Image, o)
		}
	case v.ContainerDisk != nil:
		out.Kind, out.Format = VolumeEmpty, defaultFormat
		out.File = i.Name + "." + v.Name + suffix(out.Format)
		out.fetched(v.ContainerDisk.Image, v.ContainerDisk.Path, o)
	case v.HostDisk != nil:
		out.Kind, out.Format, out.Pool, out.Path = VolumeFile, "raw", "", v.HostDisk.Path
		if v.HostDisk.Capacity != nil {
			out.Size = v.HostDisk.Capacity.Value()
		}
		out.Create = v.HostDisk.Type == "DiskOrCreate"
	case v.Block != nil:
		out.Kind, out.Format, out.Pool, out.Path = VolumeDevice, "raw", "", v.Block.Path
	case v.HostPath != nil:
		out.Kind, out.Pool, out.Path = VolumeFolder, "", v.HostPath.Path
	case v.CloudInitNoCloud != nil, v.CloudInitConfigDrive != nil:
		return out.seeded(i, in, v)
	case v.Ignition != nil:
		return out.ignited(i, in, o, v)
	case v.ISO != nil:
		return out.burnt(o, v), nil
	case v.Network != nil:
		return out.remote(i, o, v)
	default:
		return out, fmt.Errorf("says nothing that a host has")
	}
	return out, nil
}

// on makes the volume an overlay on an image.
func (v *Volume) on(image *manifest.Image, o Options) {
	if image.Container != "" {
		v.fetched(image.Container, "", o)
		return
	}
	v.Backing, v.BackingFormat = image.Path, image.Format
}

// fetched makes the volume an overlay on a disk in an OCI image.
func (v *Volume) fetched(image, file string, o Options) {
	v.Backing, v.Fetch = Fetched(o.CacheDir, image, file, "disk"), &Fetch{Image: image, Path: file}
}

// Fetched is where the host keeps a file of an OCI image. It depends on what the document says and not on what the image
// holds, so that it is known before the image is.
func Fetched(cacheDir, image, file, name string) string {
	sum := sha256.Sum256([]byte(image + "\n" + file))
	return path.Join(cacheDir, "oci", fmt.Sprintf("%x", sum[:8]), name)
}

func suffix(format string) string {
	if format == "raw" {
		return ".img"
	}
	return "." + format
}
