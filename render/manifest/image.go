package manifest

import (
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Image is where a new volume's content comes from; exactly one of Path, URL and Container is set.
type Image struct {
	// Path is a file of the host. The new volume is a qcow2 overlay on it, so it must stay as it is, unless Copy says
	// otherwise or the volume is raw.
	Path string `json:"path,omitempty"`
	// URL is that of an image: http, https or file. It is fetched once on a host, verified, unpacked if it is compressed (gz, xz
	// or zst, which is found out), and shared by all volumes that begin as it. A URL with exactly one of SHA256, SHA512 and
	// Checksums is an image; another checksum is another one, and a volume that is there keeps the image that it began as.
	URL string `json:"url,omitempty"`
	// SHA256 is the checksum of what is at the URL, as 64 hexadecimal digits.
	SHA256 string `json:"sha256,omitempty"`
	// SHA512 is the checksum of what is at the URL, as 128 hexadecimal digits.
	SHA512 string `json:"sha512,omitempty"`
	// Checksums is the URL of a file with the checksum of what is at the URL, by its name, such as SHA256SUMS. It is looked up
	// once on a host, and what was found is kept: a checksum that the document says is better, because it is the same on all
	// hosts and known to who reviews it.
	Checksums string `json:"checksums,omitempty"`
	// Container is an OCI image that holds the disk below /disk/. The new volume is a qcow2 overlay on a copy of it.
	Container string `json:"container,omitempty"`
	// Format is qcow2 or raw, or vmdk at a URL. For a Path it is qcow2 when it is left out; otherwise it is found out.
	Format string `json:"format,omitempty"`
	// Copy makes the new volume a full copy, which does not need the image any more. A raw volume is one in any case.
	Copy bool `json:"copy,omitempty"`
	// SecretRef says where the password for the URL or the registry is: USER:PASSWORD, or for a registry a docker
	// configuration too.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
}

// ContainerDisk is a disk in an OCI image, below /disk/. What the guest writes to it is gone after the run, unless it is
// persistent.
type ContainerDisk struct {
	// Image is REGISTRY/REPOSITORY[:TAG][@DIGEST]. A tag is looked up once on a host, and its digest kept.
	Image string `json:"image"`
	// Path is that of the disk in the image; the only file in /disk when it is left out.
	Path string `json:"path,omitempty"`
	// Persistent keeps what the guest writes: the disk begins as the image once, and is a volume like others from then on.
	Persistent bool `json:"persistent,omitempty"`
	// SecretRef says where the password for the registry is: USER:PASSWORD, or a docker configuration (config.json). Without it
	// the docker configuration of the agent's user is taken.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// ImagePullPolicy and ImagePullSecret are a cluster's: an image is pulled once, with what SecretRef or the host's docker
	// configuration has for its registry.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// ImagePullSecret is a cluster's.
	ImagePullSecret string `json:"imagePullSecret,omitempty"`
}

// Sum is the checksum that the image must have, sha256:… or sha512:…; empty when it says none.
func (i *Image) Sum() string {
	switch {
	case i.SHA256 != "":
		return "sha256:" + strings.ToLower(i.SHA256)
	case i.SHA512 != "":
		return "sha512:" + strings.ToLower(i.SHA512)
	}
	return ""
}

func (c *specChecker) image(at string, i *Image) {
	if i == nil {
		return
	}
	var set []string
	for _, f := range []struct{ name, value string }{{"path", i.Path}, {"url", i.URL}, {"container", i.Container}} {
		if f.value != "" {
			set = append(set, f.name)
		}
	}
	c.oneOf(at, set, []string{"path", "url", "container"}, c.partial)
	if i.Path != "" {
		c.hostPath(at+".path", i.Path)
	}
	if i.Container != "" {
		c.imageName(at+".container", i.Container)
		if i.Format != "" {
			c.add(at+".format", "cannot be said of a container's disk: it is found out; take it out")
		}
	}
	if i.Path != "" && i.Format == "vmdk" {
		c.add(at+".format", "cannot be said of a path: machines have qcow2 and raw images; convert it (qemu-img convert), or say url: file://"+i.Path)
	}
	if i.SecretRef != nil {
		c.secretRef(at+".secretRef", i.SecretRef)
		if i.Path != "" || strings.HasPrefix(i.URL, "file:") {
			c.add(at+".secretRef", "has no use for a file of the host; take it out")
		}
	}
	c.imageURL(at, i)
}

// imageURL checks the URL of an image, and its checksum.
func (c *specChecker) imageURL(at string, i *Image) {
	var sums []string
	for _, f := range []struct {
		name, value string
		bytes       int
	}{{"sha256", i.SHA256, 32}, {"sha512", i.SHA512, 64}} {
		if f.value == "" {
			continue
		}
		sums = append(sums, f.name)
		if raw, err := hex.DecodeString(f.value); err != nil || len(raw) != f.bytes {
			c.add(at+"."+f.name, quoted(f.value)+" is no checksum: it is as "+f.name+"sum prints it, in hexadecimal digits")
		}
	}
	if i.Checksums != "" {
		sums = append(sums, "checksums")
		c.url(at+".checksums", i.Checksums)
	}
	switch {
	case i.URL == "" && len(sums) > 0 && !c.partial:
		c.add(at+"."+sums[0], "is that of a url, and there is none; take it out")
	case i.URL == "":
	default:
		c.url(at+".url", i.URL)
		switch {
		case len(sums) > 1:
			c.add(at+"."+sums[1], "cannot be said together with "+sums[0]+"; take one out")
		case len(sums) == 0 && !c.partial:
			c.add(at, "has a url without a checksum: say sha256 or sha512, or checksums with the URL of a SHA256SUMS file")
		}
	}
}

// url checks a URL that something is fetched from.
func (c *checker) url(field, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		// The parser's error would repeat a password.
		c.add(field, "is no URL; write it as https://HOST/PATH or file:///PATH, with spaces as %20")
	case u.User != nil:
		c.add(field, "has a user in it, whom everybody who can read the repository would know; take that out, and say secretRef beside it")
	case !slices.Contains([]string{"http", "https", "file"}, u.Scheme):
		c.add(field, quoted(text)+" is no URL that can be fetched; write it as https://HOST/PATH, http://HOST/PATH or file:///PATH")
	case u.Scheme == "file" && (u.Host != "" || u.RawQuery != "" || u.Path == ""):
		c.add(field, quoted(text)+" is no file of the host; write it as file:///PATH")
	case u.Scheme != "file" && u.Hostname() == "":
		c.add(field, quoted(text)+" names no host")
	case u.Fragment != "":
		c.add(field, quoted(text)+" has a fragment, which no server is told; take it out")
	case u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" || strings.Contains(strings.ToLower(u.RawPath), "%2f"):
		c.add(field, quoted(text)+` has ".." or "." or "//" in its path; write it without`)
	case u.Scheme == "file":
		c.hostPath(field, u.Path)
	}
}

func (c *specChecker) containerDisk(at string, d *ContainerDisk) {
	if d.Image != "" || !c.partial {
		c.imageName(at+".image", d.Image)
	}
	if p := d.Path; p != "" && (!strings.HasPrefix(p, "/") || strings.Contains(p, "..")) {
		c.add(at+".path", quoted(p)+" is not a path in the image; write it from the root, such as /disk/root.qcow2")
	}
	if d.SecretRef != nil {
		c.secretRef(at+".secretRef", d.SecretRef)
	}
}
