package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	var d documentFlags
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Validate every document, for every host, as the agents would",
		Long: `Check reads all documents of a folder, completes every instance of every host, and says all that is wrong with
file, line, column and field. It exits with 0 when all is well, 1 when something is wrong, and 2 when it could not read.`,
		Example: `  gitvirt check
  gitvirt check team-a/
  gitvirt check --repo https://git.example.org/vms.git`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if c.Flags().Changed("repo") || c.Flags().Changed("dir") {
					return fmt.Errorf("say the folder once: as argument, or as --dir, or a --repo")
				}
				d.dir = args[0]
			}
			s, done, err := d.snapshot(c.Context(), "")
			if err != nil {
				return err
			}
			defer done()
			v, err := d.view(s, "")
			if err != nil {
				return err
			}
			for _, p := range v.Problems {
				fmt.Fprintln(c.OutOrStdout(), p)
			}
			if len(v.Problems) > 0 {
				return exit(exitDiffers)
			}
			fmt.Fprintf(c.OutOrStdout(), "%d configs, %d run states, %d flavours: all is well\n",
				len(v.Set.Configs), len(v.Set.RunStates), len(v.Set.Flavours))
			return nil
		},
	}
	d.bind(c)
	return c
}
