package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/reconcile/status"
)

func getCommand() *cobra.Command {
	var url, output string
	c := &cobra.Command{
		Use:   "get instances|configs|hosts [NAME]",
		Short: "List what an agent knows: running and non-running alike",
		Example: `  gitvirt get instances
  gitvirt get instances web -o yaml
  gitvirt get configs --agent http://127.0.0.1:9177`,
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: []string{"instances", "configs", "hosts"},
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "wide", "yaml", "json"}, output) {
				return fmt.Errorf("-o %s: say wide, yaml or json", output)
			}
			name := ""
			if len(args) == 2 {
				name = args[1]
			}
			w := c.OutOrStdout()
			switch args[0] {
			case "instances":
				return get(c.Context(), w, url, "instances", name, output, instanceTable)
			case "configs":
				return get(c.Context(), w, url, "configs", name, output, configTable)
			case "hosts":
				return get(c.Context(), w, url, "configs", "", output, hostTable(name))
			}
			return fmt.Errorf("get %s: say instances, configs or hosts", args[0])
		},
	}
	c.Flags().StringVar(&url, "agent", "http://"+defaults().Listen, "the address that the agent listens on")
	c.Flags().StringVarP(&output, "output", "o", "", "wide, yaml or json")
	return c
}

// get asks an agent for a list, or for one thing of it, and shows it.
func get[T any](ctx context.Context, w io.Writer, agent, what, name, output string, table func(io.Writer, []T, bool)) error {
	path := agent + "/api/v1alpha1/" + what
	if name != "" {
		path += "/" + name
	}
	raw, err := ask(ctx, path)
	if err != nil {
		return err
	}
	switch output {
	case "json":
		_, err = w.Write(raw)
		return err
	case "yaml":
		text, err := yaml.JSONToYAML(raw)
		if err != nil {
			return fmt.Errorf("cannot read the agent's answer: %w", err)
		}
		_, err = w.Write(text)
		return err
	}
	var list struct {
		Items []T `json:"items"`
	}
	if name != "" {
		list.Items = make([]T, 1)
		err = json.Unmarshal(raw, &list.Items[0])
	} else {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return fmt.Errorf("cannot read the agent's answer: %w", err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	table(t, list.Items, output == "wide")
	return t.Flush()
}

func ask(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the agent: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the agent; does it run here, or somewhere else (--agent)? %w", err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the agent's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		var said struct{ Message string }
		if json.Unmarshal(raw, &said) == nil && said.Message != "" {
			return nil, errors.New(said.Message)
		}
		return nil, fmt.Errorf("the agent answers %s to %s", answer.Status, url)
	}
	return raw, nil
}

func instanceTable(w io.Writer, items []status.Instance, wide bool) {
	head := "NAME\tPHASE\tWANTED\tRUN\tSYNCED\tRESTART\tMESSAGE"
	if wide {
		head = "NAME\tPHASE\tWANTED\tRUN\tSYNCED\tRESTART\tHOST\tADDRESSES\tRUNNING\tNEXT START\tUUID\tMESSAGE"
	}
	fmt.Fprintln(w, head)
	for _, i := range items {
		is := map[string]string{}
		message := ""
		for _, c := range i.Status.Conditions {
			is[c.Type] = c.Status
			if c.Type == status.Blocked && c.Status == "True" || c.Type == status.Synced && message == "" ||
				c.Type == status.RestartRequired && message == "" {
				message = c.Message
			}
		}
		row := []string{i.Metadata.Name, string(i.Status.Phase), cmp.Or(i.Status.Desired, "gone"),
			cmp.Or(i.Metadata.Annotations["gitvirt.io/run"], "-"), is[status.Synced], is[status.RestartRequired]}
		if wide {
			uuid := "-"
			if i.Status.Domain != nil {
				uuid = i.Status.Domain.UUID
			}
			addresses := cmp.Or(strings.Join(i.Status.Devices.Addresses(), ","), "-")
			row = append(row, i.Status.Host, addresses, brief(i.Status.Revision.Running), brief(i.Status.Revision.NextStart), uuid)
		}
		fmt.Fprintln(w, strings.Join(append(row, message), "\t"))
	}
}

func configTable(w io.Writer, items []status.Config, _ bool) {
	fmt.Fprintln(w, "NAME\tRUNS ON\tWANTED\tPHASE\tFILE")
	for _, c := range items {
		if len(c.RunStates) == 0 {
			fmt.Fprintf(w, "%s\t-\t-\t-\t%s\n", c.Metadata.Name, c.File)
		}
		for _, r := range c.RunStates {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Metadata.Name, r.Host, r.State, cmp.Or(string(r.Phase), "-"), c.File)
		}
	}
}

// hostTable counts by host what the repository wants.
func hostTable(only string) func(io.Writer, []status.Config, bool) {
	return func(w io.Writer, items []status.Config, _ bool) {
		count := map[string][2]int{}
		for _, c := range items {
			for _, r := range c.RunStates {
				n := count[r.Host]
				n[0]++
				if r.State == "Running" {
					n[1]++
				}
				count[r.Host] = n
			}
		}
		fmt.Fprintln(w, "NAME\tINSTANCES\tWANTED RUNNING")
		for _, host := range slices.Sorted(maps.Keys(count)) {
			if only == "" || only == host {
				fmt.Fprintf(w, "%s\t%d\t%d\n", host, count[host][0], count[host][1])
			}
		}
	}
}

func brief(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	return cmp.Or(commit, "-")
}
