package verify

import "strings"

// matches says whether a string matches a list of patterns with commas between (ssh_config(5), PATTERNS): at least one,
// and none of those that begin with an exclamation mark.
func matches(s, patterns string) bool {
	found := false
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern, not := strings.CutPrefix(pattern, "!")
		if !glob(s, pattern) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found
}

// glob says whether a string matches a pattern, in which * is any run of characters and ? is any one. It takes no more
// than the product of their lengths.
func glob(s, pattern string) bool {
	star, from := -1, 0 // the last *, and where what it stands for may end
	i, p := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			i, p = i+1, p+1
		case star >= 0:
			from++
			i, p = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
