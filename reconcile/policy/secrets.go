package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// ruleSecret is the rule that a secret breaks which is not the machine's.
const ruleSecret = "libvirt-secret"

// secret judges a <secret>, by which a domain names one that libvirt keeps. The document does not need to know its value: with
// the name of another machine's, or of the host's own storage, it would have what that opens.
func (c *checker) secret(u use) {
	for _, name := range []string{"uuid", "usage"} {
		if value := u.of.Attr(name); value != "" {
			c.secretName(use{path: u.path, attr: name, of: u.of, value: value})
		}
	}
}

// secretName judges what names a secret. A document's secretRef has become the UUID of the secret that gitvirt makes of it.
func (c *checker) secretName(u use) {
	own := u.attr != "usage" && slices.ContainsFunc(c.instance.Secrets, func(s render.Secret) bool { return s.UUID == u.value })
	switch {
	case own || u.value == "":
	case u.attr == "usage" && strings.HasPrefix(u.value, render.UsagePrefix):
		c.add(ruleSecret, u.at(), u.of, u.value, fmt.Sprintf("%s is a secret that gitvirt keeps for a machine: say secret:NAME, with a secretRef of that name in secrets; nothing allows it", u))
	case !c.named(u):
		c.add(ruleSecret, u.at(), u.of, u.value, fmt.Sprintf("%s is a secret of the host's libvirt, which gitvirt does not make for this machine: "+
			"say secret:NAME, with a secretRef of that name in secrets; to allow it, put %s into policy.domainXML.allow of the agent's file", u, limit(u.at()+"="+u.value)))
	}
}

// named says whether the agent's file lists a secret by itself. Who allows network disks as a whole does not give the host's
// secrets away with them.
func (c *checker) named(u use) bool {
	return slices.ContainsFunc(c.policy.Elements, func(entry string) bool {
		return entry == "*" || entry == u.path || entry == u.at() || entry == u.at()+"="+u.value
	})
}

// strayed looks for secrets in what the table does not know. Where the agent's file allows that, the rest of it is free.
func (c *checker) strayed(e *domxml.Element, path string) {
	for _, child := range e.Children {
		at := below(path, child.Name)
		if child.Name == "secret" {
			c.secret(use{path: at, of: child})
		}
		c.strayed(child, at)
	}
}

// ruleSeed is the rule that a seed breaks which is another machine's.
const ruleSeed = "seed"

const ofASeed = "is a seed that gitvirt makes for a machine: it may hold secrets, and nothing allows it"

// seed says why a file cannot be had that holds what a machine is set up with; empty when it is none. Such files lie among
// the images of the host's pools, and may have passwords and keys in them.
func (c *checker) seed(p string) string {
	real, err := c.files.Resolve(p)
	if err == nil && (render.IsSeedName(path.Base(real)) || render.IsSeedName(path.Base(p))) {
		return ofASeed
	}
	return ""
}
