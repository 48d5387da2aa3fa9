package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// maxPinnedSets is how many revisions are kept whole, beside the newest and the last good one. What a machine is pinned to
// is kept by itself, and is small.
const maxPinnedSets = 3

// Pins are what machines' pinned revisions say of their configs. Asking for one that is not known yet makes a note, and read
// finds what was noted. They may be used from several goroutines.
type Pins struct {
	at func(ctx context.Context, commit string) (*source.Snapshot, error)

	mu    sync.Mutex
	known map[pinned]answer
	asked map[pinned]bool // since the last Begin
	noted map[pinned]bool // to be read
	news  bool
	base  *Documents // those of the newest revision: a pin costs what differs from it

	reading sync.Mutex
	sets    []pinnedSet // those used last come first
}

// pinned names a config as of a commit, as it is written in a document.
type pinned struct{ commit, config string }

type answer struct {
	pin *render.Pinned
	err error
}

type pinnedSet struct {
	snapshot *source.Snapshot
	set      *manifest.Set
}

// NewPins makes pins that are read through at, which finds the revision of a commit, named in full or by its beginning.
func NewPins(at func(ctx context.Context, commit string) (*source.Snapshot, error)) *Pins {
	return &Pins{at: at, known: map[pinned]answer{}, asked: map[pinned]bool{}, noted: map[pinned]bool{}}
}

// errUnread says that a pinned revision could not be read, or not yet. That is no fault of the documents.
var errUnread = errors.New("it is not known yet what its pinned revision says")

// begin begins a new revision: what was not asked for since the last one is forgotten, and what could not be found then is
// looked for again.
func (p *Pins) begin(newest *Documents) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.known, func(k pinned, a answer) bool { return a.err != nil || !p.asked[k] })
	clear(p.asked)
	clear(p.noted)
	p.base = newest.Fork()
}

// documents are a reader that begins with the newest revision; nil before there is one.
func (p *Pins) documents() *Documents {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base == nil {
		return nil
	}
	return p.base.Fork()
}

// of is what a commit says of a config.
func (p *Pins) of(commit, config string) (*render.Pinned, error) {
	k := pinned{commit, config}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[k] = true
	a, ok := p.known[k]
	if !ok || errors.Is(a.err, errUnread) {
		p.noted[k] = true
	}
	if !ok {
		return nil, errUnread
	}
	return a.pin, a.err
}

// pending says whether read has something to do.
func (p *Pins) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.noted) > 0
}

// take says whether more is known than when it was asked last.
func (p *Pins) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.news
	p.news = false
	return news
}

// read finds what was noted. It may take as long as the repository does.
func (p *Pins) read(ctx context.Context) {
	p.reading.Lock()
	defer p.reading.Unlock()
	p.mu.Lock()
	noted, base := slices.Collect(maps.Keys(p.noted)), p.base
	p.mu.Unlock()
	for _, k := range noted {
		pin, err := p.find(ctx, k, base)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		before, was := p.known[k]
		p.news = p.news || !was || fmt.Sprint(before.err) != fmt.Sprint(err)
		p.known[k] = answer{pin, err}
		if !errors.Is(err, errUnread) {
			delete(p.noted, k) // the others are tried again
		}
		p.mu.Unlock()
	}
}

func (p *Pins) find(ctx context.Context, k pinned, base *Documents) (*render.Pinned, error) {
	s, err := p.at(ctx, k.commit)
	switch {
	case errors.Is(err, source.ErrUnknownCommit):
		return nil, fmt.Errorf("commit %s is not in the history of the branch: say one that is, or push it", k.commit)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	set, err := p.set(s, base)
	if err == nil {
		set, err = base.Whole(s, set, k.config)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	pin, err := render.Pin(set, s.Commit, k.config)
	if err != nil {
		return nil, fmt.Errorf("revision %.12s cannot be used: %w; say another revision, or take it out", s.Commit, err)
	}
	pin.Keep(Sealed(s))
	return pin, nil
}

// set is the documents of a revision.
func (p *Pins) set(s *source.Snapshot, base *Documents) (*manifest.Set, error) {
	at := slices.IndexFunc(p.sets, func(o pinnedSet) bool { return o.snapshot.Commit == s.Commit })
	var use pinnedSet
	if at >= 0 {
		use = p.sets[at]
		p.sets = slices.Delete(slices.Clone(p.sets), at, at+1)
	} else {
		set, err := base.Fork().Read(s)
		if err != nil {
			return nil, err
		}
		use = pinnedSet{s, set}
	}
	p.sets = append([]pinnedSet{use}, p.sets...)
	p.sets = p.sets[:min(len(p.sets), maxPinnedSets)]
	return use.set, nil
}
