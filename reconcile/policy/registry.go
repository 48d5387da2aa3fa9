package policy

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// registry says why an image's registry may not be asked; empty when it may.
func (c *checker) registry(image string) string {
	host, _, _ := strings.Cut(image, "/")
	listed := slices.ContainsFunc(c.policy.Images, func(entry string) bool {
		if strings.HasPrefix(entry, "/") || entry == "*" {
			return false
		}
		rest, ok := strings.CutPrefix(image, entry)
		ok = ok && (rest == "" || strings.ContainsRune("/:@", rune(rest[0])))
		match, err := path.Match(entry, host)
		return ok || match && err == nil
	})
	switch {
	case listed:
		return ""
	case !slices.Contains(c.policy.Images, "*"):
		return "is of a registry or repository that is not in policy.images of the agent's file"
	case private(host):
		return fmt.Sprintf("is at an address that only this host can reach: %s has to be named in policy.images of the agent's file, where * is not enough", limit(host))
	}
	return ""
}

// probes judges where the agent is to connect to, to find out whether a guest is up.
func (c *checker) probes() {
	r := c.instance.Readiness()
	if r.Check != render.CheckTCP && r.Check != render.CheckHTTP {
		return
	}
	hosts := []string{r.Host}
	if r.Host == "" {
		hosts = nil
		for _, a := range r.Addresses {
			hosts = append(hosts, a.String())
		}
	}
	for _, host := range hosts {
		named := slices.DeleteFunc(slices.Clone(c.policy.Probes), func(p string) bool { return p == "*" })
		switch {
		case matches(host, named), !private(host) && len(named) < len(c.policy.Probes):
			continue
		case private(host):
			c.found = append(c.found, Refusal{Rule: ruleProbe, Field: "readinessProbe", Value: host, Message: fmt.Sprintf(
				"%s is an address that only this host can reach: it has to be named in policy.probes of the agent's file, where * is not enough", limit(host))})
		default:
			c.found = append(c.found, Refusal{Rule: ruleProbe, Field: "readinessProbe", Value: host, Message: fmt.Sprintf(
				"%s is not in policy.probes of the agent's file", limit(host))})
		}
	}
}

// private says whether a registry's name is an address of the host itself, or of its link, where clouds tell a machine its
// secrets. Names of numbers alone are addresses to some resolvers.
func private(registry string) bool {
	host := registry
	if strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host[1:], "]")
	} else if name, _, ok := strings.Cut(host, ":"); ok && strings.Count(host, ":") == 1 {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap().WithZone("")
		return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return host == "localhost" || last == "localhost" || last == "internal" || last == "" || last[0] >= '0' && last[0] <= '9'
}
