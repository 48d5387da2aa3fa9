package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/plan/adoption"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/resource"
	"github.com/gitvirt/gitvirt/runner"
)

// importOptions are the command's flags.
type importOptions struct {
	config, policyOut, dir, repoDir string
	overwrite                       bool
}

func importCommand() *cobra.Command {
	var o importOptions
	s := defaults()
	c := &cobra.Command{
		Use:   "import [DOMAIN…]",
		Short: "Write documents of the domains that this host has already",
		Long: `Import writes a config and a RunState for each of the domains that are named, or for all that are not gitvirt's yet, and
documents of the networks and the storage pools that they use. It changes nothing, neither in libvirt nor in git.

What it writes renders to what is there: the command proves it by the plan that the agent would make. Once the documents are
in the repository, the agent takes the domains over (their RunStates say adopt: true): all that changes is gitvirt's own record
in the domains' <metadata>. Nothing is restarted. What the template's words cannot say stands in domainXML.

Passwords are never written. A domain keeps the one that it has for as long as its documents say nothing of it.

The names that the repository has already are not taken twice: those of the clone around --dir, or with --repo-dir, which is for
printing, of the clone around that. Where neither is said, what is printed is not checked against any repository.

A domain whose name is no DNS label, a transient one, and one that documents would change are left out, and named with the
reason. The exit is 0 when all were written, and 2 when one was not.

Beside the documents, the command says which keys of the agent's file have to allow what the machines use of this host.`,
		Example: `  gitvirt import --dir ~/vms/kvm1
  gitvirt import web db --dir ~/vms/kvm1 --policy-out policy.yaml
  gitvirt import web --repo-dir ~/vms
  gitvirt import --config /etc/gitvirt/agent.yaml --dir . --overwrite`,
		RunE: func(c *cobra.Command, args []string) error {
			set, err := read(o.config)
			if err != nil {
				return err
			}
			given := c.Flags()
			for name, to := range map[string]*string{"libvirt": &set.Libvirt, "host": &set.Host, "fleet": &set.Fleet, "domain-type": &set.DomainType} {
				if given.Changed(name) {
					*to = given.Lookup(name).Value.String()
				}
			}
			if set.Host == "" {
				return errors.New("no name for this host: say --host, or host in the configuration file")
			}
			return runImport(c.Context(), set, o, args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.String("libvirt", s.Libvirt, "libvirt's URI")
	f.String("host", s.Host, "the name that this host goes by in run states")
	f.String("fleet", s.Fleet, "the name of all hosts together")
	f.String("domain-type", s.DomainType, "kvm, qemu, or auto: what the agent makes of a machine that does not say")
	f.StringVar(&o.config, "config", "", "the agent's configuration file (default "+defaultConfig+", if there is one)")
	f.StringVar(&o.dir, "dir", "", "the folder to write into, a file for each machine: in a clone of the repository; to stdout without it")
	f.StringVar(&o.repoDir, "repo-dir", "", "a folder of a clone of the repository, whose documents what is printed goes together with; instead of --dir")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace files that are there")
	f.StringVar(&o.policyOut, "policy-out", "", "write what the agent's file has to allow into this file, not to stderr")
	c.MarkFlagsMutuallyExclusive("dir", "repo-dir")
	return c
}

// importing is one run of the command.
type importing struct {
	set     settings
	options importOptions
	there   *repository
	run     *runner.Runner
	host    adoption.Host
	made    adoption.Documents
	errs    io.Writer
	failed  bool
	// files are what is to be written, in order; instances and hostsOwn, which are networks and pools, what they render to.
	files     []newFile
	instances []*render.Instance
	hostsOwn  []resource.Resource
}

func runImport(ctx context.Context, set settings, o importOptions, names []string, out, errs io.Writer) error {
	there, err := openRepository(o, set)
	if err != nil {
		return err
	}
	run, err := runner.New(runner.Options{URI: set.Libvirt, Logger: quiet()})
	if err != nil {
		return err
	}
	defer run.Close()
	world, err := run.Observe(ctx)
	if err != nil {
		return err
	}
	able, err := run.Capabilities(ctx)
	if err != nil {
		return err
	}
	if set.DomainType == "auto" {
		set.DomainType = able.DomainType
	}
	i := &importing{
		set: set, options: o, there: there, run: run, errs: errs,
		host: adoption.Host{Emulator: able.Emulator},
		made: adoption.Documents{Set: there.beside, Host: set.Host, Options: render.Options{Fleet: set.Fleet, DomainType: set.DomainType, CacheDir: set.cacheDir()}},
	}
	domains := i.chosen(world, names)
	if err := i.machines(ctx, domains); err != nil {
		return err
	}
	if err := i.resources(ctx); err != nil {
		return err
	}
	if err := i.write(out); err != nil {
		return err
	}
	if err := i.policy(); err != nil {
		return err
	}
	if i.failed {
		return exit(exitFailed)
	}
	return nil
}

// fail says why something is not imported, and goes on.
func (i *importing) fail(what string, err error) {
	i.failed = true
	fmt.Fprintf(i.errs, "gitvirt: cannot import %s: %s\n", what, err)
}

// chosen are the domains that are named, or all that are not gitvirt's.
func (i *importing) chosen(world plan.World, names []string) []plan.Domain {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(world.Domains), func(d plan.Domain) bool { return d.Meta() != nil })
	}
	var list []plan.Domain
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d := world.Domain(name)
		if d == nil {
			i.fail(name, errors.New("libvirt has no domain of this name"))
			continue
		}
		list = append(list, *d)
	}
	return list
}

// machines imports domains.
func (i *importing) machines(ctx context.Context, domains []plan.Domain) error {
	var asked error
	i.host.Capacity = func(pool, volume string) (int64, bool) {
		size, ok, err := i.run.Capacity(ctx, pool, volume)
		asked = errors.Join(asked, err)
		return size, ok
	}
	for _, d := range domains {
		file := d.Name + ".yaml"
		if err := i.there.mayWrite(file); err != nil {
			i.fail(d.Name, err)
			continue
		}
		if other := i.there.machine(d.Name, file); other != "" {
			i.fail(d.Name, fmt.Errorf("%s has this name already: take that out, or rename one of them", other))
			continue
		}
		m, err := adoption.Import(d, i.host, i.made)
		if asked != nil {
			return asked
		}
		if err != nil {
			i.fail(d.Name, err)
			continue
		}
		for _, kept := range m.Kept {
			fmt.Fprintf(i.errs, "%s: its documents do not say %s: the domain keeps it as it is. "+
				"To have it in the repository, encrypt it, and refer to it (secrets, and secret:NAME in domainXML)\n", d.Name, kept)
		}
		i.files = append(i.files, newFile{file, m.Text})
		i.instances = append(i.instances, m.Instance)
	}
	return nil
}

// used are the names of something in the domains that are imported.
func (i *importing) used(element, attr string) []string {
	var names []string
	for _, instance := range i.instances {
		devices := instance.Domain.Child("devices")
		if devices == nil {
			continue
		}
		for _, d := range devices.Children {
			if name := d.Child("source").Attr(attr); d.Name == element && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
