package source

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

const ignoreFile = ".gitvirtignore"

// rules say what is left out. They are never changed: a folder with an ignore file of its own makes new ones.
type rules struct {
	patterns []gitignore.Pattern
	// key is equal for equal rules, so that what was sorted out under them once need not be again.
	key plumbing.Hash
}

// with returns the rules and those of an ignore file in the folder named by the elements of dir.
func (r rules) with(dir []string, content []byte) rules {
	patterns := append([]gitignore.Pattern(nil), r.patterns...)
	text := strings.TrimPrefix(string(content), "\ufeff")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		patterns = append(patterns, gitignore.ParsePattern(line, dir))
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
	return len(r.patterns) > 0 && gitignore.NewMatcher(r.patterns).Match(path, isDir)
}

// without returns the rules without those that leave out the folder: what was asked for by name is not ignored.
func (r rules) without(dir []string) rules {
	var rest []gitignore.Pattern
	for _, p := range r.patterns {
		if p.Match(dir, true) != gitignore.Exclude {
			rest = append(rest, p)
		}
	}
	return rules{rest, r.key}
}
