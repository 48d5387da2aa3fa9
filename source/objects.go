package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// objectCacheSize bounds the delta bases that a repository keeps in memory. go-git's default of 96 MiB is more than
// the whole agent may use.
const objectCacheSize = 8 * cache.MiByte

// maxFile is the largest file that is read, in bytes. A larger one is there, and that is all that is known of it: a few bytes
// in a pack can stand for more than the host has memory.
const maxFile = 32 << 20

// errTooLarge says that a file has more than that.
var errTooLarge = fmt.Errorf("it has more than %d MiB, which is the most that is read", maxFile>>20)

// objects reads a repository's object database: its own folder and the alternates it borrows from. go-git's storage
// is not safe for concurrent use, so each access takes the lock for as long as one object takes to read.
type objects struct {
	mu     sync.Mutex
	stores []*filesystem.Storage
	caches []*cache.ObjectLRU // of the stores
}

// openObjects opens git directories: each holds a folder "objects".
func openObjects(gitDirs ...string) *objects {
	o := &objects{}
	for _, dir := range gitDirs {
		kept := cache.NewObjectLRU(objectCacheSize)
		o.caches = append(o.caches, kept)
		o.stores = append(o.stores, filesystem.NewStorageWithOptions(osfs.New(dir), kept, filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: maxFile}))
	}
	return o
}

// rest forgets the delta bases that are kept in memory.
func (o *objects) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.caches {
		c.Clear()
	}
}

func (o *objects) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.stores {
		s.Close()
	}
	o.stores = nil
}

// guard takes the lock and turns a panic into an error: go-git has panicked on damaged packs before, and a damaged
// file must not end the agent.
func (o *objects) guard(hash plumbing.Hash, read func() error) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot read object %s: %v", hash, p)
		}
	}()
	return read()
}

// has reports whether the object is there, without reading it.
func (o *objects) has(hash plumbing.Hash) bool {
	found := false
	o.guard(hash, func() error {
		for _, s := range o.stores {
			found = found || s.HasEncodedObject(hash) == nil
		}
		return nil
	})
	return found
}

// read returns an object's bytes once its hash was found right: go-git checks none when it reads.
func (o *objects) read(typ plumbing.ObjectType, hash plumbing.Hash) (data []byte, err error) {
	err = o.guard(hash, func() error {
		obj, err := o.find(typ, hash)
		if err != nil {
			return err
		}
		if obj.Size() > maxFile {
			return errTooLarge
		}
		r, err := obj.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		data = make([]byte, obj.Size())
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		if n, _ := io.Copy(io.Discard, r); n > 0 || plumbing.ComputeHash(obj.Type(), data) != hash {
			return errors.New("its content does not match its hash")
		}
		return nil
	})
	if errors.Is(err, errTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read %s %s: %w", ErrIncomplete, typ, hash, err)
	}
	return data, nil
}

func (o *objects) find(typ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	err := error(plumbing.ErrObjectNotFound)
	for _, s := range o.stores {
		obj, e := s.EncodedObject(typ, hash)
		if e == nil {
			return obj, nil
		}
		if !errors.Is(e, plumbing.ErrObjectNotFound) {
			err = e
		}
	}
	return nil, err
}

// commit reads a commit.
func (o *objects) commit(hash plumbing.Hash) (*object.Commit, error) {
	data, err := o.read(plumbing.CommitObject, hash)
	if err != nil {
		return nil, err
	}
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.CommitObject)
	if _, err := obj.Write(data); err != nil {
		return nil, err
	}
	c := &object.Commit{}
	if err := c.Decode(obj); err != nil {
		return nil, fmt.Errorf("%w: cannot parse commit %s: %w", ErrIncomplete, hash, err)
	}
	return c, nil
}

// tree reads a tree.
func (o *objects) tree(hash plumbing.Hash) ([]treeEntry, error) {
	data, err := o.read(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot parse tree %s: %w", ErrIncomplete, hash, err)
	}
	return entries, nil
}

// packable is what packfile.Encoder reads from: whole objects, and deltas as they are stored.
type packable struct {
	storer.EncodedObjectStorer
	o *objects
}

func (p packable) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	return p.o.find(t, h)
}

func (p packable) DeltaObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	for _, s := range p.o.stores {
		if obj, err := s.DeltaObject(t, h); err == nil {
			return obj, nil
		}
	}
	return p.o.find(t, h)
}

// looseCount counts the loose objects of a git directory.
func looseCount(gitDir string) int {
	folders, err := filepath.Glob(filepath.Join(gitDir, "objects", "[0-9a-f][0-9a-f]"))
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range folders {
		if names, err := os.ReadDir(f); err == nil {
			n += len(names)
		}
	}
	return n
}

// size returns a blob's size as the repository states it; 0 when it cannot.
func (o *objects) size(hash plumbing.Hash) (n int64) {
	o.guard(hash, func() error {
		for _, s := range o.stores {
			if size, err := s.EncodedObjectSize(hash); err == nil {
				n = size
				return nil
			}
		}
		return nil
	})
	return n
}
