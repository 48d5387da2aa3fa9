package source

import (
	"strconv"
	"strings"
)

const allowTrailer = "Gitvirt-Allow-Removals"

// allowedRemovals returns the largest N of the trailers "Gitvirt-Allow-Removals: N" in a commit's message; 0 when
// there is none. A trailer whose value is not a number of 0 or more counts for nothing: when in doubt, nothing is
// removed.
func allowedRemovals(message string) int {
	most := 0
	for _, t := range trailers(message) {
		if !strings.EqualFold(t.key, allowTrailer) {
			continue
		}
		if n, err := strconv.Atoi(t.value); err == nil && n > most {
			most = n
		}
	}
	return most
}

type trailer struct{ key, value string }

// trailers reads the trailers of a commit's message by the rules of git-interpret-trailers(1): they are in the last
// paragraph, which is not the first, and which holds nothing else, or, when git itself wrote one of them, at least a
// quarter of trailers. A line that begins with white space continues the one before.
func trailers(message string) []trailer {
	lines := lastParagraph(message)
	var found []trailer
	var byGit bool
	var other int
	for _, line := range lines {
		if line[0] == ' ' || line[0] == '\t' {
			if len(found) > 0 {
				last := &found[len(found)-1]
				last.value = strings.TrimSpace(last.value + " " + strings.TrimSpace(line))
				continue
			}
			other++
			continue
		}
		if strings.HasPrefix(line, "(cherry picked from commit ") {
			byGit = true
			found = append(found, trailer{})
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimRight(key, " \t")
		if !ok || !isTrailerKey(key) {
			other++
			continue
		}
		byGit = byGit || strings.HasPrefix(line, "Signed-off-by: ")
		found = append(found, trailer{key, strings.TrimSpace(value)})
	}
	if other > 0 && !(byGit && len(found)*3 >= other) {
		return nil
	}
	return found
}

// lastParagraph returns the lines of the last paragraph, or nothing when the message has only one.
func lastParagraph(message string) []string {
	lines := strings.Split(strings.ReplaceAll(message, "\r\n", "\n"), "\n")
	blank := func(i int) bool { return strings.TrimSpace(lines[i]) == "" }
	end := len(lines)
	for end > 0 && blank(end-1) {
		end--
	}
	start := end
	for start > 0 && !blank(start-1) {
		start--
	}
	for i := range start {
		if !blank(i) {
			return lines[start:end]
		}
	}
	return nil
}

func isTrailerKey(key string) bool {
	if key == "" {
		return false
	}
	for _, c := range []byte(key) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}
