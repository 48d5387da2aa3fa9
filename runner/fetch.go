package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/oci"
)

// fetch brings what a volume needs of an image in a registry, if it is not on the host. At is the volume's own file; empty
// when it is not to be made. User is the domain that waits for it. It may take long, and holds up nothing but its domain: no connection and no folder's turn
// is held meanwhile, and how many images are fetched at once is the fetcher's to bound.
func (r *Runner) fetch(ctx context.Context, user string, v render.Volume, at string) error {
	if v.Fetch == nil {
		return nil
	}
	to := v.Backing
	if v.Kind == render.VolumeFetched {
		to = v.Path
	}
	there, err := r.exists(ctx, to)
	if err != nil || there {
		return err
	}
	if v.Kind == render.VolumeOverlay {
		if err := r.checkPinned(ctx, v, at); err != nil {
			return err
		}
	}
	_, err = r.fetcher.Fetch(ctx, oci.Source{Image: v.Fetch.Image, Path: v.Fetch.Path}, to, user)
	return err
}

// checkPinned refuses to fetch what an overlay lies on already, unless it is certain to be the same as before: an overlay
// on other bytes is a disk of garbage.
func (r *Runner) checkPinned(ctx context.Context, v render.Volume, at string) error {
	made, err := r.exists(ctx, at)
	if err != nil || !made {
		return err
	}
	pinned, err := inFolder(ctx, r, filepath.Dir(v.Backing), func(context.Context) (bool, error) {
		return oci.Source{Image: v.Fetch.Image, Path: v.Fetch.Path}.Pinned(v.Backing)
	})
	if err != nil || pinned {
		return err
	}
	return classed{ErrImage, fmt.Errorf("%s is an overlay of %s, which is gone, and of the image %s it is not known which it was: "+
		"put the file back, or name the image with its digest", at, v.Backing, v.Fetch.Image)}
}

func (r *Runner) exists(ctx context.Context, path string) (bool, error) {
	return inFolder(ctx, r, filepath.Dir(path), func(context.Context) (bool, error) {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}
