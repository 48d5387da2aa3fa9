package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// documentFlags say where a command reads documents from: a folder as it is, or a branch of a repository.
type documentFlags struct {
	dir, repo, branch, path          string
	host, defaultHost, fleet, config string
}

func (d *documentFlags) bind(c *cobra.Command) {
	s := defaults()
	f := c.Flags()
	f.StringVar(&d.dir, "dir", ".", "the folder with the documents, as they are on the disk")
	f.StringVar(&d.repo, "repo", "", "a repository to read instead of a folder")
	f.StringVar(&d.branch, "branch", s.Branch, "the branch of the repository")
	f.StringVar(&d.path, "path", s.Path, "the folder in the repository, or below --dir, that holds the documents")
	f.StringVar(&d.host, "host", "", "only what concerns this host")
	f.StringVar(&d.defaultHost, "default-host", "", "where machines are of which KubeVirt's manifests do not say it")
	f.StringVar(&d.fleet, "fleet", s.Fleet, "the name of all hosts together; UUIDs and MAC addresses are derived from it")
	f.StringVar(&d.config, "config", "", "the agent's configuration file, for what it says of the repository, and for its policy")
	c.MarkFlagsMutuallyExclusive("dir", "repo")
}

// snapshot reads the documents, at a commit if one is named.
func (d *documentFlags) snapshot(ctx context.Context, commit string) (*source.Snapshot, func(), error) {
	nothing := func() {}
	if d.repo == "" && commit == "" {
		s, err := source.Folder(filepath.Join(d.dir, d.path))
		return s, nothing, err
	}
	src, done, err := d.source(ctx)
	if err != nil {
		return nil, nothing, err
	}
	s := src.Last()
	if commit != "" {
		s, err = src.At(ctx, commit)
	}
	if err != nil {
		done()
		return nil, nothing, err
	}
	return s, done, nil
}

// source is the repository, or the one that the folder is a clone of, with its newest revision fetched.
func (d *documentFlags) source(ctx context.Context) (*source.Source, func(), error) {
	if err := notInView(d.repo); err != nil {
		return nil, nil, err
	}
	var a auth
	var tags source.Tags
	if d.config != "" {
		s, err := read(d.config)
		if err != nil {
			return nil, nil, err
		}
		a, tags = s.Auth, s.Ref.source()
	}
	url := d.repo
	if url == "" {
		url = d.dir
	}
	src, done, err := temporary(source.Options{URL: url, Branch: d.branch, Path: d.path, Tags: tags, Auth: a.source(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	if _, err := src.Fetch(ctx); err != nil {
		done()
		return nil, nil, err
	}
	return src, done, nil
}

// temporary is a source with a store of its own: the agent's belongs to the agent.
func temporary(o source.Options) (*source.Source, func(), error) {
	dir, err := os.MkdirTemp("", "gitvirt-")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a folder for the repository's objects: %w", err)
	}
	o.Dir = filepath.Join(dir, "source")
	src, err := source.New(o)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return src, func() { _ = errors.Join(src.Close(), os.RemoveAll(dir)) }, nil
}

// view reads a snapshot's documents and completes the instances of the host, or of all.
func (d *documentFlags) view(ctx context.Context, s *source.Snapshot, domainType string) (reconcile.View, error) {
	documents := reconcile.NewDocuments("")
	set, err := documents.Read(s)
	if err != nil {
		return reconcile.View{}, err
	}
	history := &history{flags: d}
	defer history.close()
	o := d.scope(domainType)
	o.Pins = reconcile.NewPins(history.at)
	v, err := documents.Look(ctx, s, set, o)
	if err != nil {
		return v, err
	}
	v.Problems = append(v.Problems, unplaced(s, v, o.Options)...)
	return v, nil
}

func (d *documentFlags) scope(domainType string) reconcile.Scope {
	return reconcile.Scope{Host: d.host, DefaultHost: d.defaultHost, Options: render.Options{Fleet: d.fleet, DomainType: domainType}}
}

// refused are what the policy of the agent's file refuses of the instances; nothing when no file is named.
func (d *documentFlags) refused(s *source.Snapshot, v reconcile.View) ([]manifest.Problem, error) {
	if d.config == "" {
		return nil, nil
	}
	set, err := read(d.config)
	if err != nil {
		return nil, err
	}
	p, err := set.Policy.policy()
	if err != nil {
		return nil, fmt.Errorf("cannot read the agent's configuration %s: %w", d.config, err)
	}
	return v.Refusals(s, p), nil
}

// unplaced checks the configs that nothing speaks of.
func unplaced(s *source.Snapshot, v reconcile.View, o render.Options) []manifest.Problem {
	placed := map[string]bool{}
	for _, r := range v.Set.RunStates {
		placed[r.ConfigName()] = true
	}
	for _, g := range v.Set.Groups {
		placed[g.ConfigName()] = g.Size() > 0
	}
	var problems []manifest.Problem
	for _, name := range slices.Sorted(maps.Keys(v.Set.Configs)) {
		if !placed[name] {
			_, bad := v.Placement.Unplaced(name, o)
			problems = append(problems, reconcile.Locate(s, bad)...)
		}
	}
	return problems
}
