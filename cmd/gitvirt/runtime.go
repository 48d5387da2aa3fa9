package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// runtime completes a config as of a commit, or of the revision in force.
func (a *agent) runtime(ctx context.Context, config, revision string) (status.Instance, error) {
	s := a.source.Last()
	if revision != "" {
		var err error
		s, err = a.source.At(ctx, revision)
		switch {
		case errors.Is(err, source.ErrUnknownCommit), errors.Is(err, source.ErrNoRevision):
			return status.Instance{}, fmt.Errorf("%w: %w", status.ErrNotFound, err)
		case err != nil:
			return status.Instance{}, err
		}
	}
	if s == nil {
		return status.Instance{}, fmt.Errorf("%w: there is no revision yet", status.ErrNotFound)
	}
	documents := a.loop.Documents()
	set, err := documents.Read(s)
	if err == nil {
		set, err = documents.Whole(s, set, config)
	}
	if err != nil {
		return status.Instance{}, err
	}
	o := render.Options{Fleet: a.set.Fleet, Revision: s.Commit, CacheDir: a.set.cacheDir()}
	placement := render.Place(set, a.set.DefaultHost).Sealed(reconcile.Sealed(s))
	m, found := placement.Find(config)
	if !found || m.Run.ConfigName() != config {
		for _, other := range placement.Machines {
			if other.Run.ConfigName() == config {
				m, found = other, true
				break
			}
		}
	}
	if found && m.Run.ConfigName() == config {
		return rendered(placement.Of(m, o))
	}
	if set.Configs[config] == nil {
		return status.Instance{}, fmt.Errorf("%w: there is no config %q in revision %.12s", status.ErrNotFound, config, s.Commit)
	}
	return rendered(placement.Unplaced(config, o))
}

func rendered(i *render.Instance, problems []manifest.Problem) (status.Instance, error) {
	if i == nil {
		return status.Instance{}, fmt.Errorf("cannot complete it: %s", problems[0])
	}
	return status.Rendered(i), nil
}
