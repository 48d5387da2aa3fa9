package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gitvirt/gitvirt/runner/image"
)

// mode of a fetched file: QEMU reads it as a user of its own, and nobody writes to it.
const mode = 0o444

// fetch does what Fetch says, once its turn has come.
func (f *Fetcher) fetch(ctx context.Context, cancel context.CancelCauseFunc, p *progress, src Source, to string) (string, error) {
	from := src.Origin()
	pinned, err := readPin(from, to)
	if err != nil {
		return "", err
	}
	there, err := isThere(to)
	if err != nil || there {
		return pinned, err
	}
	if err := f.slots.Acquire(ctx, 1); err != nil {
		return "", context.Cause(ctx)
	}
	defer f.slots.Release(1)
	p.watch(ctx, cancel, f.opts.Patience)
	defer p.end()
	digest, err := f.bring(ctx, p, src, pinned, to)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	p.arrived(digest)
	return digest, nil
}

// isThere says whether there is a file at its place already.
func isThere(to string) (bool, error) {
	if err := image.CheckPath(to); err != nil {
		return false, err
	}
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, unusable("%s is there, and is no regular file", to)
	}
	return true, nil
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", image.ErrUnusable, fmt.Errorf(format, args...))
}

// bring fetches a file. Pinned is what it was before, if it was there before.
func (f *Fetcher) bring(ctx context.Context, p *progress, src Source, pinned, to string) (string, error) {
	j := &Job{To: to, Pinned: pinned, from: src.Origin(), fetcher: f, progress: p}
	tmp, digest, err := src.Bring(ctx, j)
	if err == nil {
		defer tmp.Discard()
		err = finish(p, tmp, j.from, digest, to)
	}
	if errors.Is(err, image.ErrUnusable) && j.key != "" {
		f.judge(j.from, to, j.key, err)
	}
	return digest, err
}

// makeFolder makes the folder of a fetched file, through which QEMU's user can go. What a killed fetch left in it goes.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		return cmp.Or(image.Sync(filepath.Dir(dir)), image.Sync(filepath.Dir(filepath.Dir(dir))))
	}
	return image.Sweep(dir)
}

// finish gives a complete file its name, after its record. A kill leaves neither, the record alone, or both.
func finish(p *progress, tmp *image.Temp, from Origin, digest, to string) error {
	if _, err := image.Format(tmp.File.Name()); err != nil {
		return err
	}
	if err := tmp.File.Chmod(mode); err != nil {
		return err
	}
	p.syncing.Store(true)
	if err := tmp.File.Sync(); err != nil {
		return fmt.Errorf("cannot put the file on the disk: %w", err)
	}
	if err := record(from, digest, to); err != nil {
		return err
	}
	// Another process may have been faster: its file is of the same digest.
	if err := tmp.Rename(to, false); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return image.Sync(filepath.Dir(to))
}

// record pins the digest, or finds that it is pinned already: by a fetch that was killed, or by another process.
func record(from Origin, digest, to string) error {
	err := writePin(from, digest, to)
	if errors.Is(err, fs.ErrExist) {
		pinned, err := readPin(from, to)
		if err == nil && pinned != digest {
			err = fmt.Errorf("%s was pinned as %s meanwhile", from, pinned)
		}
		return err
	}
	if err != nil {
		return err
	}
	return image.Sync(filepath.Dir(to))
}
