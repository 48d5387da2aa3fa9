package source

import (
	"strconv"
	"strings"
	"testing"
)

var messages = []struct {
	name, text string
	want       int
}{
	{"none", "Subject", 0},
	{"one", "Subject\n\nGitvirt-Allow-Removals: 5", 5},
	{"after a body", "Subject\n\nWhy.\n\nGitvirt-Allow-Removals: 12\n", 12},
	{"among others", "S\n\nReviewed-by: X <x@y>\nGitvirt-Allow-Removals: 3\nSigned-off-by: Y", 3},
	{"the largest", "S\n\nGitvirt-Allow-Removals: 2\nGitvirt-Allow-Removals: 9\nGitvirt-Allow-Removals: 4", 9},
	{"case of the key", "S\n\ngitvirt-allow-removals: 7", 7},
	{"no space", "S\n\nGitvirt-Allow-Removals:8", 8},
	{"space before the colon", "S\n\nGitvirt-Allow-Removals : 8", 8},
	{"Windows line ends", "S\r\n\r\nGitvirt-Allow-Removals: 6\r\n", 6},
	{"in the subject", "Gitvirt-Allow-Removals: 5", 0},
	{"in the first paragraph", "S\nGitvirt-Allow-Removals: 5", 0},
	{"in the body", "S\n\nGitvirt-Allow-Removals: 5\n\nMore words.", 0},
	{"a sentence about it", "S\n\nUse the trailer below another day.\nGitvirt-Allow-Removals: 5", 0},
	{"a sentence and a sign-off", "S\n\nSome words.\nGitvirt-Allow-Removals: 5\nSigned-off-by: X <x@y>", 5},
	{"quoted", "S\n\n> Gitvirt-Allow-Removals: 5", 0},
	{"indented", "S\n\n  Gitvirt-Allow-Removals: 5", 0},
	{"negative", "S\n\nGitvirt-Allow-Removals: -5", 0},
	{"a word", "S\n\nGitvirt-Allow-Removals: many", 0},
	{"a unit", "S\n\nGitvirt-Allow-Removals: 5 VMs", 0},
	{"too large", "S\n\nGitvirt-Allow-Removals: 99999999999999999999", 0},
	{"empty value", "S\n\nGitvirt-Allow-Removals:", 0},
	{"continued", "S\n\nGitvirt-Allow-Removals:\n  5", 5},
	{"another key", "S\n\nXGitvirt-Allow-Removals: 5", 0},
	{"cherry-picked", "S\n\nGitvirt-Allow-Removals: 5\n(cherry picked from commit 0123456789012345678901234567890123456789)", 5},
}

func TestAllowedRemovals(t *testing.T) {
	for _, tt := range messages {
		t.Run(tt.name, func(t *testing.T) {
			if got := allowedRemovals(tt.text); got != tt.want {
				t.Errorf("allowed %d, want %d", got, tt.want)
			}
		})
	}
}

// TestTrailersAsGit lets git read the same messages.
func TestTrailersAsGit(t *testing.T) {
	r := newRepo(t)
	for _, tt := range messages {
		r.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", tt.text)
		out := r.git("log", "-1", "--format=%(trailers:key="+allowTrailer+",valueonly,unfold)")
		want := 0
		for _, value := range strings.Split(out, "\n") {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > want {
				want = n
			}
		}
		if got := allowedRemovals(tt.text); got != want {
			t.Errorf("%s: allowed %d, git reads %d", tt.name, got, want)
		}
	}
}

func FuzzAllowedRemovals(f *testing.F) {
	for _, m := range messages {
		f.Add(m.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := allowedRemovals(text)
		if n < 0 {
			t.Errorf("allowed %d", n)
		}
		// Nothing is allowed that no line says.
		if n > 0 && !strings.Contains(strings.ToLower(text), strings.ToLower(allowTrailer)) {
			t.Errorf("allowed %d out of nothing", n)
		}
		// A new last paragraph takes the place of the one before.
		if got := allowedRemovals("S\n\n" + text + "\n\nWords at the end."); got != 0 {
			t.Errorf("allowed %d by a paragraph that is not the last", got)
		}
	})
}
