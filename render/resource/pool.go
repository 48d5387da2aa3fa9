package resource

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// OfPool renders a storage pool.
func OfPool(p *manifest.StoragePool, fleet string) (Resource, *manifest.FieldProblem) {
	s := &p.Spec
	r := made(Pool, &p.Header, &s.Ownership, fleet, p.LibvirtName())
	r.Build = p.Builds()
	root := domxml.New("pool", "type", p.PoolType())
	if s.Source != nil {
		r.source(root, p.PoolType(), s.Source)
	}
	if p := targetPath(p); p != "" {
		target := root.Append(domxml.New("target"))
		target.Append(text("path", p))
		if s.Mode != "" || s.Owner != nil || s.Group != nil {
			permissions := target.Append(domxml.New("permissions"))
			mode := s.Mode
			if mode == "" {
				mode = "0711"
			}
			permissions.Append(text("mode", mode))
			for _, id := range []struct {
				name string
				of   *int64
			}{{"owner", s.Owner}, {"group", s.Group}} {
				if id.of != nil {
					permissions.Append(text(id.name, strconv.FormatInt(*id.of, 10)))
				}
			}
		}
	}
	if bad := r.finish(root, s.PoolXML, "spec.poolXML"); bad != nil {
		return r, bad
	}
	return r, nil
}

// targetPath is where the volumes are. Libvirt's schema wants one for what has devices, whatever it makes of it.
func targetPath(p *manifest.StoragePool) string {
	switch kind := p.PoolType(); {
	case p.Spec.Path != "":
		return p.Spec.Path
	case kind == "iscsi", kind == "scsi":
		return "/dev/disk/by-path"
	case kind == "mpath":
		return "/dev/mapper"
	case kind == "disk":
		return "/dev"
	case kind == "logical":
		if p.Spec.Source != nil && p.Spec.Source.Name != "" {
			return "/dev/" + p.Spec.Source.Name
		}
		return "/dev/" + p.LibvirtName()
	}
	return ""
}

func (r *Resource) source(root *domxml.Element, kind string, s *manifest.PoolSource) {
	e := root.Append(domxml.New("source"))
	for _, h := range s.Hosts {
		host := e.Append(domxml.New("host", "name", h.Name))
		if h.Port > 0 {
			host.SetAttr("port", strconv.Itoa(int(h.Port)))
		}
	}
	for _, d := range s.Devices {
		e.Append(domxml.New("device", "path", d))
	}
	if s.Dir != "" {
		e.Append(domxml.New("dir", "path", s.Dir))
	}
	if s.Initiator != "" {
		e.Append(domxml.New("initiator")).Append(domxml.New("iqn", "name", s.Initiator))
	}
	if a := s.Auth; a != nil {
		r.auth(e, kind, a)
	}
	if s.Name != "" {
		e.Append(text("name", s.Name))
	}
	if s.Format != "" {
		e.Append(domxml.New("format", "type", s.Format))
	}
	if s.ProtocolVersion != "" {
		e.Append(domxml.New("protocol", "ver", s.ProtocolVersion))
	}
}

func (r *Resource) auth(source *domxml.Element, kind string, a *manifest.PoolAuth) {
	how := a.Type
	if how == "" {
		how = map[bool]string{true: "ceph", false: "chap"}[kind == "rbd"]
	}
	auth := source.Append(domxml.New("auth", "type", how, "username", a.Username))
	secret := auth.Append(domxml.New("secret"))
	switch {
	case a.Usage != "":
		secret.SetAttr("usage", a.Usage)
	case a.UUID != "":
		secret.SetAttr("uuid", strings.ToLower(a.UUID))
	case a.SecretRef != nil:
		r.Secret = a.SecretRef
		secret.SetAttr("uuid", SecretUUID(r.UUID))
	}
}

// SecretUUID is that of the secret which libvirt keeps for a pool.
func SecretUUID(pool string) string {
	space, err := uuid.Parse(pool)
	if err != nil {
		space = uuid.NameSpaceOID
	}
	return uuid.NewSHA1(space, []byte("secret auth")).String()
}
