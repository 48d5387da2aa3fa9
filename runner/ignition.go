package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/image"
)

// makeFolder makes the folder of a configuration for Ignition. Its files are this user's alone; libvirt gives one to QEMU's user
// for as long as its machine runs, who has to get through the folder.
func makeFolder(ctx context.Context, r *Runner, file string) error {
	dir := filepath.Dir(file)
	_, err := inFolder(ctx, r, dir, func(context.Context) (struct{}, error) { return struct{}{}, os.MkdirAll(dir, 0o711) })
	if err == nil && r.folders.sweepNow(dir) {
		_, err = inFolder(ctx, r, dir, func(context.Context) (struct{}, error) { return struct{}{}, image.Sweep(dir) })
	}
	return err
}

// removeIgnition removes a configuration for Ignition. A record names it by its file alone, so that nothing elsewhere can be
// meant.
func (r *Runner) removeIgnition(ctx context.Context, s plan.Step, v render.Volume) error {
	if r.opts.CacheDir == "" {
		return errors.New("it is not known where configurations for Ignition are kept")
	}
	dir := render.IgnitionDir(r.opts.CacheDir)
	_, err := inFolder(ctx, r, dir, func(context.Context) (struct{}, error) {
		return struct{}{}, image.Remove(dir, []string{v.File})
	})
	return err
}
