package manifest

import "strings"

// suggest returns the candidate that word is most likely a misspelling of, or "".
func suggest(word string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	if len(word) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is the end of a message that suggests a candidate, or lists the candidates where they are few.
func didYouMean(word string, candidates []string) string {
	if s := suggest(word, candidates); s != "" {
		return "; did you mean " + quoted(s) + "?"
	}
	if len(candidates) > 0 && len(candidates) <= 10 {
		return "; known here: " + strings.Join(candidates, ", ")
	}
	return ""
}

// distance is the number of letters to add, drop, replace or swap with a neighbour (optimal string alignment).
func distance(a, b string) int {
	if len(a)-len(b) > 8 || len(b)-len(a) > 8 {
		return 9
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
