package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/source"
)

func planCommand() *cobra.Command {
	var file, output string
	s := defaults()
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what this host's agent would do now",
		Long: `Plan reads the repository and libvirt as the agent would, and shows what it would do. It changes nothing. It exits with 0
when there is nothing to do, 1 when there is something, and 2 when it could not tell.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("-o %s: say text or json", output)
			}
			set, err := load(file, c.Flags())
			if err != nil {
				return err
			}
			facts, err := look(c.Context(), set, quiet())
			if err != nil {
				return err
			}
			if output == "json" {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				if err := e.Encode(status.Listed(facts.Plan)); err != nil {
					return err
				}
			} else {
				printPlan(c.OutOrStdout(), facts.Plan)
			}
			if held, err := source.HeldIn(set.storeDir()); err == nil && held != nil && set.ForcedPush == forcedPush(source.Hold) {
				fmt.Fprintf(c.ErrOrStderr(), "the agent holds commit %.12s and stays at %.12s; this is the plan once it is accepted\n", held.Commit, held.InForce)
			}
			for _, p := range facts.Documents.Problems {
				fmt.Fprintln(c.ErrOrStderr(), p)
			}
			if !facts.Plan.Empty() {
				return exit(exitDiffers)
			}
			return nil
		},
	}
	s.bind(c.Flags())
	c.Flags().StringVar(&file, "config", "", "the agent's configuration file (default "+defaultConfig+", if there is one)")
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}

// printPlan is a plan for people.
func printPlan(w io.Writer, p plan.Plan) {
	if p.Empty() {
		fmt.Fprintf(w, "%s: nothing to do at revision %.12s\n", p.Host, p.Revision)
		return
	}
	for _, a := range p.Resources {
		fmt.Fprintf(w, "%-20s %-10s %s: %s\n", string(a.Kind)+"/"+a.Name, a.Effect, a.Reason, a.Message)
		for _, c := range a.Changes {
			fmt.Fprintf(w, "%-20s   %s: %q -> %q\n", "", c.Path, c.From, c.To)
		}
	}
	for _, a := range p.Actions {
		fmt.Fprintf(w, "%-20s %-10s %s: %s\n", a.Instance, a.Effect, a.Reason, a.Message)
		for _, c := range a.Changes {
			fmt.Fprintf(w, "%-20s   %s: %q -> %q\n", "", c.Path, c.From, c.To)
		}
	}
}
