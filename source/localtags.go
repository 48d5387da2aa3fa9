package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// localTags are all tags of a repository on this machine. A loose one wins over a packed one of the same name.
func localTags(dir string) (map[string]plumbing.Hash, error) {
	refs := map[string]plumbing.Hash{}
	text, err := os.ReadFile(filepath.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the packed references: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		hash, name, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if strings.HasPrefix(name, tagFolder) && plumbing.IsHash(hash) {
			refs[name] = plumbing.NewHash(hash)
		}
	}
	root := filepath.Join(dir, filepath.FromSlash(tagFolder))
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (entry.IsDir() || strings.HasSuffix(file, ".lock")) {
			return nil // one that is removed, or written, at this moment
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name := tagFolder + filepath.ToSlash(rel)
		hash, err := readRef(dir, plumbing.ReferenceName(name))
		if errors.Is(err, ErrBranchGone) {
			return nil
		}
		refs[name] = hash
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the tags of %s: %w", dir, err)
	}
	return refs, checkFormat(dir)
}
