package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// compatible is what becomes of one manifest.
type compatible struct {
	file     string
	line     int
	kind     string
	name     string
	cannot   []string
	warnings []string
	held     bool // it is one of KubeVirt's, and sound
}

// writeCompat prints for each manifest of KubeVirt's whether it runs here, and why not. It fails as a check does when there
// is one that cannot.
func writeCompat(w io.Writer, v reconcile.View) error {
	rows := compatRows(v)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MANIFEST\tKIND\tNAME\tRESULT\tWHY")
	runs, warned, cannot, ignored := 0, 0, 0, 0
	for _, r := range rows {
		result, why := "runs", slices.Concat(r.cannot, r.warnings)
		switch {
		case len(r.cannot) > 0:
			cannot++
			result = "cannot"
		case !r.held:
			ignored++
			result = "ignored"
		case len(r.warnings) > 0:
			warned++
			result = "runs with warnings"
		default:
			runs++
			why = []string{""}
		}
		for i, line := range why {
			if i == 0 {
				fmt.Fprintf(table, "%s:%d\t%s\t%s\t%s\t%s\n", r.file, r.line, r.kind, r.name, result, line)
			} else {
				fmt.Fprintf(table, "\t\t\t\t%s\n", line)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of %d manifests run, %d of them with warnings; %d cannot\n", runs+warned, len(rows)-ignored, warned, cannot)
	if cannot > 0 {
		return exit(exitDiffers)
	}
	return nil
}

// compatRows are the manifests in the order of their places, with what was found about each.
func compatRows(v reconcile.View) []compatible {
	var rows []compatible
	at := map[string]int{}
	row := func(file string, line int, kind, name string) *compatible {
		key := strings.Join([]string{file, kind, name}, "\x00")
		n, ok := at[key]
		if ok && line < rows[n].line {
			rows[n].line = line
		}
		if !ok {
			n = len(rows)
			at[key] = n
			rows = append(rows, compatible{file: file, line: line, kind: kind, name: name})
		}
		return &rows[n]
	}
	for _, d := range v.Set.Manifests() {
		if manifest.Ours(d.Written) {
			continue
		}
		row(d.File, d.Line, d.Written, d.Name).held = true
	}
	for _, p := range v.Problems {
		r := row(p.File, p.Line, p.Kind, p.Name)
		r.cannot = append(r.cannot, because(p))
	}
	for _, p := range v.Set.Warnings {
		r := row(p.File, p.Line, p.Kind, p.Name)
		r.warnings = append(r.warnings, because(p))
	}
	slices.SortStableFunc(rows, func(a, b compatible) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return rows
}

// because is a problem without the place that the row has already.
func because(p manifest.Problem) string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}
