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
			out.on(i, v.Volume.Image, o)
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
			out.on(i, v.EmptyDisk.Image, o)
		}
	case v.ContainerDisk != nil:
		out.Kind, out.Format = VolumeEmpty, defaultFormat
		if v.ContainerDisk.Persistent {
			out.Kind = VolumeOverlay
		}
		out.File = i.Name + "." + v.Name + suffix(out.Format)
		out.fetched(i, Fetch{Image: v.ContainerDisk.Image, Path: v.ContainerDisk.Path}, v.ContainerDisk.SecretRef, o)
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
		return out.burnt(i, o, v), nil
	case v.Network != nil:
		return out.remote(i, o, v)
	default:
		return out, fmt.Errorf("says nothing that a host has")
	}
	return out, nil
}

// on makes the volume an overlay on an image.
func (v *Volume) on(i *Instance, image *manifest.Image, o Options) {
	switch {
	case image.Container != "":
		v.fetched(i, Fetch{Image: image.Container}, image.SecretRef, o)
	case image.URL != "":
		v.fetched(i, Fetch{URL: image.URL, Sum: image.Sum(), Checksums: image.Checksums, Format: image.Format}, image.SecretRef, o)
	default:
		v.Backing, v.BackingFormat = image.Path, image.Format
	}
}

// fetched makes the volume an overlay on something that is fetched.
func (v *Volume) fetched(i *Instance, f Fetch, login *manifest.SecretRef, o Options) {
	if login != nil {
		f.Login = i.found[login].token
	}
	v.Backing, v.Fetch = Fetched(o.CacheDir, f, "disk"), &f
}

// Fetched is where the host keeps what is fetched. It depends on what the document says and not on what is there, so that it
// is known before that is; and on all that it says of the content, so that another checksum is another place.
func Fetched(cacheDir string, f Fetch, name string) string {
	kind, says := "oci", f.Image+"\n"+f.Path
	if f.URL != "" {
		kind, says = "url", f.URL+"\n"+f.Sum+"\n"+f.Checksums+"\n"+f.Format
	}
	sum := sha256.Sum256([]byte(says))
	return path.Join(cacheDir, kind, fmt.Sprintf("%x", sum[:8]), name)
}

func suffix(format string) string {
	if format == "raw" {
		return ".img"
	}
	return "." + format
}
