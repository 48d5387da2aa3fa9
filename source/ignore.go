package source

import (
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const ignoreFile = ".gitvirtignore"

// rules say what is left out. They are never changed: a folder with an ignore file of its own makes new ones.
type rules struct {
	patterns []pattern
	// key is equal for equal rules, so that what was sorted out under them once need not be again.
	key plumbing.Hash
}

// with returns the rules and those of an ignore file in the folder named by the elements of dir.
func (r rules) with(dir []string, content []byte) rules {
	patterns := slices.Clone(r.patterns)
	text := strings.TrimPrefix(string(content), "\ufeff")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if p, ok := parsePattern(line, dir); ok {
			patterns = append(patterns, p)
		}
	}
	seed := r.key.String() + "\x00" + strings.Join(dir, "/") + "\x00" + text
	return rules{patterns, plumbing.ComputeHash(plumbing.BlobObject, []byte(seed))}
}

// leftOut reports whether the file or folder named by the elements of path is left out. That its parent folder was
// not is the caller's to know.
func (r rules) leftOut(path []string, isDir bool) bool {
	if strings.HasPrefix(path[len(path)-1], ".") {
		return true
	}
	for _, p := range slices.Backward(r.patterns) { // the last one that matches counts
		if p.match(path, isDir) {
			return !p.negate
		}
	}
	return false
}

// without returns the rules without those that leave out the folder: what was asked for by name is not ignored.
func (r rules) without(dir []string) rules {
	excludes := func(p pattern) bool { return !p.negate && p.match(dir, true) }
	return rules{slices.DeleteFunc(slices.Clone(r.patterns), excludes), r.key}
}
