package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/source"
)

// writeExplained prints a line for every field of an instance: its path, its value, and the document, file and line that it
// is from.
func writeExplained(w io.Writer, s *source.Snapshot, v reconcile.View, i *render.Instance) error {
	all, err := v.Placement.Explain(i)
	if err != nil {
		return err
	}
	if pin := v.Placement.PinOf(i.Name); pin != nil {
		inCommit(all, pin.Commit)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIELD\tVALUE\tFROM\tAT")
	for _, e := range reconcile.LocateExplained(s, all) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.Field, short(e.Value), strings.TrimSpace(string(e.From)+" "+e.Name), e.At)
	}
	return table.Flush()
}

// inCommit says of what is from a pinned revision in which file of it.
func inCommit(all []render.Explained, commit string) {
	for n, e := range all {
		switch e.From {
		case render.FromRunState, render.FromGroup, render.FromHost:
			continue
		}
		if e.In != nil {
			all[n].At, all[n].In = fmt.Sprintf("%.12s:%s", commit, e.In.File), nil
		}
	}
}

// short is a value on one line.
func short(value string) string {
	const most = 60
	value = strings.Join(strings.Fields(value), " ")
	if r := []rune(value); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return value
}
