package main

import (
	"fmt"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// referenceOfChanges is the page of what an edit does to a machine that runs.
func referenceOfChanges() []byte {
	var b strings.Builder
	b.WriteString(`<!-- Made by go run ./cmd/schema from reconcile/plan/fieldtable.go; do not edit. -->

# What an edit does to a machine that runs

The machine's definition follows each commit. What a running machine does is its config's ` + "`rollout`" + `: under ` + "`Stage`" + ` nothing, until it
is started again; under ` + "`Live`" + ` what can be is applied while it runs, and the rest waits; under ` + "`Restart`" + ` the machine is restarted for the rest.

| effect | meaning |
|---|---|
| live | libvirt can change the running machine, under the conditions that are said |
| next-start | the guest meets it when it starts, and would not see it before: no reason for a restart |
| restart | a running machine stays behind until it is restarted; ` + "`RestartRequired`" + ` names the field |
| rebuild | the guest meets it once its disks are made anew: take the RunState away, delete the disks, and put the RunState back |
| blocked | a machine that is there can never have it |

A path finds its row from the top: the first that matches counts. What is in no row needs a restart. What libvirt refuses to do live, and what a
guest does not follow within ` + plan.Patience.String() + `, waits for the next start; the instance's ` + "`staged`" + ` says why.

| field | libvirt's XML | effect | |
|---|---|---|---|
`)
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	for _, e := range plan.FieldEffects() {
		field := "only in domainXML"
		if e.Field != "" {
			field = "`" + strings.ReplaceAll(strings.ReplaceAll(e.Field, "$1$2", "NAME"), "$1", "NAME") + "`"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", field, cell(e.XML), e.Effect, e.About)
	}
	return []byte(b.String())
}
