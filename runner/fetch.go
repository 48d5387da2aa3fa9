package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/runner/oci"
	"github.com/gitvirt/gitvirt/runner/web"
)

// origin is a source that can tell whether it brings the same bytes as before.
type origin interface {
	download.Source
	Pinned(to string) (bool, error)
}

// fetch brings what a volume needs of an image that is elsewhere, if it is not on the host. At is the volume's own file; empty
// when it is not to be made. User is the domain that waits for it. It may take long, and holds up nothing but its domain: no
// connection and no folder's turn is held meanwhile, and how many images are fetched at once is the fetcher's to bound.
func (r *Runner) fetch(ctx context.Context, user string, v render.Volume, at string) error {
	if v.Fetch == nil {
		return nil
	}
	if v.Kind == render.VolumeCopy && at != "" {
		if made, err := r.exists(ctx, at); err != nil || made {
			return err // it does not need its image any more
		}
	}
	to := v.Fetched()
	src, err := r.origin(v)
	if err != nil {
		return err
	}
	if v.Kind == render.VolumeOverlay {
		other, err := r.checkPinned(ctx, src, v, at)
		if err != nil || other {
			return err
		}
	}
	there, err := r.exists(ctx, to)
	if err != nil || there {
		return err
	}
	_, err = r.fetcher.Fetch(ctx, src, to, user)
	r.trim(ctx, 0)
	return err
}

// ensure makes a volume that is to be at a path, with what it begins as. An image is kept from before it is fetched until its
// overlay is there.
func (r *Runner) ensure(ctx context.Context, user string, v render.Volume, path string, use image.Use) (made bool, err error) {
	if v.Fetch != nil {
		release, err := inFolder(ctx, r, filepath.Dir(path), func(context.Context) (func(), error) {
			return r.imageCache.Lease(v.Backing, filepath.Dir(path))
		})
		if err != nil {
			return false, err
		}
		defer release()
	}
	if err := r.fetch(ctx, user, v, path); err != nil {
		return false, err
	}
	return r.makeFile(ctx, path, v, use)
}

// Downloads are the images that are being fetched.
func (r *Runner) Downloads() []download.State { return r.fetcher.States() }

// origin is where a volume's image comes from.
func (r *Runner) origin(v render.Volume) (origin, error) {
	user, err := r.login(v)
	if err != nil {
		return nil, err
	}
	f := v.Fetch
	if f.URL == "" {
		return oci.Source{Image: f.Image, Path: f.Path, Login: oci.Login(user)}, nil
	}
	login, err := web.ReadLogin(user)
	if err != nil {
		return nil, classed{ErrImage, fmt.Errorf("the password for %s: %w", f, err)}
	}
	return web.Source{URL: f.URL, Sum: f.Sum, Checksums: f.Checksums, Format: f.Format, Login: login, Convert: r.images.FromVMDK}, nil
}

// login is what a registry or a server is asked with; empty for nothing.
func (r *Runner) login(v render.Volume) (string, error) {
	if v.Fetch.Login == "" {
		return "", nil
	}
	if r.opts.Secrets != nil {
		if value, ok := r.opts.Secrets.Value(v.Fetch.Login); ok {
			return string(value.Bytes()), nil
		}
	}
	return "", classed{ErrImage, fmt.Errorf("the password for %s is not known", v.Fetch)}
}

// checkPinned refuses to fetch what an overlay lies on already, unless it is certain to be the same as before: an overlay
// on other bytes is a disk of garbage. Other says that the overlay lies on another image, of an earlier definition, which it
// keeps: then there is nothing to fetch.
func (r *Runner) checkPinned(ctx context.Context, src origin, v render.Volume, at string) (other bool, err error) {
	made, err := r.exists(ctx, at)
	if err != nil || !made {
		return false, err
	}
	backing, err := inFolder(ctx, r, filepath.Dir(at), func(context.Context) (string, error) { return image.Backing(at) })
	if err != nil {
		return false, err
	}
	if backing != "" && backing != v.Backing {
		there, err := r.exists(ctx, backing)
		if err == nil && !there && filepath.IsAbs(backing) {
			err = classed{ErrImage, fmt.Errorf("%s is an overlay of %s, which is gone, and not of %s, which the documents name now: "+
				"put the file back, or have the documents name the image that it was", at, backing, v.Fetch)}
		}
		return true, err
	}
	there, err := r.exists(ctx, v.Backing)
	if err != nil || there {
		return false, err
	}
	pinned, err := inFolder(ctx, r, filepath.Dir(v.Backing), func(context.Context) (bool, error) { return src.Pinned(v.Backing) })
	if err != nil || pinned {
		return false, err
	}
	return false, classed{ErrImage, fmt.Errorf("%s is an overlay of %s, which is gone, and of the image %s it is not known which it was: "+
		"put the file back, or name the image with its digest", at, v.Backing, v.Fetch)}
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
