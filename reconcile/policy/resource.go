package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
)

// CheckResource says why a host may not have a network or a storage pool of the documents'; empty when it may. What is judged is
// what libvirt would be given, so that it makes no difference in which words it was said.
func CheckResource(p Policy, r resource.Resource, files Resolver) string {
	c := &checker{policy: p, files: files}
	if r.Kind == resource.Pool {
		return c.poolRule(r)
	}
	return c.networkRule(r)
}

// listed says why a name is not allowed; empty when it is.
func listed(what, name string, patterns []string, key string) string {
	if matches(name, patterns) {
		return ""
	}
	return fmt.Sprintf("%s %s is not in %s of the agent's file", what, limit(name), key)
}

func first(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// known are the elements of a network, and of a pool, that this package knows the reach of. Others need policy.domainXML.allow to
// name them, as network/NAME and pool/NAME.
func knownElements(root string) []string {
	if root == "pool" {
		return []string{"name", "uuid", "source", "target", "capacity", "allocation", "available"}
	}
	return []string{"name", "uuid", "forward", "bridge", "mtu", "mac", "domain", "dns", "bandwidth", "vlan", "port", "ip", "route",
		"virtualport", "portgroup", "title", "description"}
}

// foreign says why an element is not allowed that can reach anywhere, such as dnsmasq's own options, of which some run programs.
func (c *checker) foreign(root *domxml.Element) string {
	for _, e := range root.Children {
		path := root.Name + "/" + e.Name
		if !slices.Contains(knownElements(root.Name), e.Name) && !slices.Contains(c.policy.Elements, "*") && !slices.Contains(c.policy.Elements, path) {
			return fmt.Sprintf("<%s> can reach beyond the %s: it is not in policy.domainXML.allow of the agent's file, as %s", e.Name, root.Name, path)
		}
	}
	return ""
}

func (c *checker) networkRule(r resource.Resource) string {
	if why := first(listed("the network", r.Name, c.policy.Networks, "policy.networks"), c.foreign(r.XML)); why != "" {
		return why
	}
	if b := r.XML.Child("bridge"); b != nil && !resource.Managed(r.XML) {
		if why := listed("the host's bridge", b.Attr("name"), c.policy.Bridges, "policy.bridges"); why != "" {
			return why
		}
	}
	if f := r.XML.Child("forward"); f != nil {
		if why := c.forwardRule(f); why != "" {
			return why
		}
	}
	for _, e := range r.XML.Children {
		tftp := e.Child("tftp")
		if e.Name != "ip" || tftp == nil {
			continue
		}
		if why := c.outside(tftp.Attr("root"), c.policy.HostPaths); why != "" {
			return fmt.Sprintf("the folder %s, which TFTP would give to every guest, %s; only what is below policy.hostPaths of the agent's file is allowed", limit(tftp.Attr("root")), why)
		}
	}
	return ""
}

// forwardRule judges the host's devices that a network is connected by.
func (c *checker) forwardRule(f *domxml.Element) string {
	if dev := f.Attr("dev"); dev != "" {
		if why := listed("the host's device", dev, c.policy.Bridges, "policy.bridges"); why != "" {
			return why
		}
	}
	for _, e := range f.Children {
		switch e.Name {
		case "interface":
			if why := listed("the host's device", e.Attr("dev"), c.policy.Bridges, "policy.bridges"); why != "" {
				return why
			}
		case "nat":
		default: // the functions of a device, given to guests
			if !slices.Contains(c.policy.HostDevices, "*") {
				return fmt.Sprintf("<%s> in <forward> gives guests devices of the host: policy.hostDevices of the agent's file has to be [\"*\"]", e.Name)
			}
		}
	}
	return ""
}

func (c *checker) poolRule(r resource.Resource) string {
	if why := first(listed("the storage pool", r.Name, c.policy.Pools, "policy.pools"), c.foreign(r.XML)); why != "" {
		return why
	}
	if target := r.XML.Child("target/path"); target != nil {
		inDev := target.Text == "/dev" || strings.HasPrefix(target.Text, "/dev/") && unclean(target.Text) == ""
		folder := slices.Contains([]string{"dir", "fs", "netfs"}, r.XML.Attr("type"))
		if why := c.outside(target.Text, c.policy.HostPaths); why != "" && (folder || !inDev) {
			return fmt.Sprintf("the folder %s %s; only what is below policy.hostPaths of the agent's file is allowed", limit(target.Text), why)
		}
	}
	if why := c.poolSecret(r); why != "" {
		return why
	}
	source := r.XML.Child("source")
	remote := false
	for _, e := range children(source) {
		if e.Name == "host" {
			remote = true
			if why, _ := c.storageServer(e); why != "" {
				return why
			}
		}
	}
	for _, e := range children(source) {
		switch {
		case e.Name == "device" && !remote && !c.hasDevice(e.Attr("path")):
			return fmt.Sprintf("the host's device %s is not in policy.hostDevices of the agent's file", limit(e.Attr("path")))
		case e.Name == "adapter" && !slices.Contains(c.policy.HostDevices, "*"):
			return "a host bus adapter gives all that is on it: policy.hostDevices of the agent's file has to be [\"*\"]"
		}
	}
	switch kind := r.XML.Attr("type"); kind {
	case "mpath", "logical", "zfs", "scsi":
		// What the name stands for is a device of the host's, too.
		if len(source.All("device")) == 0 && !slices.Contains(c.policy.HostDevices, "*") {
			return fmt.Sprintf("a pool of type %s is made of the host's devices: say them in source.devices, and in policy.hostDevices of the agent's file, or say [\"*\"] there", kind)
		}
	}
	return ""
}

// secretElement is how policy.domainXML.allow names a secret of libvirt's that a pool logs in by.
const secretElement = "pool/source/auth/secret"

// poolSecret says why a pool may not log in by a secret: one that libvirt has already may be somebody else's.
func (c *checker) poolSecret(r resource.Resource) string {
	e := r.XML.Child("source/auth/secret")
	if e == nil || slices.Contains(c.policy.Elements, "*") || slices.Contains(c.policy.Elements, secretElement) {
		return ""
	}
	if r.Secret != nil && e.Attr("usage") == "" && e.Attr("uuid") == resource.SecretUUID(r.UUID) {
		return ""
	}
	return fmt.Sprintf("a secret that libvirt has already may be another's: say secretRef, or have policy.domainXML.allow of the agent's file name %s", secretElement)
}

func children(e *domxml.Element) []*domxml.Element {
	if e == nil {
		return nil
	}
	return e.Children
}
