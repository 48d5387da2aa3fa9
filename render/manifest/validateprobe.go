package manifest

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirt "kubevirt.io/api/core/v1"
)

// probeHostForm is a host name, an IPv4 or an IPv6 address.
var probeHostForm = regexp.MustCompile(`^[A-Za-z0-9:]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9:])?$`)

// probe checks a readiness probe. How often and how long are numbers, and have their bounds in a table.
func (c *specChecker) probe(at string, p *kubevirt.Probe) {
	if p == nil {
		return
	}
	var set []string
	if p.GuestAgentPing != nil {
		set = append(set, "guestAgentPing")
	}
	if p.Exec != nil {
		set = append(set, "exec")
		if (len(p.Exec.Command) == 0 || p.Exec.Command[0] == "") && !c.partial {
			c.add(at+".exec.command", "is missing; say the program in the guest, and its arguments")
		}
	}
	if t := p.TCPSocket; t != nil {
		set = append(set, "tcpSocket")
		c.probePort(at+".tcpSocket.port", t.Port)
		c.probeHost(at+".tcpSocket.host", t.Host)
	}
	if h := p.HTTPGet; h != nil {
		set = append(set, "httpGet")
		c.probePort(at+".httpGet.port", h.Port)
		c.probeHost(at+".httpGet.host", h.Host)
		if h.Path != "" && (!strings.HasPrefix(h.Path, "/") || strings.ContainsFunc(h.Path, func(r rune) bool { return r <= ' ' })) {
			c.add(at+".httpGet.path", quoted(h.Path)+" is not a path: begin it with \"/\", and write spaces as %20")
		}
	}
	c.oneOf(at, set, []string{"exec", "guestAgentPing", "httpGet", "tcpSocket"}, c.partial)
}

// probePort refuses names of ports, which only a cluster's containers have.
func (c *specChecker) probePort(at string, port intstr.IntOrString) {
	n := port.IntValue() // 0 for what is no number
	switch {
	case port == (intstr.IntOrString{}) && c.partial:
	case n < 1 || n > 65535:
		c.add(at, quoted(port.String())+" is not a port; say a number from 1 to 65535")
	}
}

func (c *specChecker) probeHost(at, host string) {
	if host != "" && !probeHostForm.MatchString(host) {
		c.add(at, quoted(host)+" is not a host; say a name or an address without a port")
	}
}

// commitForm is a commit as people write it.
var commitForm = regexp.MustCompile(`^[0-9a-fA-F]{7,40}$`)

// commit checks a pinned revision. A branch or a tag can be moved, and a machine would follow it though nobody changed its
// documents.
func (c *checker) commit(at, revision string) {
	if revision != "" && !commitForm.MatchString(revision) {
		c.add(at, quoted(revision)+" is not a commit: say its hash, or the first 7 digits of it or more (git rev-parse prints it); "+
			"branches and tags move, and are not followed")
	}
}
