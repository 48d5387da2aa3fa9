package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// folder is what a snapshot knows of one of its folders. It is never changed once it was built, so the next
// snapshot takes over those whose tree is the same.
type folder struct {
	hash    plumbing.Hash
	leftOut bool          // its files do not count; they were read all the same
	rules   plumbing.Hash // the rules that came from above
	items   []item        // in the order of the tree
	files   int           // that count, in it and below
	total   int           // files and folders in it and below
}

type item struct {
	name  string
	hash  plumbing.Hash
	sub   *folder // nil: a file
	entry Entry   // Path is empty when the file does not count
}

// walker reads a tree whole.
type walker struct {
	ctx  context.Context
	from *objects
	root int // the number of elements of the configured path
	read int // objects read, for tests
	seen int // files and folders
	// totals are those of the folders that were read, by their trees.
	totals map[plumbing.Hash]int
}

// A few kilobytes of trees can stand for more files than the host has memory: a tree may hold another one many times.
const (
	maxEntries = 1_000_000
	maxDepth   = 1024 // git itself takes 2,048 by default (core.maxTreeDepth)
)

// walk reads every tree and blob below the folder at path in the commit's tree, but for those that the folder from a
// former snapshot already had.
func (w *walker) walk(tree plumbing.Hash, path string, former *folder) (*folder, error) {
	var dirs []string
	var r rules
	if path != "" {
		dirs = strings.Split(path, "/")
	}
	w.root, w.totals = len(dirs), map[plumbing.Hash]int{}
	// The ignore files on the way down count too.
	for i, name := range dirs {
		entries, err := w.from.tree(tree)
		if err != nil {
			return nil, err
		}
		if r, err = w.rules(r, dirs[:i], entries); err != nil {
			return nil, err
		}
		r = r.without(dirs[:i+1])
		next := plumbing.ZeroHash
		for _, e := range entries {
			if e.name == name && e.kind == kindFolder {
				next = e.hash
			}
		}
		if next.IsZero() {
			return nil, fmt.Errorf("path %q is not a folder of the commit: set the path to a folder that the branch has", path)
		}
		tree = next
	}
	return w.folder(tree, dirs, r, false, former)
}

// rules adds those of the folder's ignore file, if it has one.
func (w *walker) rules(r rules, dir []string, entries []treeEntry) (rules, error) {
	for _, e := range entries {
		if e.name == ignoreFile && e.kind == kindFile {
			content, err := w.from.read(plumbing.BlobObject, e.hash)
			if err != nil {
				return r, err
			}
			return r.with(dir, content), nil
		}
	}
	return r, nil
}

func (w *walker) folder(hash plumbing.Hash, path []string, r rules, leftOut bool, former *folder) (*folder, error) {
	if former != nil && former.hash == hash && former.leftOut == leftOut && (leftOut || former.rules == r.key) {
		if w.seen += former.total; w.seen > maxEntries {
			return nil, tooMany(path)
		}
		return former, nil
	}
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	w.read++
	entries, err := w.from.tree(hash)
	if err != nil {
		return nil, fmt.Errorf("cannot read folder /%s: %w", strings.Join(path, "/"), err)
	}
	if len(path) > maxDepth {
		return nil, fmt.Errorf("cannot read folder /%.60s…: it lies deeper than %d folders, which is the most that is read", strings.Join(path, "/"), maxDepth)
	}
	if w.seen += len(entries); w.seen > maxEntries {
		return nil, tooMany(path)
	}
	f := &folder{hash: hash, leftOut: leftOut, rules: r.key, items: make([]item, 0, len(entries)), total: len(entries)}
	if !leftOut {
		if r, err = w.rules(r, path, entries); err != nil {
			return nil, err
		}
	}
	var old []item
	if former != nil {
		old = former.items
	}
	foreseen := map[plumbing.Hash]bool{}
	path = append(path[:len(path):len(path)], "")
	for n, e := range entries {
		for len(old) > 0 && compareNames(old[0].name, old[0].sub != nil, e.name, e.kind == kindFolder) < 0 {
			old = old[1:]
		}
		var was *item
		if len(old) > 0 && old[0].name == e.name && (old[0].sub != nil) == (e.kind == kindFolder) {
			was = &old[0]
		}
		path[len(path)-1] = e.name
		out := leftOut || r.leftOut(path, e.kind == kindFolder)
		it := item{name: e.name, hash: e.hash}
		switch e.kind {
		case kindFolder:
			if total, known := w.totals[e.hash]; known && !foreseen[e.hash] {
				foreseen[e.hash] = true
				if w.seen+total*occurrences(entries[n:], e.hash) > maxEntries {
					return nil, tooMany(path[:len(path)-1])
				}
			}
			var sub *folder
			if was != nil {
				sub = was.sub
			}
			if it.sub, err = w.folder(e.hash, path, r, out, sub); err != nil {
				return nil, err
			}
		case kindFile, kindLink:
			if it.entry, err = w.file(e, path, out, was); err != nil {
				return nil, err
			}
		case kindSubmodule:
			continue
		}
		switch {
		case it.sub != nil:
			f.files += it.sub.files
			f.total += it.sub.total
		case it.entry.Path != "":
			f.files++
			it.name = it.entry.Path[len(it.entry.Path)-len(it.name):] // one string instead of two
		}
		f.items = append(f.items, it)
	}
	w.totals[hash] = f.total
	return f, nil
}

// occurrences is how often a tree is among the entries of a folder.
func occurrences(entries []treeEntry, tree plumbing.Hash) (n int) {
	for _, e := range entries {
		if e.hash == tree {
			n++
		}
	}
	return n
}

func tooMany(path []string) error {
	return fmt.Errorf("cannot read folder /%s: the revision has more than %d files and folders, which is the most that is read: set path to a part of the repository", strings.Join(path, "/"), maxEntries)
}

func (w *walker) file(e treeEntry, path []string, out bool, was *item) (Entry, error) {
	counts := !out && e.kind == kindFile
	if was != nil && was.hash == e.hash { // it was read before
		if !counts {
			return Entry{}, nil
		}
		if was.entry.Path != "" {
			return was.entry, nil
		}
	}
	if err := w.ctx.Err(); err != nil {
		return Entry{}, err
	}
	w.read++
	data, err := w.from.read(plumbing.BlobObject, e.hash)
	size := int64(len(data))
	if errors.Is(err, errTooLarge) {
		size, err = w.from.size(e.hash), nil // who wants to read it is told
	}
	if err != nil {
		return Entry{}, fmt.Errorf("cannot read file /%s: %w", strings.Join(path, "/"), err)
	}
	if !counts {
		return Entry{}, nil
	}
	return Entry{Path: strings.Join(path[w.root:], "/"), Hash: e.hash.String(), Size: size}, nil
}

// entries lists the files that count, sorted by path.
func (f *folder) entries() []Entry {
	return f.appendTo(make([]Entry, 0, f.files))
}

func (f *folder) appendTo(list []Entry) []Entry {
	if f.files == 0 {
		return list
	}
	for _, it := range f.items {
		switch {
		case it.sub != nil:
			list = it.sub.appendTo(list)
		case it.entry.Path != "":
			list = append(list, it.entry)
		}
	}
	return list
}
