package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Folder reads a folder as it is on the disk, committed or not, with the same rules as a revision: for checks before a
// commit. The snapshot has no commit.
func Folder(dir string) (*Snapshot, error) {
	texts := map[string][]byte{}
	s := &Snapshot{Time: time.Time{}, read: func(hash string) ([]byte, error) {
		if text, ok := texts[hash]; ok {
			return text, nil
		}
		if strings.HasPrefix(hash, tooLarge) {
			return nil, errTooLarge
		}
		return nil, fmt.Errorf("there is no file of hash %s in %s", hash, dir)
	}}
	if err := readFolder(dir, nil, rules{}, s, texts); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", dir, err)
	}
	// As in a revision: by path, so that a folder's files stand where its name does.
	slices.SortFunc(s.Entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return s, nil
}

// tooLarge begins what stands for the hash of a file that is not read.
const tooLarge = "too large: "

func readFolder(root string, at []string, r rules, s *Snapshot, texts map[string][]byte) error {
	here := filepath.Join(append([]string{root}, at...)...)
	ignore, err := os.ReadFile(filepath.Join(here, ignoreFile))
	switch {
	case err == nil:
		r = r.with(at, ignore)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(here)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := append(slices.Clone(at), e.Name())
		if r.leftOut(name, e.IsDir()) {
			continue
		}
		switch {
		case e.IsDir():
			if err := readFolder(root, name, r, s, texts); err != nil {
				return err
			}
		case e.Type().IsRegular():
			if info, err := e.Info(); err == nil && info.Size() > maxFile {
				p := path.Join(strings.Join(at, "/"), e.Name())
				s.Entries = append(s.Entries, Entry{Path: p, Hash: tooLarge + p, Size: info.Size()})
				continue
			}
			data, err := os.ReadFile(filepath.Join(here, e.Name()))
			if err != nil {
				return err
			}
			hash := plumbing.ComputeHash(plumbing.BlobObject, data).String()
			texts[hash] = data
			s.Entries = append(s.Entries, Entry{Path: path.Join(strings.Join(at, "/"), e.Name()), Hash: hash, Size: int64(len(data))})
		}
	}
	return nil
}
