package reconcile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// HostFiles are this host's files, as a policy asks for them.
type HostFiles struct{}

// maxLinks is how many symbolic links to nothing are followed: as many as Linux does.
const maxLinks = 40

// Resolve is the file that a path leads to. Where it is not there yet, it is the one that would be made: the links of its
// parents are followed, and so is a link to nothing.
func (HostFiles) Resolve(path string) (string, error) { return resolve(path, maxLinks) }

func resolve(path string, links int) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is no absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	path = filepath.Clean(path)
	dir, err := resolve(filepath.Dir(path), links)
	if err != nil {
		return "", err
	}
	here := filepath.Join(dir, filepath.Base(path))
	to, err := os.Readlink(here)
	if err != nil {
		return here, nil // there is nothing, or no link
	}
	if links == 0 {
		return "", fmt.Errorf("%s: too many symbolic links", path)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return resolve(to, links-1)
}
