package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Few objects are written one by one, many, or those of a new store, into packs. A pack's deltas are held in memory while it is written, so
// packs are kept small.
const (
	maxLooseCopy  = 200
	maxPackCount  = 8192
	maxPackBytes  = 16 << 20
	maxPackedBlob = 4 << 20
)

// copyFrom copies what the commits lead to, with their whole history, from another repository on this machine. It
// needs no git binary, and no walk over the whole history to find what is new: what is copied goes in an order in
// which each object comes after all that it leads to, so what the store has, it has with all that it leads to.
func (s *store) copyFrom(ctx context.Context, from *objects, shallow map[plumbing.Hash]bool, tips ...plumbing.Hash) error {
	c := &copier{ctx: ctx, to: s, from: from, seen: map[plumbing.Hash]struct{}{}, all: s.empty}
	s.empty = false
	commits, err := c.missingCommits(shallow, tips)
	if err != nil {
		return err
	}
	for i, commit := range commits {
		if err := c.tree(commit.tree); err != nil {
			return fmt.Errorf("cannot copy commit %s: %w", commit.hash, err)
		}
		if err := c.add(plumbing.CommitObject, commit.hash, 0); err != nil {
			return err
		}
		commits[i] = copiedCommit{}
	}
	return c.flush(true)
}

type copier struct {
	ctx   context.Context
	to    *store
	from  *objects
	seen  map[plumbing.Hash]struct{}
	queue []queued
	bytes int64
	all   bool // the store lacks all
}

type queued struct {
	typ  plumbing.ObjectType
	hash plumbing.Hash
}

type copiedCommit struct{ hash, tree plumbing.Hash }

// missingCommits returns the commits that the store lacks, parents first.
func (c *copier) missingCommits(shallow map[plumbing.Hash]bool, tips []plumbing.Hash) ([]copiedCommit, error) {
	type step struct {
		hash plumbing.Hash
		tree plumbing.Hash
		done bool // the parents are in the list
	}
	var list []copiedCommit
	var stack []step
	for _, tip := range tips {
		stack = append(stack, step{hash: tip})
	}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.done {
			list = append(list, copiedCommit{top.hash, top.tree})
			continue
		}
		if !c.wanted(top.hash) {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		commit, err := c.from.commit(top.hash)
		if err != nil {
			return nil, err
		}
		stack = append(stack, step{top.hash, commit.TreeHash, true})
		if shallow[top.hash] {
			continue
		}
		for _, p := range commit.ParentHashes {
			stack = append(stack, step{hash: p})
		}
	}
	return list, nil
}

// wanted reports, once for each object, whether the store lacks it.
func (c *copier) wanted(hash plumbing.Hash) bool {
	if _, ok := c.seen[hash]; ok {
		return false
	}
	c.seen[hash] = struct{}{}
	return c.all || !c.to.has(hash)
}

func (c *copier) tree(hash plumbing.Hash) error {
	if !c.wanted(hash) {
		return nil
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	entries, err := c.from.tree(hash)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.kind {
		case kindFolder:
			err = c.tree(e.hash)
		case kindFile, kindLink:
			if c.wanted(e.hash) {
				err = c.add(plumbing.BlobObject, e.hash, c.from.size(e.hash))
			}
		}
		if err != nil {
			return err
		}
	}
	return c.add(plumbing.TreeObject, hash, int64(len(entries))*40)
}

func (c *copier) add(typ plumbing.ObjectType, hash plumbing.Hash, size int64) error {
	if size > maxPackedBlob {
		return c.loose(queued{typ, hash})
	}
	c.queue = append(c.queue, queued{typ, hash})
	c.bytes += size
	if len(c.queue) < maxPackCount && c.bytes < maxPackBytes {
		return nil
	}
	return c.flush(false)
}

func (c *copier) flush(last bool) error {
	if err := c.ctx.Err(); err != nil || len(c.queue) == 0 {
		return err
	}
	var err error
	if last && !c.to.bulk && len(c.queue) <= maxLooseCopy {
		for _, q := range c.queue {
			if err = c.loose(q); err != nil {
				break
			}
		}
	} else {
		err = c.pack()
	}
	c.queue, c.bytes = c.queue[:0], 0
	return err
}

// loose writes one object as a file of its own.
func (c *copier) loose(q queued) error {
	data, err := c.from.read(q.typ, q.hash)
	if errors.Is(err, errTooLarge) {
		return c.stream(q)
	}
	if err != nil {
		return err
	}
	obj := &plumbing.MemoryObject{}
	obj.SetType(q.typ)
	if _, err := obj.Write(data); err != nil {
		return err
	}
	c.to.wroteLoose(q.hash)
	return c.to.guard(q.hash, func() error {
		if _, err := c.to.stores[0].SetEncodedObject(obj); err != nil {
			return inStore(fmt.Errorf("cannot write object %s: %w", q.hash, err))
		}
		return nil
	})
}

// stream writes an object that is not held in memory. The store names it by what it holds.
func (c *copier) stream(q queued) error {
	c.to.wroteLoose(q.hash)
	return c.to.guard(q.hash, func() error {
		return c.from.guard(q.hash, func() error {
			obj, err := c.from.find(q.typ, q.hash)
			if err != nil {
				return fmt.Errorf("%w: cannot read %s %s: %w", ErrIncomplete, q.typ, q.hash, err)
			}
			if _, err := c.to.stores[0].SetEncodedObject(obj); err != nil {
				return inStore(fmt.Errorf("cannot write object %s: %w", q.hash, err))
			}
			return nil
		})
	})
}

// pack writes the queue as one pack. A window of 1 makes the encoder take over the deltas that it finds and look for
// no others.
func (c *copier) pack() error {
	hashes := make([]plumbing.Hash, len(c.queue))
	for i, q := range c.queue {
		hashes[i] = q.hash
	}
	return c.to.guard(plumbing.ZeroHash, func() error {
		w, err := c.to.stores[0].PackfileWriter()
		if err != nil {
			return inStore(fmt.Errorf("cannot write a pack: %w", err))
		}
		c.from.mu.Lock()
		_, err = packfile.NewEncoder(w, packable{o: c.from}, false).Encode(hashes, 1)
		c.from.mu.Unlock()
		if e := w.Close(); err == nil && e != nil {
			return inStore(fmt.Errorf("cannot write a pack: %w", e))
		}
		if err != nil {
			return fmt.Errorf("%w: cannot copy %d objects: %w", ErrIncomplete, len(hashes), err)
		}
		return nil
	})
}
