package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// passwords are the attributes of libvirt's language that hold a password in clear (graphics' passwd).
var passwords = regexp.MustCompile(`(\bpasswd\s*=\s*)("[^"]*"|'[^']*')`)

// Public returns a copy of a spec that can be shown: what is secret in it is replaced by its digest, so that a change can
// be seen and the content cannot. spec is not changed.
func Public(spec InstanceSpec) InstanceSpec {
	spec.Volumes = slices.Clone(spec.Volumes)
	for i, v := range spec.Volumes {
		spec.Volumes[i].CloudInitNoCloud = v.CloudInitNoCloud.public()
		spec.Volumes[i].CloudInitConfigDrive = v.CloudInitConfigDrive.public()
		if g := v.Ignition; g != nil {
			spec.Volumes[i].Ignition = &Ignition{Config: digest(g.Config), ConfigBase64: digest(g.ConfigBase64), ConfigFrom: g.ConfigFrom, SecretRef: g.SecretRef}
		}
	}
	if p := spec.ReadinessProbe; p != nil && p.HTTPGet != nil {
		probe, get := *p, *p.HTTPGet
		get.HTTPHeaders = slices.Clone(get.HTTPHeaders)
		for i, h := range get.HTTPHeaders {
			get.HTTPHeaders[i].Value = digest(h.Value) // it may be an Authorization
		}
		probe.HTTPGet, spec.ReadinessProbe = &get, &probe
	}
	spec.DomainXML = passwords.ReplaceAllStringFunc(spec.DomainXML, func(attribute string) string {
		m := passwords.FindStringSubmatch(attribute)
		quote := m[2][:1]
		return m[1] + quote + digest(m[2][1:len(m[2])-1]) + quote
	})
	return spec
}

func (c *CloudInit) public() *CloudInit {
	if c == nil {
		return nil
	}
	shown := *c
	for _, text := range []*string{&shown.UserData, &shown.UserDataBase64, &shown.NetworkData, &shown.NetworkDataBase64, &shown.MetaData, &shown.MetaDataBase64} {
		*text = digest(*text)
	}
	return &shown
}

// digest is sha256: and 12 hexadecimal digits; that of nothing is nothing.
func digest(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(sum[:6])
}
