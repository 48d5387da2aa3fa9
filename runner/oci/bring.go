package oci

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

// bring fetches a file. Pinned is the digest to fetch, if there was one before.
func (f *Fetcher) bring(ctx context.Context, p *progress, from source, pinned, to string) (string, error) {
	desc, err := open(ctx, p, from.image, pinned)
	if err != nil {
		return "", err
	}
	digest := desc.Digest.String()
	if err := f.judged(from, to, digest); err != nil {
		return "", err
	}
	err = func() error {
		img, err := choose(desc)
		if err != nil {
			return err
		}
		if err := makeFolder(filepath.Dir(to)); err != nil {
			return err
		}
		w := &writer{ctx: ctx, p: p, dir: filepath.Dir(to), limit: f.opts.Limit, reserve: f.opts.Reserve}
		tmp, err := extract(ctx, img, from.path, w)
		if err != nil {
			return err
		}
		defer tmp.Discard()
		return finish(p, tmp, from, digest, to)
	}()
	if errors.Is(err, image.ErrUnusable) {
		f.judge(from, to, digest, err)
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
func finish(p *progress, tmp *image.Temp, from source, digest, to string) error {
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
func record(from source, digest, to string) error {
	err := writePin(from, digest, to)
	if errors.Is(err, fs.ErrExist) {
		pinned, err := readPin(from, to)
		if err == nil && pinned != digest {
			err = fmt.Errorf("%s was pinned as %s meanwhile", from.image, pinned)
		}
		return err
	}
	if err != nil {
		return err
	}
	return image.Sync(filepath.Dir(to))
}
