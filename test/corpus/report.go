package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// report prints the table and each miss, and says whether the shares are as asked.
func report(out io.Writer, o options, results []result) bool {
	ways := map[way]int{}
	verdicts := map[verdict]int{}
	kinds := map[kind]map[verdict]int{}
	accepted, exact, mutations := 0, 0, 0
	for _, r := range results {
		ways[r.way]++
		if !r.way.accepted() {
			fmt.Fprintf(out, "%s: %s: %s\n", r.path, r.way, r.why)
			continue
		}
		accepted++
		if len(r.wrong) == 0 {
			exact++
		}
		for _, w := range r.wrong {
			fmt.Fprintf(out, "%s: %s: difference: %s\n", r.path, r.way, w)
		}
		for _, w := range r.lost {
			fmt.Fprintf(out, "%s: %s: not kept: %s\n", r.path, r.way, w)
		}
		for _, m := range r.mutations {
			verdicts[m.verdict]++
			if kinds[m.kind] == nil {
				kinds[m.kind] = map[verdict]int{}
			}
			kinds[m.kind][m.verdict]++
			if m.verdict != void && m.verdict != absurd {
				mutations++
			}
			if m.verdict != found && m.verdict != void {
				fmt.Fprintf(out, "%s: %s: %s %s: %q -> %q: %v\n", r.path, m.verdict, m.kind, m.path, m.from, m.to, m.changes)
			}
		}
	}
	shares := [2]float64{share100(exact, accepted), share100(verdicts[found], mutations)}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\ninputs\t%d\n", len(results))
	for _, w := range []way{validated, adapted, unvalidated, loosened, refused, deadly} {
		fmt.Fprintf(t, "  %s\t%d\n", w, ways[w])
	}
	fmt.Fprintf(t, "zero false differences\t%d of %d\t%.2f%%\n", exact, accepted, shares[0])
	fmt.Fprintf(t, "mutations that mean something\t%d\n", mutations)
	for _, k := range []kind{change, remove, add, reorder} {
		fmt.Fprintf(t, "  %s\t%v\n", k, kinds[k])
	}
	fmt.Fprintf(t, "found exactly\t%d of %d\t%.2f%%\n", verdicts[found], mutations, shares[1])
	// Writing to the report's own destination: what fails there shows there.
	_ = t.Flush()
	return !slices.Contains([]bool{shares[0] >= o.minExact, shares[1] >= o.minFound}, false)
}

func share100(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}
