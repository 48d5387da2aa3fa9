package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
	"github.com/gitvirt/gitvirt/render/secret"
)

// Resources are the networks and storage pools of a host.
type Resources struct {
	// List is sorted by kind and name.
	List []resource.Resource
	// Broken are those that are left as they are, by kind and name (Network/lan), with why.
	Broken map[string]string
	// Problems are of their documents, and of instances that want the same address.
	Problems []manifest.Problem
}

// Resources renders the networks and pools of a host. Instances are those on the host: their fixed addresses become DHCP
// hosts.
func (p *Placement) Resources(host string, instances []*Instance, o Options) Resources {
	r := resources{p: p, o: o, out: Resources{Broken: map[string]string{}}, first: map[string]*manifest.Header{}}
	var networks []*manifest.HostNetwork
	for _, name := range slices.Sorted(maps.Keys(p.set.Networks)) {
		if n := p.set.Networks[name]; p.covers(n.Spec.HostScope, host) && r.alone(resource.Network, n.LibvirtName(), &n.Header) {
			networks = append(networks, n)
		}
	}
	networks = r.apart(networks)
	leases := r.leases(networks, instances)
	for _, n := range networks {
		of, bad := resource.OfNetwork(n, o.Fleet, leases[n.LibvirtName()])
		r.add(of, &n.Header, bad)
	}
	folders := map[string]*manifest.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.set.Pools)) {
		pool := p.set.Pools[name]
		if !p.covers(pool.Spec.HostScope, host) || !r.alone(resource.Pool, pool.LibvirtName(), &pool.Header) {
			continue
		}
		if path := pool.Spec.Path; path != "" && pool.PoolType() != "iscsi" && pool.PoolType() != "scsi" && pool.PoolType() != "mpath" && pool.PoolType() != "disk" {
			if other := folders[path]; other != nil {
				r.fail(resource.Pool, pool.LibvirtName(), &pool.Header, "spec.path", fmt.Sprintf("%s is the folder of the StoragePool %s too (%s): one folder is one pool", path, other.Metadata.Name, placeOf(other)))
				continue
			}
			folders[path] = &pool.Header
		}
		of, bad := resource.OfPool(pool, o.Fleet)
		if of.Secret != nil && bad == nil {
			token, err := p.poolSecret(of, o)
			var locked errLocked
			switch {
			case errors.As(err, &locked):
				r.out.Broken[string(resource.Pool)+"/"+of.Name] = err.Error()
				continue
			case err != nil:
				bad = &manifest.FieldProblem{Field: "spec.source.auth.secretRef", Message: err.Error()}
			}
			of.Token = token
		}
		r.add(of, &pool.Header, bad)
	}
	for key := range r.out.Broken {
		r.out.List = slices.DeleteFunc(r.out.List, func(x resource.Resource) bool { return string(x.Kind)+"/"+x.Name == key })
	}
	return r.out
}

// ResourceHosts are the hosts that a Network or a StoragePool names, and those that have a document, sorted.
func (p *Placement) ResourceHosts() []string {
	hosts := map[string]bool{}
	for name := range p.set.Hosts {
		hosts[name] = true
	}
	for _, n := range p.set.Networks {
		for _, h := range n.Spec.Hosts {
			hosts[h] = true
		}
	}
	for _, pool := range p.set.Pools {
		for _, h := range pool.Spec.Hosts {
			hosts[h] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// covers says whether something is for a host.
func (p *Placement) covers(s manifest.HostScope, host string) bool {
	if s.HostSelector != nil {
		return slices.Contains(p.selected(s.HostSelector), host)
	}
	return slices.Contains(s.Hosts, host)
}

type resources struct {
	p     *Placement
	o     Options
	out   Resources
	first map[string]*manifest.Header
}

func (r *resources) add(of resource.Resource, h *manifest.Header, bad *manifest.FieldProblem) {
	if bad != nil {
		r.fail(of.Kind, of.Name, h, bad.Field, bad.Message)
		return
	}
	r.out.List = append(r.out.List, of)
}

func (r *resources) fail(kind resource.Kind, name string, h *manifest.Header, field, message string) {
	r.out.Broken[string(kind)+"/"+name] = message
	r.out.Problems = append(r.out.Problems, h.Problem(field, message))
}

// alone reports two documents of one name of libvirt's on a host: which is meant cannot be told.
func (r *resources) alone(kind resource.Kind, name string, h *manifest.Header) bool {
	key := string(kind) + "/" + name
	other := r.first[key]
	if other == nil {
		r.first[key] = h
		return true
	}
	r.fail(kind, name, h, "spec.name", fmt.Sprintf("the %s %s (%s) has the name %s on the same host: give one of them another", kind, other.Metadata.Name, placeOf(other), name))
	return false
}

func placeOf(h *manifest.Header) string { return fmt.Sprintf("%s:%d", h.At.File, h.At.Line) }

// apart reports networks of a host with the same bridge, or with subnets that overlap. The later one is left as it is.
func (r *resources) apart(networks []*manifest.HostNetwork) []*manifest.HostNetwork {
	var kept []*manifest.HostNetwork
	for _, n := range networks {
		field, why := "", ""
		for _, o := range kept {
			if n.OwnBridge() && o.OwnBridge() && bridgeOf(n) != "" && bridgeOf(n) == bridgeOf(o) {
				field, why = "spec.bridge.name", fmt.Sprintf("%s is the bridge of the Network %s too (%s): give one of them another", bridgeOf(n), o.Metadata.Name, placeOf(&o.Header))
			}
			for i, a := range n.Spec.Addresses {
				for _, b := range o.Spec.Addresses {
					if netip.MustParsePrefix(a.Address).Overlaps(netip.MustParsePrefix(b.Address)) { // they were checked when they were read
						field = fmt.Sprintf("spec.addresses[%d].address", i)
						why = fmt.Sprintf("%s overlaps with %s of the Network %s (%s) on the same host", a.Address, b.Address, o.Metadata.Name, placeOf(&o.Header))
					}
				}
			}
		}
		if why != "" {
			r.fail(resource.Network, n.LibvirtName(), &n.Header, field, why)
			continue
		}
		kept = append(kept, n)
	}
	return kept
}

func bridgeOf(n *manifest.HostNetwork) string {
	if n.Spec.Bridge == nil {
		return ""
	}
	return n.Spec.Bridge.Name
}

// poolSecret opens what a pool logs in by.
func (p *Placement) poolSecret(of resource.Resource, o Options) (string, error) {
	text := p.set.Text
	if p.sealed != nil {
		text = p.sealed
	}
	f, err := findSecret(Input{Text: text}, o, manifest.SecretAt{Field: "spec.source.auth.secretRef", Ref: of.Secret})
	if err != nil || f.sealed {
		return "", err
	}
	if of.XML.Child("source/auth").Attr("type") != "ceph" {
		return f.token, nil
	}
	raw, err := base64.StdEncoding.DecodeString(string(f.value.Bytes()))
	if err != nil {
		return "", errLocked{errors.New("the secret is no key of Ceph's: it is Base64, as \"ceph auth get-key\" prints it")}
	}
	return o.Secrets.Token(secret.NewValue(raw)), nil
}
