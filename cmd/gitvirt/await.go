package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// awaitEvery is how often the agents are asked while somebody waits.
const awaitEvery = time.Second

// await asks the agents until the machines are as changes want them, and says what happens meanwhile.
func await(ctx context.Context, out io.Writer, agents []string, changes []manifest.Change, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it is not so after %v", patience))
	defer cancel()
	said := map[string]string{}
	for {
		left := ""
		for _, c := range changes {
			done, word := whereabouts(ctx, agents, c)
			if said[c.Name] != word && ctx.Err() == nil {
				said[c.Name] = word
				fmt.Fprintf(out, "%s: %s\n", c.Name, word)
			}
			if !done {
				left = c.Name
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; it was last: %s", left, context.Cause(ctx), said[left])
		case <-time.After(awaitEvery):
		}
	}
}

// whereabouts is how far a machine, or all members of a group, are.
func whereabouts(ctx context.Context, agents []string, c manifest.Change) (done bool, word string) {
	var found []status.Instance
	var failure error
	for _, agent := range agents {
		raw, err := ask(ctx, strings.TrimSuffix(agent, "/")+"/api/v1alpha1/instances")
		var list struct {
			Items []status.Instance `json:"items"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			failure = err
			continue
		}
		for _, i := range list.Items {
			if i.Metadata.Name == c.Name || c.Kind == manifest.KindGroup && memberOf(i.Metadata.Name, c.Name) {
				found = append(found, i)
			}
		}
	}
	if len(found) == 0 {
		if failure != nil {
			return false, failure.Error()
		}
		return false, "no agent that was asked has it (--agent)"
	}
	for _, i := range found {
		if arrived, word := arrival(i, c); !arrived {
			if i.Metadata.Name != c.Name {
				word = i.Metadata.Name + ": " + word
			}
			return false, word
		}
	}
	return true, string(found[0].Status.Phase) + " on " + found[0].Status.Host
}

func memberOf(name, group string) bool {
	rest, ok := strings.CutPrefix(name, group+"-")
	_, err := strconv.Atoi(rest)
	return ok && err == nil
}

// arrival says whether an instance is as a change wants it, and else what it is at.
func arrival(i status.Instance, c manifest.Change) (bool, string) {
	st := i.Status
	run, _ := strconv.ParseInt(i.Metadata.Annotations["gitvirt.io/run"], 10, 64)
	conditions := map[string]status.Condition{}
	for _, one := range st.Conditions {
		conditions[one.Type] = one
	}
	blocked := conditions[status.Blocked]
	switch {
	case st.Desired != string(c.State), c.Host != "" && st.Host != c.Host:
		return false, "its agent does not know of it yet"
	case blocked.Status == "True":
		return false, "blocked: " + blocked.Message
	case st.Failure != nil:
		return false, st.Failure.Message
	}
	is := map[manifest.PowerState]bool{
		manifest.StateRunning: st.Phase == plan.PhaseRunning && conditions[status.Ready].Status == "True" && run >= c.Run,
		manifest.StatePaused:  st.Phase == plan.PhasePaused && run >= c.Run,
		manifest.StateStopped: st.Phase == plan.PhaseStopped || st.Phase == plan.PhaseSucceeded || st.Phase == plan.PhaseFailed,
		manifest.StateManual:  true,
	}
	if is[c.State] {
		return true, ""
	}
	return false, strings.TrimSuffix(string(st.Phase)+": "+conditions[status.Ready].Message, ": ")
}
