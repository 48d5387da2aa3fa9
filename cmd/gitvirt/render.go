package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
)

func renderCommand() *cobra.Command {
	var d documentFlags
	var revision, output, domainType string
	var explain bool
	c := &cobra.Command{
		Use:   "render NAME",
		Short: "Show a completed instance, its domain's XML, or where each of its fields is from",
		Example: `  gitvirt render web
  gitvirt render web -o xml
  gitvirt render web --explain
  gitvirt render web --revision 3f2a9c1
  gitvirt render web --revision HEAD~1`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "yaml" && output != "xml" {
				return fmt.Errorf("-o %s: say yaml or xml", output)
			}
			s, done, err := d.snapshot(c.Context(), revision)
			if err != nil {
				return err
			}
			defer done()
			v, err := d.view(c.Context(), s, domainType)
			if err != nil {
				return err
			}
			o := d.scope(domainType).Options
			o.Revision = s.Commit
			i, err := find(v, args[0], o)
			if err != nil {
				return err
			}
			switch {
			case explain:
				return writeExplained(c.OutOrStdout(), s, v, i)
			case output == "xml":
				created, _ := domxml.Create(domxml.Redact(i.Domain))
				fmt.Fprint(c.OutOrStdout(), created)
				return nil
			}
			text, err := yaml.Marshal(status.Rendered(i))
			if err != nil {
				return fmt.Errorf("cannot write %s: %w", i.Name, err)
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	d.bind(c)
	f := c.Flags()
	f.StringVar(&revision, "revision", "", "as of this commit; HEAD, the branch, and ~N after a name are understood")
	f.StringVarP(&output, "output", "o", "yaml", "yaml: the instance, or xml: its domain as a new one is defined")
	f.StringVar(&domainType, "domain-type", "kvm", "kvm or qemu")
	f.BoolVar(&explain, "explain", false, "say of every field where its value is from")
	c.MarkFlagsMutuallyExclusive("explain", "output")
	return c
}

// find is the instance of that name; a config that runs nowhere is completed as if it ran.
func find(v reconcile.View, name string, o render.Options) (*render.Instance, error) {
	if n := slices.IndexFunc(v.Instances, func(i *render.Instance) bool { return i.Name == name }); n >= 0 {
		return v.Instances[n], nil
	}
	if why, ok := v.Broken[name]; ok {
		return nil, fmt.Errorf("cannot render %s: %s", name, why)
	}
	if v.Set.Configs[name] != nil {
		i, problems := v.Placement.Unplaced(name, o)
		if i == nil {
			return nil, fmt.Errorf("cannot render %s: %s", name, problems[0])
		}
		return i, nil
	}
	for _, p := range v.Problems {
		if p.Name == name {
			return nil, fmt.Errorf("cannot render %s: %s", name, p)
		}
	}
	return nil, fmt.Errorf("there is no config and no run state named %s", name)
}
