package render

import (
	"encoding/json"
	"errors"
	"path"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// ignitionKey is where Ignition looks for its configuration in QEMU's firmware configuration device
// (https://coreos.github.io/ignition/supported-platforms/).
const ignitionKey = "opt/com.coreos/config"

// IgnitionDir is where the host keeps configurations for Ignition: QEMU is given a file of the host, and a pool's folder is not
// known here.
func IgnitionDir(cacheDir string) string { return path.Join(cacheDir, "ignition") }

// ignited makes the volume a configuration for Ignition. Its name changes with its content.
func (v Volume) ignited(i *Instance, in Input, o Options, from manifest.Volume) (Volume, error) {
	g := from.Ignition
	c, err := part{"config", "secretRef", g.Config, g.ConfigBase64, g.ConfigFrom, g.SecretRef}.read(i, in, i.Name)
	if err == nil && !c.sealed && !json.Valid(c.text) {
		field := "config"
		switch {
		case g.ConfigFrom != "":
			field = "configFrom"
		case g.ConfigBase64 != "":
			field = "configBase64"
		case g.SecretRef != nil:
			field = "secretRef"
		}
		err = fieldError{field, errors.New("is not JSON, which Ignition reads; butane makes it of YAML")}
	}
	if err != nil {
		var of fieldError
		if errors.As(err, &of) {
			err = fieldError{"ignition." + of.field, of.err}
		}
		return v, err
	}
	s := &seed{files: secret.Files{}, tokens: map[string]string{}}
	s.put("config", c)
	v.Kind, v.Format, v.Pool, v.Seed = VolumeIgnition, "raw", "", s.files
	v.File = i.Name + "." + from.Name + "-" + seedDigest(s) + ".ign"
	v.Path = path.Join(IgnitionDir(o.CacheDir), v.File)
	return v, nil
}

// ignition gives the guest its configuration for Ignition.
func (b *builder) ignition(domain *domxml.Element) {
	for _, v := range b.instance.Volumes {
		if v.Kind == VolumeIgnition {
			domain.Append(domxml.New("sysinfo", "type", "fwcfg")).Append(domxml.New("entry", "name", ignitionKey, "file", v.Path))
		}
	}
}
