package render

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// remote makes the volume a disk on a server.
func (v Volume) remote(i *Instance, o Options, from manifest.Volume) (Volume, error) {
	d := *from.Network
	v.Kind, v.Pool, v.Format, v.Remote = VolumeRemote, "", d.Format, &d
	v.ReadOnly = d.ReadOnly || d.Protocol == "http" || d.Protocol == "https"
	if a := d.Auth; a != nil {
		f, kind := i.found[a.SecretRef], "iscsi"
		token := f.token
		if d.Protocol == "rbd" {
			kind = "ceph"
			if !f.sealed {
				// Ceph prints its keys in Base64, and libvirt wants the bytes.
				raw, err := base64.StdEncoding.DecodeString(string(f.value.Bytes()))
				if err != nil {
					return v, fieldError{"network.auth.secretRef", fmt.Errorf("is no key of Ceph's: it is Base64, as \"ceph auth get-key\" prints it")}
				}
				token = o.Secrets.Token(secret.NewValue(raw))
			}
		}
		v.SecretUUID = i.keep("volumes/"+from.Name, kind, token)
	}
	return v, nil
}

// remoteSource is the <source> of a disk on a server (https://libvirt.org/formatdomain.html#hard-drives-floppy-disks-cdroms).
func remoteSource(e *domxml.Element, v Volume) *domxml.Element {
	d := v.Remote
	e.SetAttr("type", "network")
	source := e.Append(domxml.New("source", "protocol", d.Protocol))
	set := func(e *domxml.Element, name, value string) {
		if value != "" {
			e.SetAttr(name, value)
		}
	}
	name := d.Name
	if d.Protocol == "http" || d.Protocol == "https" {
		name = strings.TrimLeft(name, "/") // libvirt puts one in front
	}
	set(source, "name", name)
	set(source, "query", d.Query)
	if d.TLS {
		source.SetAttr("tls", "yes")
	}
	for _, h := range d.Hosts {
		host := source.Append(domxml.New("host"))
		if h.Socket != "" {
			host.SetAttr("transport", "unix")
			host.SetAttr("socket", h.Socket)
			continue
		}
		host.SetAttr("name", h.Name)
		if h.Port != 0 {
			host.SetAttr("port", strconv.Itoa(int(h.Port)))
		}
	}
	if d.Snapshot != "" {
		source.Append(domxml.New("snapshot", "name", d.Snapshot))
	}
	if d.Initiator != "" {
		source.Append(domxml.New("initiator")).Append(domxml.New("iqn", "name", d.Initiator))
	}
	if d.Identity != nil {
		identity := source.Append(domxml.New("identity"))
		set(identity, "user", d.Identity.User)
		set(identity, "group", d.Identity.Group)
	}
	if d.Auth != nil {
		kind := map[string]string{"iscsi": "iscsi", "rbd": "ceph"}[d.Protocol]
		source.Append(domxml.New("auth", "username", d.Auth.Username)).Append(domxml.New("secret", "type", kind, "uuid", v.SecretUUID))
	}
	return source
}

// burnt makes the volume the image of a CD.
func (v Volume) burnt(in *Instance, o Options, from manifest.Volume) Volume {
	i := from.ISO
	v.Format, v.ReadOnly = "raw", true
	switch {
	case i.Image != nil:
		image := Volume{}
		image.on(in, i.Image, o)
		v.Kind, v.Pool, v.Path, v.Fetch = VolumeFetched, "", image.Backing, image.Fetch
	case i.Path != "":
		v.Kind, v.Pool, v.Path = VolumeFile, "", i.Path
	default:
		v.Kind, v.Pool, v.File = VolumeThere, i.Pool, i.Name
	}
	return v
}
