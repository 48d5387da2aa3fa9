package manifest

import (
	"strings"
	"testing"
)

// TestImages: what may be said of an image at a URL, and what is said to who says something else.
func TestImages(t *testing.T) {
	short, long := strings.Repeat("aB", 32), strings.Repeat("0", 128)
	for name, test := range map[string]struct{ image, want string }{
		"sha256":         {`{url: "https://files.example.org/disk.qcow2", sha256: ` + short + `}`, ""},
		"sha512":         {`{url: "http://files.example.org:8080/a%20b.raw.xz?x=y", sha512: "` + long + `", format: raw}`, ""},
		"checksums":      {`{url: "file:///srv/images/disk.vmdk", checksums: "https://files.example.org/SHA256SUMS", format: vmdk}`, ""},
		"a password":     {`{url: "https://files.example.org/d", sha256: ` + short + `, secretRef: {hostFile: files}}`, ""},
		"none":           {`{url: "https://files.example.org/d"}`, "image: has a url without a checksum: say sha256 or sha512, or checksums"},
		"two":            {`{url: "https://files.example.org/d", sha256: ` + short + `, checksums: "https://files.example.org/s"}`, "image.checksums: cannot be said together with sha256"},
		"no url":         {`{path: /srv/d, sha256: ` + short + `}`, "image.sha256: is that of a url, and there is none"},
		"url and path":   {`{path: /srv/d, url: "https://files.example.org/d", sha256: ` + short + `}`, "image: says path and url; take out all but one"},
		"too short":      {`{url: "https://files.example.org/d", sha512: ` + short + `}`, "image.sha512: \"" + short + "\" is no checksum: it is as sha512sum prints it"},
		"no digits":      {`{url: "https://files.example.org/d", sha256: ` + strings.Repeat("x", 64) + `}`, "is no checksum"},
		"a user":         {`{url: "https://me:geheim@files.example.org/d", sha256: ` + short + `}`, "image.url: has a user in it, whom everybody who can read the repository would know; take that out, and say secretRef"},
		"a broken one":   {`{url: "https://me:ge heim@%zz/d", sha256: ` + short + `}`, "image.url: is no URL"},
		"ftp":            {`{url: "ftp://files.example.org/d", sha256: ` + short + `}`, "is no URL that can be fetched"},
		"a path":         {`{url: /srv/d, sha256: ` + short + `}`, "is no URL that can be fetched"},
		"no host":        {`{url: "https:///d", sha256: ` + short + `}`, "names no host"},
		"a remote file":  {`{url: "file://files.example.org/d", sha256: ` + short + `}`, "is no file of the host"},
		"up":             {`{url: "https://files.example.org/a/../b", sha256: ` + short + `}`, `has ".."`},
		"up, hidden":     {`{url: "https://files.example.org/a/%2e%2e/b", sha256: ` + short + `}`, `has ".."`},
		"a hidden slash": {`{url: "https://files.example.org/a%2Fb", sha256: ` + short + `}`, `has ".."`},
		"a fragment":     {`{url: "https://files.example.org/a#b", sha256: ` + short + `}`, "has a fragment"},
		"its checksums":  {`{url: "https://files.example.org/d", checksums: "https://me@files.example.org/s"}`, "image.checksums: has a user in it"},
		"vmdk by a path": {`{path: /srv/d.vmdk, format: vmdk}`, "say url: file:///srv/d.vmdk"},
		"no secret":      {`{path: /srv/d, secretRef: {hostFile: files}}`, "image.secretRef: has no use for a file of the host"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Read("a.yaml", []byte(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root, disk: {}}]}}
      volumes: [{name: root, volume: {image: `+test.image+`}}]
`))
			var got []string
			for _, p := range f.Problems {
				got = append(got, p.String())
			}
			text := strings.Join(got, "\n")
			if test.want == "" && text != "" || !strings.Contains(text, test.want) || len(got) > 1 || strings.Contains(text, "geheim") {
				t.Errorf("it says:\n%s", text)
			}
			if test.want != "" && !strings.HasPrefix(text, "a.yaml:9:") {
				t.Errorf("the place is not said: %s", text)
			}
		})
	}
}
