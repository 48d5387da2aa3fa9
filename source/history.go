package source

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxNewCommits bounds the commits whose trailers count, maxWalked the search for the commit before.
const (
	maxNewCommits = 1000
	maxWalked     = 20000
)

// advance is what lies between two commits.
type advance struct {
	allowed int
	forced  bool // base is not an ancestor of head, or too far back to be found
}

// since looks at the commits that head leads to and base does not. Without a base, or when it is not known any more,
// that is head alone: the trailers of all history would allow anything.
func since(ctx context.Context, from *objects, head *object.Commit, base plumbing.Hash) (advance, error) {
	adv := advance{allowed: allowedRemovals(head.Message)}
	if base.IsZero() || base == head.Hash {
		return adv, nil
	}
	start, err := from.commit(base)
	if err != nil {
		adv.forced = true
		return adv, nil
	}
	w := &painter{from: from, seen: map[plumbing.Hash]*painted{}}
	w.reach(head, isNew)
	w.reach(start, isOld)
	for walked := 0; w.onlyNew > 0 && walked < maxWalked; walked++ {
		if err := ctx.Err(); err != nil {
			return adv, err
		}
		w.step()
	}
	w.settle()
	adv.forced = w.seen[base].colour&isNew == 0
	count := 0
	for _, p := range w.order {
		if p.colour != isNew {
			continue
		}
		if count++; count > maxNewCommits {
			break
		}
		adv.allowed = max(adv.allowed, p.allowed)
	}
	return adv, nil
}

const (
	isNew = 1 << iota // head leads to it
	isOld             // base leads to it
)

type painted struct {
	hash    plumbing.Hash
	colour  int
	queued  bool
	time    int64
	parents []plumbing.Hash
	allowed int
}

// painter walks from both commits at once, the newest first, until all that is left is reached from base. A commit
// that gets a further colour is walked again.
type painter struct {
	from    *objects
	seen    map[plumbing.Hash]*painted
	order   []*painted // as first reached
	queue   byTime
	onlyNew int // queued commits that base was not seen to lead to
}

func (w *painter) reach(c *object.Commit, colour int) {
	p := &painted{hash: c.Hash, time: c.Committer.When.Unix(), parents: c.ParentHashes, allowed: allowedRemovals(c.Message)}
	w.seen[c.Hash] = p
	w.order = append(w.order, p)
	w.paint(p, colour)
}

func (w *painter) paint(p *painted, colour int) {
	before := p.colour
	p.colour |= colour
	if p.colour == before {
		return
	}
	if p.queued {
		if before == isNew {
			w.onlyNew--
		}
		return
	}
	p.queued = true
	heap.Push(&w.queue, p)
	if p.colour == isNew {
		w.onlyNew++
	}
}

func (w *painter) step() {
	p := heap.Pop(&w.queue).(*painted)
	p.queued = false
	if p.colour == isNew {
		w.onlyNew--
	}
	for _, hash := range p.parents {
		if known := w.seen[hash]; known != nil {
			w.paint(known, p.colour)
			continue
		}
		// A commit that is not there is where the history of a shallow repository ends.
		if c, err := w.from.commit(hash); err == nil {
			w.reach(c, p.colour)
		}
	}
}

// settle paints on among the commits that were reached. Of commits of one second the older may have been walked first,
// before it was known that base leads to it, and what it leads to with it.
func (w *painter) settle() {
	for w.queue.Len() > 0 {
		p := heap.Pop(&w.queue).(*painted)
		p.queued = false
		for _, hash := range p.parents {
			if known := w.seen[hash]; known != nil {
				w.paint(known, p.colour)
			}
		}
	}
}

// leadsTo says whether a commit is another one or has it among its ancestors.
func leadsTo(ctx context.Context, from *objects, head, ancestor plumbing.Hash) (bool, error) {
	commit, err := from.commit(head)
	if err != nil {
		return false, err
	}
	adv, err := since(ctx, from, commit, ancestor)
	return err == nil && !adv.forced && !ancestor.IsZero(), err
}

type byTime []*painted

func (q byTime) Len() int           { return len(q) }
func (q byTime) Less(i, j int) bool { return q[i].time > q[j].time }
func (q byTime) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byTime) Push(x any)        { *q = append(*q, x.(*painted)) }
func (q *byTime) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// maxVerified bounds the commits of which each must be verified: signatures of so many take seconds.
const maxVerified = 10000

// newCommits are the commits that head leads to and base does not. When base is not known any more they are all.
func newCommits(ctx context.Context, from *objects, head, base plumbing.Hash) ([]plumbing.Hash, error) {
	w := &painter{from: from, seen: map[plumbing.Hash]*painted{}}
	for hash, colour := range map[plumbing.Hash]int{head: isNew, base: isOld} {
		c, err := from.commit(hash)
		if err != nil && colour == isNew {
			return nil, err
		}
		if err == nil {
			w.reach(c, colour)
		}
	}
	for walked := 0; w.onlyNew > 0; walked++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if walked == maxWalked {
			return nil, fmt.Errorf("more than %d commits lie between it and the revision accepted last, %s", maxWalked, base)
		}
		w.step()
	}
	w.settle()
	var list []plumbing.Hash
	for _, p := range w.order {
		if p.colour == isNew {
			list = append(list, p.hash)
		}
	}
	if len(list) > maxVerified {
		return nil, fmt.Errorf("it brings %d commits at once, and at most %d are verified: push it in steps, or begin anew with verify.mode %s", len(list), maxVerified, VerifyHead)
	}
	return list, nil
}

// haves returns commits of ours for a remote to find what we have in common with it: the newest ones, and further
// back ever fewer, for the day that the branch is rewound.
func haves(from *objects, heads ...plumbing.Hash) []plumbing.Hash {
	const dense, far = 16, 256
	var list []plumbing.Hash
	for _, hash := range heads {
		for i := range far {
			c, err := from.commit(hash)
			if err != nil {
				break
			}
			if i < dense || i&(i-1) == 0 {
				list = append(list, hash)
			}
			if len(c.ParentHashes) == 0 {
				break
			}
			hash = c.ParentHashes[0]
		}
	}
	return list
}
