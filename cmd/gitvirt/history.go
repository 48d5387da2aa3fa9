package main

import (
	"context"
	"fmt"

	"github.com/gitvirt/gitvirt/source"
)

// history finds earlier revisions. It is opened when the first is asked for: most documents name none, and a folder need not
// be a clone.
type history struct {
	flags  *documentFlags
	opened bool
	source *source.Source
	done   func()
	err    error
}

func (h *history) at(ctx context.Context, commit string) (*source.Snapshot, error) {
	if !h.opened {
		h.opened = true
		h.source, h.done, h.err = h.flags.source(ctx)
	}
	if h.err != nil {
		return nil, fmt.Errorf("the history cannot be read: %w", h.err)
	}
	return h.source.At(ctx, commit)
}

func (h *history) close() {
	if h.source != nil {
		h.done()
	}
}
