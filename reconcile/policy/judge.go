package policy

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// judge runs the check of that name, which the table gives.
func (c *checker) judge(check string, u use) {
	switch check {
	case "":
	case "host-path", "filesystem", "loader", "memory-path", "graphics-socket":
		if u.value != "" && !(check == "host-path" && c.onlyRead(u)) {
			c.hostPath(check, u)
		}
	case "fwcfg-file":
		if u.value != "" && !c.ignites(u.value) {
			c.hostPath(check, u)
		}
	case "kernel":
		if u.value != "" && !c.fetched(u.value) {
			c.hostPath(check, u)
		}
	case "host-device":
		c.hostDevice(u)
	case "rng-backend":
		if u.value != "" && u.value != "/dev/urandom" && u.value != "/dev/random" && !c.hasDevice(u.value) {
			c.refuseDevice(check, u)
		}
	case "char-device":
		c.charDevice(u)
	case "char-device-file":
		c.charFile(u)
	case "network":
		c.listedName(check, u, c.policy.Networks, "policy.networks")
	case "bridge":
		c.listedName(check, u, c.policy.Bridges, "policy.bridges")
	case "pool":
		c.pool(u)
	case "pool-volume":
		c.poolVolume(u)
	case "disk-type":
		c.diskType(u)
	case "disk-format":
		c.diskFormat(u)
	case ruleRemote:
		c.remoteDisk(u)
	case ruleSecret:
		c.secret(u)
	case "secret-name":
		c.secretName(u)
	case "interface":
		c.interfaceType(u)
	case "hostdev":
		c.hostdev(u)
	case "hostdev-address":
		c.hostdevAddress(u)
	case "graphics-listen":
		if !loopback(u.value) {
			c.refuse(check, u.at(), u.of, u.value, fmt.Sprintf("%s is no address of the host alone, so that others could reach the screen", u))
		}
	case "word":
		if strings.ContainsFunc(u.value, notWord) {
			c.refuse(ruleName, u.at(), u.of, u.value, fmt.Sprintf("%s is no plain word: it is part of a file's name", u))
		}
	default:
		panic("policy: the table names the check " + check + ", which there is not")
	}
}

func notWord(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// loopback says whether an address is the host's own; an empty one is QEMU's usual, which is.
func loopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return address == "" || address == "localhost" || err == nil && ip.IsLoopback()
}

// matches says whether a name is one of the patterns.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

func (c *checker) listedName(rule string, u use, patterns []string, key string) {
	if !matches(u.value, patterns) {
		c.add(rule, u.at(), u.of, u.value, fmt.Sprintf("%s: %s is not in %s of the agent's file", u, limit(u.value), key))
	}
}

// own is the volume of the instance that a disk's source names; nil for one that gitvirt does not make for it.
func (c *checker) own(pool, file string) *render.Volume {
	for _, list := range [][]render.Volume{c.instance.Volumes, c.instance.TemporaryVolumes} {
		for n := range list {
			if v := &list[n]; v.Kind != render.VolumeThere && v.Pool != "" && v.Pool == pool && v.File == file {
				return v
			}
		}
	}
	return nil
}

// pool judges the pool of a source; which of its volumes may be had is pool-volume's.
func (c *checker) pool(u use) {
	of := slices.ContainsFunc(c.policy.Pools, func(p string) bool {
		p, _, _ = strings.Cut(p, "/")
		return matches(u.value, []string{p})
	})
	if !of {
		c.listedName("pool", u, c.policy.Pools, "policy.pools")
	}
}

// poolVolume refuses a volume that is not the instance's own: it may be another machine's disk.
func (c *checker) poolVolume(u use) {
	pool := u.of.Attr("pool")
	if c.own(pool, u.value) != nil {
		c.listedName("pool", use{u.path, "pool", u.of, pool}, c.policy.Pools, "policy.pools")
		return
	}
	name := pool + "/" + u.value
	if render.IsSeedName(u.value) {
		c.add(ruleSeed, u.at(), u.of, u.value, fmt.Sprintf("%s %s", u, ofASeed))
	} else if strings.Count(name, "/") != 1 {
		c.add("pool-volume", u.at(), u.of, u.value, fmt.Sprintf("%s is a path and no name of a volume: nothing allows that", u))
	} else if !matches(name, c.policy.Pools) {
		c.add("pool-volume", u.at(), u.of, u.value, fmt.Sprintf("%s is not a volume that gitvirt makes for this machine; "+
			"to allow it, put %s into policy.pools of the agent's file", u, limit(name)))
		c.found[len(c.found)-1].Entry = name
	}
}

func (c *checker) diskType(u use) {
	switch u.value {
	case "file", "block", "volume", "dir":
	case "network":
		c.remoteDisk(u)
	default:
		c.refuse("host-device", u.at(), u.of, u.value, fmt.Sprintf("%s gives the guest a device of the host", u))
	}
}

// diskFormat refuses a format that the image was not made with. What begins a raw image, its guest has written: as qcow2 it
// could name any file of the host as what it lies on.
func (c *checker) diskFormat(u use) {
	format := "raw"
	if source := c.device.Child("source"); source != nil {
		if v := c.own(source.Attr("pool"), source.Attr("volume")); v != nil {
			format = v.Format
		}
	}
	if u.value != format {
		c.refuse("disk-format", u.at(), u.of, u.value, fmt.Sprintf("%s: the image is %s, and in another format its guest could name files of the host in it", u, format))
	}
}

func (c *checker) interfaceType(u use) {
	switch u.value {
	case "network", "bridge", "direct", "hostdev", "null":
		return
	case "user":
		if c.policy.NoUserNetwork {
			c.add("interface", u.at(), u.of, u.value, fmt.Sprintf("%s: policy.userNetwork of the agent's file says false", u))
		}
		return
	}
	c.refuse("interface", u.at(), u.of, u.value, fmt.Sprintf("%s reaches a network of the host by a way that no other key of the policy governs", u))
}

// charDevice judges the type of a serial port, a console or a channel.
func (c *checker) charDevice(u use) {
	switch u.value {
	case "pty", "null", "vc", "spicevmc", "spiceport", "qemu-vdagent", "unix", "file", "dev", "pipe":
		return // of the last four the path counts
	}
	c.refuse("char-device", u.at(), u.of, u.value, fmt.Sprintf("%s connects the guest with something outside", u))
}

// charFile judges the file of a character device.
func (c *checker) charFile(u use) {
	kind := c.device.Attr("type")
	switch {
	case u.value == "":
	case kind == "pty" && u.attr == "path": // libvirt chooses it, whatever is said
	case kind == "dev" && u.attr == "path" && c.hasDevice(u.value):
	default:
		c.hostPath("char-device-file", u)
	}
}
