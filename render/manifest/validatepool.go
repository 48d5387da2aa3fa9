package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// poolKind is what a type of pool needs, and what else it can have (formatstorage, source elements).
type poolKind struct {
	needs, takes []string
	formats      []string
	auth         string
	// path says that the target's path has to be said.
	path bool
}

// poolKinds are the types of pools that a StoragePool has words for.
func poolKinds() map[string]poolKind {
	return map[string]poolKind{
		"dir": {path: true},
		"fs": {path: true, needs: []string{"devices"}, takes: []string{"format"},
			formats: []string{"auto", "ext2", "ext3", "ext4", "ufs", "iso9660", "udf", "gfs", "gfs2", "vfat", "hfs+", "xfs", "ocfs2", "vmfs"}},
		"netfs": {path: true, needs: []string{"hosts", "dir"}, takes: []string{"format", "protocolVersion"},
			formats: []string{"auto", "nfs", "glusterfs", "cifs"}},
		"logical": {takes: []string{"name", "devices", "format"}, formats: []string{"lvm2"}},
		"disk": {needs: []string{"devices"}, takes: []string{"format"},
			formats: []string{"dos", "dvh", "gpt", "mac", "bsd", "pc98", "sun", "lvm2"}},
		"iscsi":        {needs: []string{"hosts", "devices"}, takes: []string{"initiator", "auth"}, auth: "chap"},
		"iscsi-direct": {needs: []string{"hosts", "devices", "initiator"}, takes: []string{"auth"}, auth: "chap"},
		"scsi":         {}, // the adapter is said in poolXML
		"mpath":        {},
		"rbd":          {needs: []string{"hosts", "name"}, takes: []string{"auth"}, auth: "ceph"},
		"gluster":      {needs: []string{"hosts", "name"}, takes: []string{"dir"}},
		"zfs":          {needs: []string{"name"}, takes: []string{"devices"}},
	}
}

// modeForm is the permissions of a folder, in octal.
var modeForm = regexp.MustCompile(`^0?[0-7]{3,4}$`)

func (p *StoragePool) check(c *checker) {
	c.meta("metadata", p.Metadata, true)
	c.scope(&p.Spec.HostScope)
	c.ownership(&p.Spec.Ownership)
	of, raw := poolKinds()[p.PoolType()], p.Spec.PoolXML != ""
	switch {
	case p.Spec.Path != "":
		c.hostPath("spec.path", p.Spec.Path)
		if p.Spec.Path == "/" {
			c.add("spec.path", "is the whole host; say a folder")
		}
	case of.path && !raw:
		c.add("spec.path", "is missing; say the folder of the host where the volumes are")
	}
	if m := p.Spec.Mode; m != "" && !modeForm.MatchString(m) {
		c.add("spec.mode", quoted(m)+" is not a mode in octal, such as 0711")
	}
	for _, id := range []struct {
		field string
		of    *int64
	}{{"spec.owner", p.Spec.Owner}, {"spec.group", p.Spec.Group}} {
		if id.of != nil && (*id.of < 0 || *id.of > 1<<32-2) {
			c.add(id.field, "is not the number of a user or group")
		}
	}
	if b := p.Spec.Build; b != nil && *b && !slices.Contains([]string{"dir", "fs", "netfs"}, p.PoolType()) {
		c.add("spec.build", "makes a folder, and a pool of type "+p.PoolType()+" has none; take it out")
	}
	c.poolSource(p.PoolType(), of, p.Spec.Source, raw)
}

func (c *checker) poolSource(kind string, of poolKind, s *PoolSource, raw bool) {
	if s == nil {
		s = &PoolSource{}
	}
	said := map[string]bool{
		"hosts": len(s.Hosts) > 0, "devices": len(s.Devices) > 0, "dir": s.Dir != "", "name": s.Name != "", "format": s.Format != "",
		"initiator": s.Initiator != "", "protocolVersion": s.ProtocolVersion != "", "auth": s.Auth != nil,
	}
	for _, field := range []string{"hosts", "devices", "dir", "name", "format", "initiator", "protocolVersion", "auth"} {
		needed := slices.Contains(of.needs, field)
		switch {
		case said[field] && !needed && !slices.Contains(of.takes, field):
			c.add("spec.source."+field, "is not of a pool of type "+kind+"; take it out")
		case !said[field] && needed && !raw:
			c.add("spec.source."+field, "is missing; a pool of type "+kind+" needs it")
		}
	}
	if s.Format != "" && of.formats != nil && !slices.Contains(of.formats, s.Format) {
		c.add("spec.source.format", quoted(s.Format)+" is none of "+strings.Join(of.formats, ", "))
	}
	for i, h := range s.Hosts {
		c.plain(fmt.Sprintf("spec.source.hosts[%d].name", i), h.Name)
	}
	if len(s.Hosts) > 1 && kind != "rbd" && kind != "gluster" {
		c.add("spec.source.hosts", "are several, and a pool of type "+kind+" has one")
	}
	for i, d := range s.Devices {
		at := fmt.Sprintf("spec.source.devices[%d]", i)
		if strings.HasPrefix(kind, "iscsi") {
			c.plain(at, d)
		} else if kind == "zfs" || c.absolute(at, d) {
			c.line(at, d)
		}
	}
	if len(s.Devices) > 1 && kind != "logical" && kind != "zfs" {
		c.add("spec.source.devices", "are several, and a pool of type "+kind+" has one")
	}
	if s.Dir != "" && kind == "netfs" && s.Format != "cifs" {
		c.absolute("spec.source.dir", s.Dir)
	}
	c.line("spec.source.name", s.Name)
	c.poolAuth(of.auth, s.Auth)
}

// absolute checks a path that need not be in its shortest form.
func (c *checker) absolute(field, p string) bool {
	if !path.IsAbs(p) {
		c.add(field, quoted(p)+" is not an absolute path")
		return false
	}
	return true
}

func (c *checker) poolAuth(kind string, a *PoolAuth) {
	if a == nil {
		return
	}
	const at = "spec.source.auth"
	if a.Type != "" && kind != "" && a.Type != kind {
		c.add(at+".type", quoted(a.Type)+" is not how such a pool is logged in to; say "+kind+", or nothing")
	}
	c.plain(at+".username", a.Username)
	var set []string
	if a.SecretRef != nil {
		set = append(set, "secretRef")
		sc := specChecker{}
		sc.secretRef(at+".secretRef", a.SecretRef)
		c.problems = append(c.problems, sc.problems...)
	}
	if a.Usage != "" {
		set = append(set, "usage")
		c.line(at+".usage", a.Usage)
	}
	if a.UUID != "" {
		set = append(set, "uuid")
		if !uuidForm.MatchString(a.UUID) {
			c.add(at+".uuid", quoted(a.UUID)+" is not a UUID")
		}
	}
	c.oneOf(at, set, []string{"secretRef", "usage", "uuid"}, false)
}
