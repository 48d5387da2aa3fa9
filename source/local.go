package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

// localRemote reads a repository on this machine's disk by itself: bare, with a work tree, or a linked work tree.
// Only commits count, never files of a work tree.
type localRemote struct {
	path string
	ref  *followed
	open *objects // kept between fetches: reading the packs' indexes is most of the work
}

func (r *localRemote) close() {
	if r.open != nil {
		r.open.close()
		r.open = nil
	}
}

func (r *localRemote) fetch(ctx context.Context, skip func(plumbing.Hash) bool, into *store, heads []plumbing.Hash) (plumbing.Hash, error) {
	dir, err := gitDir(r.path)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	head, err := readFollowed(dir, r.ref)
	if err != nil || skip(head) {
		return head, err
	}
	shallow, err := sameShallow(dir, into)
	if err != nil {
		return head, err
	}
	reused := r.open != nil
	if !reused {
		if err := r.reopen(dir); err != nil {
			return head, err
		}
	}
	err = into.copyRef(ctx, r.open, shallow, head)
	var ours *storeError
	if err != nil && reused && ctx.Err() == nil && !errors.As(err, &ours) {
		// The packs were rewritten under us, or there are new ones.
		if err := r.reopen(dir); err != nil {
			return head, err
		}
		err = into.copyRef(ctx, r.open, shallow, head)
	}
	if err != nil {
		r.close()
		return head, err
	}
	if len(heads) == 0 {
		r.close() // to copy all takes a second index of every pack, by offset
	} else {
		r.open.rest()
	}
	return head, nil
}

func (r *localRemote) reopen(dir string) error {
	r.close()
	if err := checkFormat(dir); err != nil {
		return err
	}
	dirs, err := objectDirs(dir)
	if err != nil {
		return err
	}
	r.open = openObjects(dirs...)
	return nil
}

// gitDir returns the folder with the refs and objects of the repository at a path: gitrepository-layout(5).
func gitDir(path string) (string, error) {
	dir := path
	dot := filepath.Join(path, ".git")
	if info, err := os.Stat(dot); err == nil {
		dir = dot
		if !info.IsDir() {
			text, err := os.ReadFile(dot)
			if err != nil {
				return "", fmt.Errorf("cannot open repository %s: %w", path, err)
			}
			target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if !ok {
				return "", fmt.Errorf("cannot open repository %s: its file .git does not say where the repository is", path)
			}
			dir = within(path, target)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dir = within(dir, strings.TrimSpace(string(text)))
	}
	if _, err := os.Stat(filepath.Join(dir, "objects")); err != nil {
		if _, e := os.Stat(path); e != nil {
			err = e
		}
		return "", fmt.Errorf("cannot open repository %s: it is no git repository: %w", path, err)
	}
	return dir, nil
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// maxSymbolic bounds references that name references, as git does.
const maxSymbolic = 5

// readRef returns what a reference stands for. A loose reference that cannot be read is an error: to look among the
// packed ones then, as go-git does, would find an older value.
func readRef(dir string, ref plumbing.ReferenceName) (plumbing.Hash, error) {
	for range maxSymbolic {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ref.String())))
		if missingFile(err) {
			return packedRef(dir, ref)
		}
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("cannot read %s: %w", ref, err)
		}
		value := strings.TrimSpace(string(text))
		if target, ok := strings.CutPrefix(value, "ref:"); ok {
			ref = plumbing.ReferenceName(strings.TrimSpace(target))
			if err := ref.Validate(); err != nil {
				return plumbing.ZeroHash, fmt.Errorf("cannot follow reference %q: %w", ref, err)
			}
			continue
		}
		if !plumbing.IsHash(value) {
			if err := checkFormat(dir); err != nil {
				return plumbing.ZeroHash, err
			}
			return plumbing.ZeroHash, fmt.Errorf("cannot read %s of %s: it holds no object name", ref, dir)
		}
		return plumbing.NewHash(value), nil
	}
	return plumbing.ZeroHash, fmt.Errorf("cannot read %s: references name each other in a circle", ref)
}

// missingFile: a folder in the file's place, or a file in its folder's, is a branch of another name.
func missingFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR)
}

func packedRef(dir string, ref plumbing.ReferenceName) (plumbing.Hash, error) {
	text, err := os.ReadFile(filepath.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plumbing.ZeroHash, fmt.Errorf("cannot read the packed references: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		hash, name, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if name == ref.String() && plumbing.IsHash(hash) {
			return plumbing.NewHash(hash), nil
		}
	}
	if err := checkFormat(dir); err != nil {
		return plumbing.ZeroHash, err
	}
	return plumbing.ZeroHash, ErrBranchGone
}

// checkFormat refuses repositories that would be read wrongly.
func checkFormat(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return fmt.Errorf("cannot open repository %s: %w", dir, err)
	}
	for line := range strings.Lines(strings.ToLower(string(text))) {
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case key == "objectformat" && value != "sha1":
			return errSHA256
		case key == "refstorage" && value != "files":
			return fmt.Errorf("cannot open repository %s: it keeps its references in the format %q; use git refs migrate --ref-format=files", dir, value)
		}
	}
	return nil
}

// readShallow returns the commits at which a shallow clone's history ends.
func readShallow(dir string) (map[plumbing.Hash]bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, "shallow"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read where the history ends: %w", err)
	}
	ends := map[plumbing.Hash]bool{}
	for line := range strings.Lines(string(text)) {
		ends[plumbing.NewHash(strings.TrimSpace(line))] = true
	}
	return ends, nil
}

// sameShallow returns where the repository's history ends, and writes it into the store. A store that ends where the
// repository does not any more lacks history.
func sameShallow(dir string, into *store) (map[plumbing.Hash]bool, error) {
	ends, err := readShallow(dir)
	if err != nil {
		return nil, err
	}
	ours, err := readShallow(into.dir)
	if err != nil {
		return nil, inStore(err)
	}
	if len(ends) == 0 && len(ours) > 0 {
		return nil, inStore(errors.New("the repository's history was completed"))
	}
	before := len(ours)
	for h := range ends {
		ours[h] = true
	}
	if len(ours) == before {
		return ours, nil
	}
	var text strings.Builder
	for h := range ours {
		fmt.Fprintln(&text, h)
	}
	return ours, inStore(replaceFile(filepath.Join(into.dir, "shallow"), text.String(), true))
}

// objectDirs returns the git directory and those that it borrows objects from, whose alternates count too.
func objectDirs(dir string) ([]string, error) {
	dirs := []string{dir}
	for i := 0; i < len(dirs); i++ {
		text, err := os.ReadFile(filepath.Join(dirs[i], "objects", "info", "alternates"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the alternates of %s: %w", dirs[i], err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			objects := within(filepath.Join(dirs[i], "objects"), line)
			if filepath.Base(objects) != "objects" {
				return nil, fmt.Errorf("cannot use alternate %s: its last element must be objects", objects)
			}
			if alt := filepath.Dir(objects); !slices.Contains(dirs, alt) {
				dirs = append(dirs, alt)
			}
		}
	}
	return dirs, nil
}
