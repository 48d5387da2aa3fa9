package source

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

type entryKind int

const (
	kindFile entryKind = iota
	kindFolder
	kindLink
	kindSubmodule
)

// treeEntry is one line of a tree object.
type treeEntry struct {
	name string
	kind entryKind
	hash plumbing.Hash
}

// parseTree reads a tree object. Names that are no plain file names, unknown modes and a wrong order are errors: git
// writes none of them, and a name such as ".." would escape the tree.
func parseTree(data []byte) ([]treeEntry, error) {
	entries := make([]treeEntry, 0, len(data)/40)
	for len(data) > 0 {
		sp := bytes.IndexByte(data, ' ')
		if sp < 0 {
			return nil, errors.New("malformed tree: an entry has no mode")
		}
		nul := bytes.IndexByte(data[sp:], 0)
		if nul < 0 || len(data) < sp+nul+1+len(plumbing.Hash{}) {
			return nil, errors.New("malformed tree: an entry is cut off")
		}
		e := treeEntry{name: string(data[sp+1 : sp+nul])}
		switch mode := string(data[:sp]); mode {
		case "40000", "040000":
			e.kind = kindFolder
		case "100644", "100755", "100664":
			e.kind = kindFile
		case "120000":
			e.kind = kindLink
		case "160000":
			e.kind = kindSubmodule
		default:
			return nil, fmt.Errorf("malformed tree: %q has the unknown mode %.8q", e.name, mode)
		}
		if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsRune(e.name, '/') {
			return nil, fmt.Errorf("malformed tree: %q is no file name", e.name)
		}
		if n := len(entries); n > 0 && compareEntries(entries[n-1], e) >= 0 {
			return nil, fmt.Errorf("malformed tree: %q comes after %q", e.name, entries[n-1].name)
		}
		data = data[sp+nul+1:]
		copy(e.hash[:], data)
		data = data[len(e.hash):]
		entries = append(entries, e)
	}
	return entries, nil
}

// compareEntries orders as git does: by bytes, a folder as if its name ended in a slash. Files then come in the
// order of their full paths.
func compareEntries(a, b treeEntry) int {
	return compareNames(a.name, a.kind == kindFolder, b.name, b.kind == kindFolder)
}

func compareNames(a string, aDir bool, b string, bDir bool) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	end := func(s string, dir bool) int {
		switch {
		case len(s) > n:
			return int(s[n])
		case dir:
			return '/'
		}
		return 0
	}
	return end(a, aDir) - end(b, bDir)
}
