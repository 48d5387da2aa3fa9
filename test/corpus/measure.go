package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// measure tries every input, and then the mutations of those that libvirtd accepts: their values come from all of the corpus.
func measure(ctx context.Context, o options, documents []document) (results []result, err error) {
	labs := make([]*lab, max(1, o.jobs))
	for n := range labs {
		d, err := startDaemon(ctx, o.cache)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		labs[n] = &lab{daemon: d, asIs: o.asIs}
	}
	results = make([]result, len(documents))
	err = share(ctx, labs, len(documents), func(ctx context.Context, l *lab, i int) error {
		r, err := l.enter(ctx, documents[i])
		if err == nil && r.way.accepted() {
			err = errors.Join(l.compare(ctx, &r), l.daemon.clear(ctx))
		}
		results[i] = r
		return err
	})
	if err != nil || o.mutations == 0 {
		return results, err
	}
	words := learn(results)
	return results, share(ctx, labs, len(results), func(ctx context.Context, l *lab, i int) error {
		if !results[i].way.accepted() || len(results[i].wrong)+len(results[i].lost) > 0 {
			return nil // what is not there cannot be told from what is changed
		}
		return l.mutate(ctx, o, &results[i], words)
	})
}

// share has the labs work at n things, each lab at one at a time.
func share(ctx context.Context, labs []*lab, n int, do func(context.Context, *lab, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for first, l := range labs {
		group.Go(func() error {
			for i := first; i < n && ctx.Err() == nil; i += len(labs) {
				if err := do(ctx, l, i); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}
