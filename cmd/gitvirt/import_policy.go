package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/renameio/v2"
	"go.yaml.in/yaml/v3"

	"github.com/gitvirt/gitvirt/reconcile"
	hostpolicy "github.com/gitvirt/gitvirt/reconcile/policy"
)

// policy says what the agent's file has to allow for the machines that were imported.
func (i *importing) policy() error {
	now, err := i.set.Policy.policy()
	if err != nil {
		return fmt.Errorf("cannot read the agent's configuration: %w", err)
	}
	next := now
	for _, instance := range i.instances {
		var left []hostpolicy.Refusal
		next, left = hostpolicy.Allowing(next, instance, reconcile.HostFiles{})
		for _, r := range left {
			fmt.Fprintf(i.errs, "%s: the agent's policy refuses it: %s\n", instance.Name, r)
		}
		i.failed = i.failed || len(left) > 0
	}
	for _, r := range i.hostsOwn {
		var why string
		if next, why = hostpolicy.AllowingResource(next, r, reconcile.HostFiles{}); why != "" {
			i.failed = true
			fmt.Fprintf(i.errs, "%s %s: the agent's policy refuses it: %s\n", r.Kind, r.Name, why)
		}
	}
	text := snippet(now, next)
	if text == nil {
		return nil
	}
	const why = "# What the machines that were imported use of this host. The agent's file has to allow it before they are adopted.\n"
	if i.options.policyOut != "" {
		if err := renameio.WriteFile(i.options.policyOut, append([]byte(why), text...), 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", i.options.policyOut, err)
		}
		return nil
	}
	_, err = fmt.Fprintf(i.errs, "%s%s", why, text)
	return err
}

// snippet is the section policy of an agent's file, with the lists that have to be longer than they are, in full; nil when
// there are none.
func snippet(now, next hostpolicy.Policy) []byte {
	section := &yaml.Node{Kind: yaml.MappingNode}
	add := func(to *yaml.Node, key string, value *yaml.Node) {
		k := &yaml.Node{}
		k.SetString(key)
		to.Content = append(to.Content, k, value)
	}
	list := func(to *yaml.Node, key string, was, is []string) {
		if slices.Equal(was, is) {
			return
		}
		is = slices.Clone(is)
		slices.Sort(is)
		value := &yaml.Node{Kind: yaml.SequenceNode}
		for _, entry := range is {
			item := &yaml.Node{}
			item.SetString(entry)
			value.Content = append(value.Content, item)
		}
		add(to, key, value)
	}
	list(section, "hostPaths", now.HostPaths, next.HostPaths)
	list(section, "networks", now.Networks, next.Networks)
	list(section, "bridges", now.Bridges, next.Bridges)
	list(section, "pools", now.Pools, next.Pools)
	list(section, "images", now.Images, next.Images)
	list(section, "hostDevices", now.HostDevices, next.HostDevices)
	list(section, "storage", now.Storage, next.Storage)
	if now.NoUserNetwork && !next.NoUserNetwork {
		value := &yaml.Node{}
		value.SetString("true")
		value.Tag = "!!bool"
		add(section, "userNetwork", value)
	}
	elements := &yaml.Node{Kind: yaml.MappingNode}
	if list(elements, "allow", now.Elements, next.Elements); len(elements.Content) > 0 {
		add(section, "domainXML", elements)
	}
	if len(section.Content) == 0 {
		return nil
	}
	whole := &yaml.Node{Kind: yaml.MappingNode}
	add(whole, "policy", section)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	// Nodes of strings can be written, and a buffer takes all.
	_ = e.Encode(whole)
	_ = e.Close()
	return b.Bytes()
}
