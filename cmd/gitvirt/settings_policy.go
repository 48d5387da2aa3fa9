package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	hostpolicy "github.com/gitvirt/gitvirt/reconcile/policy"
)

// policy is what documents may have of this host; only the file has it. A list that is left out has its default, and an
// empty one allows nothing.
type policy struct {
	HostPaths   []string  `yaml:"hostPaths"`
	Networks    *[]string `yaml:"networks"`
	UserNetwork *bool     `yaml:"userNetwork"`
	Bridges     []string  `yaml:"bridges"`
	Pools       *[]string `yaml:"pools"`
	Images      *[]string `yaml:"images"`
	Probes      *[]string `yaml:"probes"`
	Storage     []string  `yaml:"storage"`
	HostDevices []string  `yaml:"hostDevices"`
	Limits      limits    `yaml:"limits"`
	DomainXML   domainXML `yaml:"domainXML"`
}

type limits struct {
	VM   ceiling `yaml:"vm"`
	Host ceiling `yaml:"host"`
}

// ceiling bounds a machine, or all of a host's. Amounts are Kubernetes' quantities.
type ceiling struct {
	CPUs   *int64 `yaml:"cpus"`
	Memory string `yaml:"memory"`
	Disk   string `yaml:"disk"`
}

type domainXML struct {
	Allow []string `yaml:"allow"`
}

// policy is the section as it is applied.
func (p policy) policy() (hostpolicy.Policy, error) {
	out := hostpolicy.Default()
	out.HostPaths, out.Bridges, out.HostDevices, out.Elements, out.Storage = p.HostPaths, p.Bridges, p.HostDevices, p.DomainXML.Allow, p.Storage
	for _, list := range []struct {
		said *[]string
		to   *[]string
	}{{p.Networks, &out.Networks}, {p.Pools, &out.Pools}, {p.Images, &out.Images}, {p.Probes, &out.Probes}} {
		if list.said != nil {
			*list.to = *list.said
		}
	}
	out.NoUserNetwork = p.UserNetwork != nil && !*p.UserNetwork
	var errs []error
	out.VM = p.Limits.VM.limits("policy.limits.vm", &errs)
	out.Host = p.Limits.Host.limits("policy.limits.host", &errs)
	bad := func(key, entry, why string) {
		errs = append(errs, fmt.Errorf("policy.%s: %q %s", key, entry, why))
	}
	for _, p := range out.HostPaths {
		if !absolute(p) {
			bad("hostPaths", p, `is no folder's path: say it from "/", without ".." and without "*"`)
		}
	}
	for key, patterns := range map[string][]string{"networks": out.Networks, "bridges": out.Bridges, "pools": out.Pools, "images": out.Images, "probes": out.Probes, "storage": out.Storage} {
		for _, entry := range patterns {
			_, err := path.Match(entry, "")
			switch {
			case err != nil || entry == "":
				bad(key, entry, `is no pattern: say a name, or one with "*"`)
			case strings.HasPrefix(entry, "/") && (key != "images" || !absolute(entry)):
				bad(key, entry, `is a path, and names are wanted`)
			}
		}
	}
	for _, d := range out.HostDevices {
		if d == "" || strings.HasPrefix(d, "/") && !absolute(d) {
			bad("hostDevices", d, "is no device: say a PCI address as 0000:03:00.0, a USB vendor and product as 1d6b:0002, the UUID of a mediated device, or a file below /dev")
		}
	}
	for _, e := range out.Elements {
		if e == "" || strings.HasPrefix(e, "/") || strings.HasPrefix(e, "domain/") || strings.ContainsAny(e, " <>") {
			bad("domainXML.allow", e, `is no element's path: say it from below <domain>, as devices/emulator or devices/tpm/backend@type=passthrough, or "*"`)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out, errors.Join(errs...)
}

func absolute(p string) bool {
	return strings.HasPrefix(p, "/") && (path.Clean(p) == strings.TrimSuffix(p, "/") || p == "/") && !strings.ContainsAny(p, "*\x00\n")
}

func (c ceiling) limits(key string, errs *[]error) hostpolicy.Limits {
	var out hostpolicy.Limits
	if c.CPUs != nil {
		if out.CPUs = *c.CPUs; out.CPUs < 1 {
			*errs = append(*errs, fmt.Errorf("%s.cpus: %d: say 1 or more", key, out.CPUs))
		}
	}
	for _, f := range []struct {
		name, text string
		to         *int64
	}{{"memory", c.Memory, &out.Memory}, {"disk", c.Disk, &out.Disk}} {
		if f.text == "" {
			continue
		}
		if len(f.text) > 32 || strings.ContainsAny(f.text, "e") {
			// An exponent of many digits takes the parser minutes.
			*errs = append(*errs, fmt.Errorf("%s.%s: %q is no amount: say one as 64Gi", key, f.name, f.text))
			continue
		}
		q, err := resource.ParseQuantity(f.text)
		if err != nil || q.Sign() <= 0 {
			*errs = append(*errs, fmt.Errorf("%s.%s: %q is no amount: say one as 64Gi", key, f.name, f.text))
			continue
		}
		*f.to = q.Value()
	}
	return out
}
