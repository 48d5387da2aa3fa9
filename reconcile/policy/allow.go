package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// Allowing is a policy that allows an instance all that one refuses it, as little more as can be said, and what no key of the
// agent's file allows, or only a larger ceiling.
func Allowing(p Policy, i *render.Instance, files Resolver) (Policy, []Refusal) {
	p = p.clone()
	for {
		found := Check(p, i, files).Refusals
		var left []Refusal
		some := false
		for _, r := range found {
			if p.allow(r) {
				some = true
			} else {
				left = append(left, r)
			}
		}
		if !some {
			return p, left
		}
	}
}

func (p Policy) clone() Policy {
	for _, list := range []*[]string{&p.HostPaths, &p.Networks, &p.Bridges, &p.Pools, &p.Images, &p.Probes, &p.HostDevices, &p.Storage, &p.Elements} {
		*list = slices.Clone(*list)
	}
	return p
}

// allow adds what a refusal asks for, and says whether that is more than there was.
func (p *Policy) allow(r Refusal) bool {
	add := func(list *[]string, entry string) bool {
		if entry == "" || slices.Contains(*list, entry) {
			return false
		}
		*list = append(*list, entry)
		return true
	}
	switch r.Rule {
	case "host-path", "filesystem", "loader", "fwcfg-file", "memory-path", "graphics-socket", "kernel", "char-device-file":
		return add(&p.HostPaths, strings.TrimSuffix(r.Value, "/"))
	case ruleImage:
		return add(&p.Images, r.Value)
	case "pool":
		return add(&p.Pools, r.Value)
	case "pool-volume":
		return add(&p.Pools, r.Entry)
	case ruleRemote:
		switch {
		case strings.HasPrefix(r.Entry, "/"):
			return add(&p.HostPaths, r.Entry)
		case r.Entry != "":
			return add(&p.Storage, r.Entry)
		}
		return add(&p.Elements, r.element())
	case "network":
		return add(&p.Networks, r.Value)
	case "bridge":
		return add(&p.Bridges, r.Value)
	case "interface":
		if r.Value == "user" && p.NoUserNetwork {
			p.NoUserNetwork = false
			return true
		}
		return add(&p.Elements, r.element())
	case "host-device", "rng-backend":
		if r.Path != "" && !strings.HasSuffix(r.Path, "@type") {
			return add(&p.HostDevices, r.Value)
		}
		return r.Path == "" && add(&p.HostDevices, r.Value) || add(&p.Elements, r.element())
	case ruleSeed, ruleRecord, ruleProbe, ruleVMCPUs, ruleVMMemory, ruleVMDisk:
		return false
	}
	return add(&p.Elements, r.element())
}

// element is the entry of policy.domainXML.allow that lifts a refusal; as refuse says it.
func (r Refusal) element() string {
	path := cmp.Or(r.Path, "domain")
	if r.Value != "" && strings.Contains(path, "@") {
		return path + "=" + r.Value
	}
	return path
}
