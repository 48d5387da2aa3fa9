package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/plan/adoption"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// resources imports the networks and the storage pools that the machines use.
func (i *importing) resources(ctx context.Context) error {
	if len(i.instances) == 0 {
		return nil
	}
	all, err := i.run.ObserveResources(ctx, func(plan.Resource) bool { return true })
	if err != nil {
		return err
	}
	named := i.used("interface", "network")
	i.each(adoption.Network, "networks", all, func(e plan.Resource, _ *domxml.Element) bool {
		return slices.Contains(named, e.Name)
	})
	files, inPool := i.used("disk", "file"), i.used("disk", "pool")
	i.each(adoption.Pool, "pools", all, func(e plan.Resource, xml *domxml.Element) bool {
		dir := xml.Child("target/path")
		return slices.Contains(inPool, e.Name) || dir != nil && slices.ContainsFunc(files, func(f string) bool { return path.Dir(f) == dir.Text })
	})
	return nil
}

// each imports those of a kind that are used, and that no document speaks of.
func (i *importing) each(kind resource.Kind, folder string, all []plan.Resource, uses func(plan.Resource, *domxml.Element) bool) {
	taken := map[string]bool{}
	for _, e := range all {
		if e.Kind != kind {
			continue
		}
		text := cmp.Or(e.Inactive, e.Live)
		xml, err := domxml.Parse(text)
		if err != nil {
			i.fail(fmt.Sprintf("the %s %s", kind, e.Name), fmt.Errorf("cannot read the XML that libvirt gives of it: %w", err))
			continue
		}
		if !uses(e, xml) || i.there.describes(kind, e.Name, i.set.Host) {
			continue
		}
		if !e.Persistent {
			i.fail(fmt.Sprintf("the %s %s", kind, e.Name), errors.New("it is transient: nothing of it is left once it stops"))
			continue
		}
		name := adoption.Name(e.Name, i.set.Host, func(name string) bool {
			d := i.there.set.Find(string(kind), name)
			return taken[name] || d != nil && d.File != i.there.below+folder+"/"+name+".yaml" || d == nil && i.there.mayWrite(folder+"/"+name+".yaml") != nil
		})
		taken[name] = true
		file := folder + "/" + name + ".yaml"
		if err := i.there.mayWrite(file); err != nil {
			i.fail(fmt.Sprintf("the %s %s", kind, e.Name), err)
			continue
		}
		document, made, err := adoption.ImportResource(e, name, i.made)
		if err != nil {
			i.fail(fmt.Sprintf("the %s %s", kind, e.Name), err)
			continue
		}
		i.files = append(i.files, newFile{file, document})
		i.hostsOwn = append(i.hostsOwn, made)
	}
}

// describes says whether a document speaks of a network or a pool of a host.
func (r *repository) describes(kind resource.Kind, name, host string) bool {
	of := func(s manifest.HostScope, libvirts string) bool {
		return libvirts == name && (s.HostSelector != nil || slices.Contains(s.Hosts, host))
	}
	if kind == adoption.Network {
		for _, n := range r.set.Networks {
			if of(n.Spec.HostScope, n.LibvirtName()) && !r.replaces(n.At.File) {
				return true
			}
		}
		return false
	}
	for _, p := range r.set.Pools {
		if of(p.Spec.HostScope, p.LibvirtName()) && !r.replaces(p.At.File) {
			return true
		}
	}
	return false
}
