package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// fetch says why what a volume needs may not be fetched; empty when it may.
func (c *checker) fetch(f render.Fetch) string {
	if f.URL == "" {
		return c.registry(f.Image)
	}
	for _, text := range []string{f.URL, f.Checksums} {
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil {
			return "is at no URL"
		}
		why := ""
		if u.Scheme == "file" {
			if why = c.seed(u.Path); why == "" {
				why = c.outside(u.Path, append(slices.Clone(c.policy.Images), c.policy.HostPaths...))
			}
			if why != "" {
				why += "; only what is below policy.images or policy.hostPaths of the agent's file is allowed"
			}
		} else {
			why = c.registry(place(u))
		}
		if why != "" && text == f.Checksums {
			why = "has its checksum at " + limit(text) + ", which " + why
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// place is where a URL leads, as policy.images has it: HOST[:PORT]/PATH.
func place(u *url.URL) string { return strings.ToLower(u.Host) + path.Clean("/"+u.Path) }

// NamesImage says whether policy.images names a place, a registry's or a server's; "*" names none.
func (p Policy) NamesImage(at string) bool {
	host, _, _ := strings.Cut(at, "/")
	return slices.ContainsFunc(p.Images, func(entry string) bool {
		if strings.HasPrefix(entry, "/") || entry == "*" {
			return false
		}
		rest, ok := strings.CutPrefix(at, strings.TrimSuffix(entry, "/"))
		ok = ok && (rest == "" || strings.ContainsRune("/:@", rune(rest[0])))
		match, err := path.Match(entry, host)
		return ok || match && err == nil
	})
}

// registry says why an image's registry, or a server of images, may not be asked; empty when it may.
func (c *checker) registry(image string) string {
	host, _, _ := strings.Cut(image, "/")
	switch {
	case c.policy.NamesImage(image):
		return ""
	case !slices.Contains(c.policy.Images, "*"):
		return "is of a registry, repository or server that is not in policy.images of the agent's file"
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
		if why := reach(c.policy.Probes, "policy.probes", host); why != "" {
			c.found = append(c.found, Refusal{Rule: ruleProbe, Field: "readinessProbe", Value: host, Message: why})
		}
	}
}

// reach says why a host may not be asked, by the patterns that a key of the agent's file has; empty when it may. With is the host
// with its port, where there is one, which a pattern may name as well.
func reach(patterns []string, key, host string, with ...string) string {
	named := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return p == "*" })
	switch {
	case slices.ContainsFunc(append(with, host), func(name string) bool { return matches(name, named) }), !private(host) && len(named) < len(patterns):
		return ""
	case private(host):
		return fmt.Sprintf("%s is an address that only this host can reach: it has to be named in %s of the agent's file, where * is not enough", limit(host), key)
	}
	return fmt.Sprintf("%s is not in %s of the agent's file", limit(host), key)
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
