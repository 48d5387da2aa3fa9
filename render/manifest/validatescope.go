package manifest

import (
	"fmt"
	"strings"
)

// scope checks which hosts something is for.
func (c *checker) scope(s *HostScope) {
	switch {
	case len(s.Hosts) > 0 && s.HostSelector != nil:
		c.add("spec.hostSelector", "cannot be said together with hosts; take one out")
	case len(s.Hosts) == 0 && s.HostSelector == nil:
		c.add("spec.hosts", "is missing; say the names of hosts, or a hostSelector")
	case s.HostSelector != nil:
		c.selector("spec.hostSelector", s.HostSelector)
	}
	first := map[string]int{}
	for i, h := range s.Hosts {
		at := fmt.Sprintf("spec.hosts[%d]", i)
		c.hostName(at, h)
		if j, ok := first[h]; ok {
			c.add(at, fmt.Sprintf("duplicate host %s; hosts[%d] is it too", quoted(h), j))
		}
		first[h] = i
	}
}

// ownership checks what an object is known by.
func (c *checker) ownership(o *Ownership) {
	if n := o.Name; n != "" && (strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r == '/' }) || n[0] == '.' || strings.TrimSpace(n) != n || len(n) > 200) {
		c.add("spec.name", quoted(n)+" is not a name of libvirt's: no \"/\", no control characters, no dot first, no spaces around it, at most 200 letters")
	}
	if o.UUID != "" && !uuidForm.MatchString(o.UUID) {
		c.add("spec.uuid", quoted(o.UUID)+" is not a UUID")
	}
}
