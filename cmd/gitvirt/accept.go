package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/source"
)

func acceptCommand() *cobra.Command {
	var file string
	s := defaults()
	c := &cobra.Command{
		Use:   "accept [COMMIT]",
		Short: "Let this host's agent follow a rewritten branch that it holds",
		Long: `Accept lets the agent follow a branch whose history was rewritten (forcedPush: Hold). It accepts the commit that is held and
what is pushed on top of it; when the branch was rewritten again meanwhile, the agent holds that. Without COMMIT it accepts
whichever is held. It works beside a running agent, which follows at once, and before one is started. It exits with 2 when the
commit is not held.`,
		Example: `  gitvirt accept
  gitvirt accept 3f2a9c1 --config /etc/gitvirt/agent.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			set, err := read(file)
			if err != nil {
				return err
			}
			if c.Flags().Changed("state-dir") {
				set.StateDir = s.StateDir
			}
			commit := ""
			if len(args) > 0 {
				commit = args[0]
			}
			held, err := source.Accept(set.storeDir(), commit)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "accepted %s of branch %s of %s, in place of %s\n", held.Commit, held.Branch, held.URL, held.InForce)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&s.StateDir, "state-dir", s.StateDir, "the folder for what the agent keeps")
	f.StringVar(&file, "config", "", "the agent's configuration file (default "+defaultConfig+", if there is one)")
	return c
}
