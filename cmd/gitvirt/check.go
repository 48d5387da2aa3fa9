package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render/manifest"
)

func checkCommand() *cobra.Command {
	var d documentFlags
	var compat bool
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Validate every document, for every host, as the agents would",
		Long: `Check reads all documents of a folder, completes every instance of every host, and says all that is wrong with
file, line, column and field. With --config it says too what the policy of that agent's file refuses. It exits with 0 when all is well, 1 when something is wrong, and 2 when it could not read.`,
		Example: `  gitvirt check
  gitvirt check team-a/
  gitvirt check --compat --default-host kvm1 manifests/
  gitvirt check --repo https://git.example.org/vms.git`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if c.Flags().Changed("repo") || c.Flags().Changed("dir") {
					return fmt.Errorf("say the folder once: as argument, or as --dir, or a --repo")
				}
				d.dir = args[0]
			}
			// A check ends soon, and holds on to most of what it reads: collecting garbage is mostly in vain.
			debug.SetGCPercent(400)
			s, done, err := d.snapshot(c.Context(), "")
			if err != nil {
				return err
			}
			defer done()
			v, err := d.view(c.Context(), s, "")
			if err != nil {
				return err
			}
			refused, err := d.refused(s, v)
			if err != nil {
				return err
			}
			v.Problems = append(v.Problems, refused...)
			if compat {
				return writeCompat(c.OutOrStdout(), v)
			}
			for _, p := range v.Problems {
				fmt.Fprintln(c.OutOrStdout(), p)
			}
			for _, w := range v.Set.Warnings {
				fmt.Fprintln(c.OutOrStdout(), "warning:", w)
			}
			for _, u := range v.Unread {
				fmt.Fprintln(c.OutOrStdout(), "warning:", u)
			}
			if len(v.Problems) > 0 {
				return exit(exitDiffers)
			}
			fmt.Fprintln(c.OutOrStdout(), tally(v)+": all is well")
			return nil
		},
	}
	d.bind(c)
	c.Flags().BoolVar(&compat, "compat", false, "say for each of KubeVirt's manifests whether it runs here")
	return c
}

// tally counts what there is.
func tally(v reconcile.View) string {
	var parts []string
	for _, k := range []struct{ kind, one, many string }{
		{manifest.KindConfig, "config", "configs"}, {manifest.KindRunState, "run state", "run states"}, {manifest.KindGroup, "group", "groups"},
		{manifest.KindFlavour, "flavour", "flavours"}, {manifest.KindPreset, "preset", "presets"}, {manifest.KindHost, "host", "hosts"},
		{manifest.KindNetwork, "network", "networks"}, {manifest.KindStorage, "storage pool", "storage pools"},
	} {
		if n := v.Set.Count(k.kind); n == 1 {
			parts = append(parts, "1 "+k.one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	if len(parts) == 0 {
		return "no documents"
	}
	return strings.Join(parts, ", ")
}
