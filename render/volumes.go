package render

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// volumeOf is what a spec's volume needs on the host. A file's name is INSTANCE.VOLUME.SUFFIX: names are DNS labels, so no
// two can be the same.
func volumeOf(instance, uuid string, v manifest.Volume) (Volume, error) {
	out := Volume{Name: v.Name, Pool: defaultPool}
	switch {
	case v.Volume != nil:
		out.Pool, out.Format, out.Kind = v.Volume.Pool, v.Volume.Format, VolumeBlank
		out.File = instance + "." + v.Name + suffix(v.Volume.Format)
		if v.Volume.Size != nil {
			out.Size = v.Volume.Size.Value()
		}
		if image := v.Volume.Image; image != nil {
			out.Kind, out.Backing, out.BackingFormat = VolumeOverlay, image.Path, image.Format
		}
	case v.EmptyDisk != nil:
		out.Kind, out.Format = VolumeEmpty, defaultFormat
		out.File = instance + "." + v.Name + suffix(out.Format)
		out.Size = v.EmptyDisk.Capacity.Value()
	case v.HostDisk != nil:
		out.Kind, out.Format, out.Pool, out.Path = VolumeFile, "raw", "", v.HostDisk.Path
		if v.HostDisk.Capacity != nil {
			out.Size = v.HostDisk.Capacity.Value()
		}
		out.Create = v.HostDisk.Type == "DiskOrCreate"
	case v.CloudInitNoCloud != nil:
		seed, err := noCloud(instance, uuid, v.CloudInitNoCloud)
		if err != nil {
			return out, err
		}
		out.Kind, out.Format, out.Seed, out.Label = VolumeSeed, "raw", seed, "cidata"
		out.File = instance + "." + v.Name + "-" + seedDigest(seed) + ".iso"
	}
	return out, nil
}

func suffix(format string) string {
	if format == "raw" {
		return ".img"
	}
	return "." + format
}

// noCloud is the files of a NoCloud image. The instance-id stays the same for as long as the machine does, so that an
// edit of the user data does not make cloud-init set the machine up anew.
func noCloud(instance, uuid string, c *manifest.CloudInit) (map[string][]byte, error) {
	files := map[string][]byte{
		"meta-data": fmt.Appendf(nil, "instance-id: %s\nlocal-hostname: %s\n", uuid, instance),
		"user-data": {},
	}
	for _, f := range []struct{ name, field, text, encoded string }{
		{"user-data", "userDataBase64", c.UserData, c.UserDataBase64},
		{"network-config", "networkDataBase64", c.NetworkData, c.NetworkDataBase64},
	} {
		switch {
		case f.text != "":
			files[f.name] = []byte(f.text)
		case f.encoded != "":
			raw, err := base64.StdEncoding.DecodeString(f.encoded)
			if err != nil {
				return nil, fmt.Errorf("cannot decode %s: %w", f.field, err)
			}
			files[f.name] = raw
		}
	}
	return files, nil
}

// seedDigest is of what goes into the image, not of the image, which holds the time that it was made.
func seedDigest(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
