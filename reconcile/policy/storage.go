package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// ruleRemote is the rule that a disk on a server breaks which the agent's file does not name.
const ruleRemote = "remote-disk"

// remoteDisk judges a word of a disk on a server: as whole as the disk, because only all words together say where it is.
func (c *checker) remoteDisk(u use) {
	if u.value == "" {
		return
	}
	why, entry := "it is what a disk lies on, which policy.storage of the agent's file does not govern", ""
	if !strings.Contains(u.path, "backingStore") && c.device != nil {
		why, entry = c.server(c.device.Child("source"))
	}
	if before := len(c.found); why != "" {
		c.refuse(ruleRemote, u.at(), u.of, u.value, fmt.Sprintf("%s is storage elsewhere, which the host would connect to: %s", u, why))
		if len(c.found) > before {
			c.found[before].Entry = entry
		}
	}
}

// served are the protocols of which the agent's file says the servers.
var served = []string{"iscsi", "nbd", "rbd", "nfs", "http", "https"}

// server says why a source's servers may not be asked, empty when they may, and what policy.storage or policy.hostPaths has
// to have for the first of them, where that is enough.
func (c *checker) server(source *domxml.Element) (why, entry string) {
	if source == nil || !slices.Contains(served, source.Attr("protocol")) {
		return "its protocol is not one that policy.storage of the agent's file is for: say iscsi, nbd, rbd, nfs, http or https", ""
	}
	hosts := 0
	for _, h := range source.Children {
		if h.Name != "host" {
			continue
		}
		hosts++
		name, socket := h.Attr("name"), h.Attr("socket")
		switch transport := h.Attr("transport"); {
		case transport == "unix" && name == "" && socket != "":
			if why := c.outside(socket, c.policy.HostPaths); why != "" {
				return fmt.Sprintf("its socket %s %s; only what is below policy.hostPaths of the agent's file is allowed", limit(socket), why), path.Clean(socket)
			}
			continue
		case transport != "" && transport != "tcp" || socket != "":
			return fmt.Sprintf("%s is not a way to a server that policy.storage of the agent's file is for", limit(transport)), ""
		}
		if why, at := c.storageServer(h); why != "" {
			return why, literal(at)
		}
	}
	if hosts == 0 {
		return "it names no server: the host's own configuration would say it", ""
	}
	return "", ""
}

// storageServer says why a server of storage may not be asked, empty when it may, and how policy.storage would name it.
func (c *checker) storageServer(host *domxml.Element) (why, at string) {
	at = host.Attr("name")
	if port := host.Attr("port"); port != "" {
		at += ":" + port
	}
	return reach(c.policy.Storage, "policy.storage", host.Attr("name"), at), at
}

// literal is a name that is no pattern; empty for another.
func literal(name string) string {
	if strings.ContainsAny(name, `*?[\\`) {
		return ""
	}
	return name
}

func (c *checker) hasVolume(is func(render.Volume) bool) bool {
	return slices.ContainsFunc(c.instance.Volumes, is) || slices.ContainsFunc(c.instance.TemporaryVolumes, is)
}

// ignites says whether a file is the configuration that gitvirt makes for the instance's Ignition.
func (c *checker) ignites(file string) bool {
	return c.hasVolume(func(v render.Volume) bool { return v.Kind == render.VolumeIgnition && v.Path == file })
}

// onlyRead says whether a file is the image of one of the instance's CDs, which it only reads: one that gitvirt brings to the
// host, or one of the host's. Whether it may have the second, its volume says.
func (c *checker) onlyRead(u use) bool {
	if c.device == nil || u.path != "devices/disk/source" || u.attr != "file" || c.device.Attr("device") != "cdrom" {
		return false
	}
	return c.fetched(u.value) || c.hasVolume(func(v render.Volume) bool { return v.Kind == render.VolumeFile && v.ReadOnly && v.Path == u.value })
}
