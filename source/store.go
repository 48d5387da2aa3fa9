package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"
)

// store is our bare repository. Its folder holds git's own files, so that people can look into it with git, and a
// record of what we accepted.
type store struct {
	*objects
	dir   string
	bulk  bool            // it is being made: everything goes into packs
	empty bool            // nothing was written into it
	loose int             // loose objects
	fresh []plumbing.Hash // those that were written and not yet made durable
	marks string          // what the store's files looked like when we last wrote
}

// record says which revision counts. It is replaced as a whole, after the objects it speaks of.
type record struct {
	// URL and Branch are what the store was fetched from: a store of another repository is no cache of ours.
	URL    string `json:"url"`
	Branch string `json:"branch"`
	// Commit is the accepted revision, Previous the one accepted before it.
	Commit   string `json:"commit"`
	Previous string `json:"previous,omitempty"`
	// Tag is the name of the tag that stood at Commit, if tags are followed, and TagObject its object if it has one.
	Tag       string `json:"tag,omitempty"`
	TagObject string `json:"tagObject,omitempty"`
	// Kept are accepted commits that a rewritten branch no longer leads to, newest first.
	Kept []string `json:"kept,omitempty"`
}

// localBranch is the branch of our store that stands at the revision.
func (r record) localBranch() string {
	if r.Tag != "" {
		return "refs/heads/" + tagBranch
	}
	return "refs/heads/" + r.Branch
}

// reference is what the followed reference stood for.
func (r record) reference() plumbing.Hash {
	if r.TagObject != "" {
		return plumbing.NewHash(r.TagObject)
	}
	return plumbing.NewHash(r.Commit)
}

// maxKept bounds the commits that are kept after the branch was rewritten: old revisions may still be in force for
// single documents.
const maxKept = 32

const recordFile = "gitvirt.json"

// createStore makes an empty bare repository in dir, which must not exist.
func createStore(dir, branch string) (*store, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the store: %w", err)
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the store: %w", err)
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: " + branch + "\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("cannot make the store: %w", err)
		}
	}
	return &store{objects: openObjects(dir), dir: dir, bulk: true, empty: true}, nil
}

// openStore opens what createStore made and returns its record.
func openStore(dir string) (*store, record, error) {
	var rec record
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Stat(dir); errors.Is(e, fs.ErrNotExist) {
			return nil, rec, ErrNoRevision
		}
	}
	if err != nil {
		return nil, rec, fmt.Errorf("cannot read the store's record: %w", err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, rec, fmt.Errorf("cannot parse the store's record: %w", err)
	}
	if !plumbing.IsHash(rec.Commit) {
		return nil, rec, fmt.Errorf("the store's record names no commit")
	}
	s := &store{objects: openObjects(dir), dir: dir, loose: looseCount(dir)}
	s.marks = s.fingerprint()
	return s, rec, nil
}

// wroteLoose notes that an object was written as a file of its own.
func (s *store) wroteLoose(hash plumbing.Hash) {
	s.loose++
	s.fresh = append(s.fresh, hash)
}

// maxFsyncs is the number of files past which flushing the whole file system is the cheaper way.
const maxFsyncs = 256

// settle makes the objects that were written one by one durable. go-git does not.
func (s *store) settle() error {
	defer func() { s.fresh = nil }()
	if len(s.fresh) > maxFsyncs {
		d, err := os.Open(s.dir)
		if err != nil {
			return err
		}
		defer d.Close()
		return unix.Syncfs(int(d.Fd()))
	}
	for _, h := range s.fresh {
		name := h.String()
		if err := syncFile(filepath.Join(s.dir, "objects", name[:2], name[2:])); err != nil {
			return err
		}
	}
	return nil
}

// accept writes the record, and the branch for people who look into the store with git.
func (s *store) accept(rec record) error {
	if err := s.settle(); err != nil {
		return inStore(fmt.Errorf("cannot make the revision durable: %w", err))
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return inStore(fmt.Errorf("cannot write the store's record: %w", err))
	}
	if err := replaceFile(filepath.Join(s.dir, recordFile), string(data)+"\n", true); err != nil {
		return inStore(fmt.Errorf("cannot write the store's record: %w", err))
	}
	ref := filepath.Join(s.dir, filepath.FromSlash(rec.localBranch()))
	if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
		return inStore(fmt.Errorf("cannot write the store's branch: %w", err))
	}
	if err := replaceFile(ref, rec.Commit+"\n", false); err != nil {
		return inStore(fmt.Errorf("cannot write the store's branch: %w", err))
	}
	s.marks = s.fingerprint()
	return nil
}

// damaged reports whether somebody else changed the store's packs or record since we last wrote to it. It costs a
// look at a few files, no reading.
func (s *store) damaged() bool { return s.marks != s.fingerprint() }

func (s *store) fingerprint() string {
	packs, err := os.ReadDir(filepath.Join(s.dir, "objects", "pack"))
	marks := fmt.Sprint(err)
	mark := func(info fs.FileInfo, err error) {
		if err != nil {
			marks += fmt.Sprintln(err)
			return
		}
		marks += fmt.Sprintln(info.Name(), info.Size(), info.ModTime().UnixNano())
	}
	for _, p := range packs {
		// What an interrupted write left there does no harm.
		if ext := filepath.Ext(p.Name()); ext == ".pack" || ext == ".idx" {
			mark(p.Info())
		}
	}
	mark(os.Stat(filepath.Join(s.dir, recordFile)))
	return marks
}

// sync makes the store durable.
func (s *store) sync() error {
	return filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncFile(path)
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// replaceFile writes a file so that a reader finds the old content or the new one, and after a crash too when it is
// to be durable.
func replaceFile(path, text string, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if durable {
		if err := f.Sync(); err != nil {
			f.Close()
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
