package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"
)

// Watch calls changed whenever the branch of a local repository points elsewhere, and whenever somebody accepts a
// commit that is held, at once, until the context ends; then it returns nil. The repository may appear later. It
// returns nil at once when there is nothing to watch.
func (s *Source) Watch(ctx context.Context, changed func()) error {
	g, ctx := errgroup.WithContext(ctx)
	if s.at.local() {
		g.Go(func() error { return s.watchBranch(ctx, changed) })
	}
	if s.opt.ForcedPush == Hold {
		g.Go(func() error { return s.watchAccepted(ctx, changed) })
	}
	return g.Wait()
}

// watchBranch calls changed whenever the branch points elsewhere.
//
// What is watched are folders, since git replaces its files by renaming. An event only makes the branch be read
// again, and git moves a branch after the objects are in place, so there is nothing to wait for.
func (s *Source) watchBranch(ctx context.Context, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("cannot watch %s: %w", s.at, err)
	}
	defer w.Close()
	follow := *s.follow // which others use at the same time
	ref := follow.place()
	// The first look comes after the watches, so that no change falls between them.
	if err := watchAll(w, s.at.path, ref); err != nil {
		return fmt.Errorf("cannot watch %s: %w", s.at, err)
	}
	was := headOf(s.at.path, &follow)
	if last := s.last.Load(); last != nil && last.Commit != was.String() {
		changed()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return fmt.Errorf("cannot watch %s: the watch ended", s.at)
			}
			// Folders come and go with branches whose names have slashes.
			if e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				if err := watchAll(w, s.at.path, ref); err != nil {
					return fmt.Errorf("cannot watch %s: %w", s.at, err)
				}
			}
		case err, ok := <-w.Errors:
			// Events were lost: look.
			if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("cannot watch %s: %w", s.at, err)
			}
		}
		if now := headOf(s.at.path, &follow); now != was {
			was = now
			changed()
		}
	}
}

// headOf returns what the followed reference stands for; zero when there is none to be read.
func headOf(path string, f *followed) plumbing.Hash {
	dir, err := gitDir(path)
	if err != nil {
		return plumbing.ZeroHash
	}
	head, err := readFollowed(dir, f)
	if err != nil {
		return plumbing.ZeroHash
	}
	return head
}

// watchAll watches the folders in which the branch can be found; where one is missing, the one above it.
func watchAll(w *fsnotify.Watcher, path string, ref plumbing.ReferenceName) error {
	var wanted []string
	dir, err := gitDir(path)
	if err != nil {
		// There is no repository yet. It will appear in or below the nearest folder that exists.
		if wanted, err = watchDown(w, nearest(path), filepath.Join(path, ".git")); err != nil {
			return err
		}
		dir, err = gitDir(path) // or just now
	}
	if err == nil {
		if wanted, err = watchDown(w, dir, filepath.Join(dir, filepath.Dir(filepath.FromSlash(ref.String())))); err != nil {
			return err
		}
		// A work tree that is moved away takes its .git along, which notices nothing.
		if err := w.Add(path); err != nil && !missingFile(err) {
			return err
		}
		wanted = append(wanted, path)
	}
	// A folder that others write to a lot must not keep us busy for longer than needed.
	for _, old := range w.WatchList() {
		if !slices.Contains(wanted, old) {
			w.Remove(old)
		}
	}
	return nil
}

func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// watchDown watches the folders from top down to dir, as far as they exist. It begins above, so that a folder that
// appears meanwhile is found or announced. To watch a folder twice is to watch it once.
func watchDown(w *fsnotify.Watcher, top, dir string) ([]string, error) {
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	var list []string
	at := top
	for _, name := range append([]string{"."}, strings.Split(rel, string(filepath.Separator))...) {
		at = filepath.Join(at, name)
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			break
		}
		if err := w.Add(at); err != nil && !missingFile(err) {
			return nil, err
		}
		list = append(list, at)
	}
	return list, nil
}
