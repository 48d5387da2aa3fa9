package manifest

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The forms of what libvirt is told of a server.
var (
	hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	// iqnForm is an iSCSI name (RFC 3721): iqn., eui. or naa.
	iqnForm    = regexp.MustCompile(`^(iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9][A-Za-z0-9.:_-]*|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]{16}([0-9A-Fa-f]{16})?)$`)
	lunForm    = regexp.MustCompile(`^[0-9]{1,5}$`)
	rbdForm    = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){1,2}$`)
	exportForm = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	wordForm   = regexp.MustCompile(`^[A-Za-z0-9_+-]+$`)
)

// protocols of network disks.
func protocols() []string { return []string{"iscsi", "nbd", "rbd", "nfs", "http", "https"} }

func (c *specChecker) networkDisk(at string, d *NetworkDisk) {
	if d.Protocol == "" {
		if !c.partial {
			c.add(at+".protocol", "is missing; say "+strings.Join(protocols(), ", "))
		}
		return
	}
	c.networkHosts(at, d)
	c.networkName(at+".name", d)
	only := func(said bool, field, what string, protocols ...string) {
		if said && !slices.Contains(protocols, d.Protocol) {
			c.add(at+"."+field, fmt.Sprintf("%s is of %s, and this disk is %s; take it out", what, strings.Join(protocols, " and "), d.Protocol))
		}
	}
	only(d.Auth != nil, "auth", "a user with a secret", "iscsi", "rbd")
	only(d.TLS, "tls", "TLS that is chosen", "nbd")
	only(d.Initiator != "", "initiator", "an initiator's name", "iscsi")
	only(d.Query != "", "query", "a query", "http", "https")
	only(d.Snapshot != "", "snapshot", "a snapshot", "rbd")
	only(d.Identity != nil, "identity", "an identity", "nfs")
	if a := d.Auth; a != nil {
		if a.Username == "" && !c.partial {
			c.add(at+".auth.username", "is missing; say the user that the server knows")
		} else if a.Username != "" && !exportForm.MatchString(a.Username) {
			c.add(at+".auth.username", quoted(a.Username)+" is not a user's name")
		}
		c.secretRef(at+".auth.secretRef", a.SecretRef)
	}
	if i := d.Initiator; i != "" && !iqnForm.MatchString(i) {
		c.add(at+".initiator", quoted(i)+" is not an iSCSI name, such as iqn.2026-01.org.example:kvm1")
	}
	if q := d.Query; strings.ContainsFunc(q, unprintable) || strings.ContainsAny(q, " ?#") {
		c.add(at+".query", quoted(q)+` is not a query; write it without "?", and spaces as %20`)
	}
	if s := d.Snapshot; s != "" && !wordForm.MatchString(s) {
		c.add(at+".snapshot", quoted(s)+" is not a snapshot's name")
	}
	if d.Protocol == "nfs" && (d.Identity == nil || d.Identity.User == "") && !c.partial {
		c.add(at+".identity.user", "is missing; say whom the server is to take the host for, such as nobody: libvirt wants it")
	}
	if i := d.Identity; i != nil {
		for field, who := range map[string]string{"user": i.User, "group": i.Group} {
			if who != "" && !wordForm.MatchString(who) {
				c.add(at+".identity."+field, quoted(who)+" is no name and no number")
			}
		}
	}
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r > '~' }

func (c *specChecker) networkHosts(at string, d *NetworkDisk) {
	if len(d.Hosts) == 0 && !c.partial {
		c.add(at+".hosts", "is missing; say the server: [{name: storage.example.org}]")
	}
	if len(d.Hosts) > 1 && d.Protocol != "rbd" {
		c.add(at+".hosts[1]", d.Protocol+" has one server; take out the others")
	}
	for i, h := range d.Hosts {
		at := fmt.Sprintf("%s.hosts[%d]", at, i)
		_, address := netip.ParseAddr(h.Name)
		switch {
		case h.Name != "" && h.Socket != "":
			c.add(at+".socket", "cannot be said together with name; take one out")
		case h.Socket != "" && d.Protocol != "nbd":
			c.add(at+".socket", d.Protocol+" is not reached by a UNIX socket; say name")
		case h.Socket != "":
			c.hostPath(at+".socket", h.Socket)
			if h.Port != 0 {
				c.add(at+".port", "a UNIX socket has none; take it out")
			}
			if d.TLS {
				c.add(at+".socket", "a UNIX socket is not encrypted; take out tls")
			}
		case h.Name == "":
			c.add(at, "says neither name nor socket; say the server's name or address")
		case address != nil && !hostForm.MatchString(h.Name):
			c.add(at+".name", quoted(h.Name)+" is not the name or the address of a server; write an IPv6 address without brackets")
		}
		switch {
		case h.Port < 0 || h.Port > 65535:
			c.add(at+".port", "is not a port; say 1 to 65535")
		case h.Port != 0 && d.Protocol == "nfs":
			c.add(at+".port", "QEMU asks an nfs server for its port; take it out")
		}
	}
}

// networkName checks what the server calls the disk.
func (c *specChecker) networkName(at string, d *NetworkDisk) {
	name, wrong := d.Name, ""
	switch d.Protocol {
	case "iscsi":
		target, lun, said := strings.Cut(name, "/")
		if !iqnForm.MatchString(target) || said && !lunForm.MatchString(lun) {
			wrong = "write TARGET or TARGET/LUN, such as iqn.2026-01.org.example:disks/1"
		}
	case "nbd":
		if name == "" {
			return
		}
		if !exportForm.MatchString(name) {
			wrong = "write an export's name in printable letters"
		}
	case "rbd":
		if !rbdForm.MatchString(name) {
			wrong = "write POOL/IMAGE"
		}
	case "nfs":
		if !strings.HasPrefix(name, "/") || strings.ContainsFunc(name, unprintable) || strings.Contains(name, "/../") {
			wrong = "write the file's path on the server, such as /export/disk.img"
		}
	case "http", "https":
		if strings.TrimLeft(name, "/") == "" || strings.ContainsFunc(name, unprintable) || strings.ContainsAny(name, " ?#") {
			wrong = `write the path of its address, such as images/disk.iso, spaces as %20, and what follows "?" as query`
		}
	default:
		return // it is no protocol, which is said already
	}
	switch {
	case wrong == "" || name == "" && c.partial:
	case name == "":
		c.add(at, "is missing; "+wrong)
	default:
		c.add(at, quoted(name)+" is not what a server of "+d.Protocol+" has; "+wrong)
	}
}

// iso checks where the image of a CD comes from.
func (c *specChecker) iso(at string, i *ISO) {
	var set []string
	if i.Path != "" {
		set = append(set, "path")
		c.hostPath(at+".path", i.Path)
	}
	if i.Name != "" || i.Pool != "" {
		set = append(set, "name")
		switch {
		case i.Name == "" && !c.partial:
			c.add(at+".name", "is missing; say the volume of the pool")
		case strings.ContainsAny(i.Name, "/\n"):
			c.add(at+".name", quoted(i.Name)+" is not a volume's name")
		}
		if strings.ContainsAny(i.Pool, "/\n") {
			c.add(at+".pool", quoted(i.Pool)+" is not a pool's name")
		}
	}
	if i.Image != nil {
		set = append(set, "image")
		c.image(at+".image", i.Image)
		if i.Image.Path != "" {
			c.add(at+".image.path", "is a file of the host; say it as iso.path")
		}
		if i.Image.Format != "" {
			c.add(at+".image.format", "an ISO image has none; take it out")
		}
	}
	c.oneOf(at, set, []string{"path", "name", "image"}, c.partial)
}
