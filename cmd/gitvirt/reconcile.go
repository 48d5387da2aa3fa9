package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile/control"
)

func reconcileCommand() *cobra.Command {
	var file, socket, stateDir string
	var wait time.Duration
	c := &cobra.Command{
		Use:   "reconcile",
		Short: "Have this host's agent ask the repository now, and say how it stands then",
		Long: `Reconcile asks the agent that runs on this host for a pass, through its Unix socket, and waits until that pass is made.
It ends with 0 when all is in sync, 1 when it is not (yet), 2 when the agent, the repository or libvirt could not be asked.`,
		Example: `  gitvirt reconcile
  git push && gitvirt reconcile --wait 5m`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := agentSocket(file, socket, stateDir)
			if err != nil {
				return err
			}
			a, err := askForPass(c.Context(), path, wait)
			if err != nil {
				return err
			}
			if a.Error != "" {
				return errors.New(a.Error)
			}
			fmt.Fprintf(c.OutOrStdout(), "revision %s: %s\n", brief(a.Revision), a.Message)
			if !a.InSync {
				return exit(exitDiffers)
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "the agent's configuration file (default "+defaultConfig+", if there is one)")
	c.Flags().StringVar(&socket, "socket", "", "the agent's socket, if neither its file nor the state dir tells")
	c.Flags().StringVar(&stateDir, "state-dir", "", "the folder for what the agent keeps, if its file does not say")
	c.Flags().DurationVar(&wait, "wait", 0, "how long to wait, after the pass, until all is in sync or something stands in the way")
	return c
}

// askForPass posts to an agent's socket. The agent bounds the time; should it hang itself, so do we.
func askForPass(ctx context.Context, path string, wait time.Duration) (control.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, control.PassTime+wait+10*time.Second)
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	query := url.Values{"wait": {wait.String()}}
	var a control.Answer
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent/reconcile?"+query.Encode(), nil)
	if err != nil {
		return a, fmt.Errorf("cannot ask the agent: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return a, fmt.Errorf("cannot ask the agent; does it run, and may you use its socket? %w", errors.Unwrap(err))
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		return a, fmt.Errorf("cannot read the agent's answer: %w", err)
	}
	return a, nil
}
