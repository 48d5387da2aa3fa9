package image

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// compat makes qcow2 images of version 3, which hold reference counts and zeroes more cheaply. It is QEMU's default
// since 1.7; libvirt's own default for overlays is still version 2, so it is said.
const compat = "compat=1.1"

func (m Maker) createQcow2(ctx context.Context, path string, v render.Volume) error {
	return m.withKey(v, func(k key) error {
		return m.run(ctx, k, k.args("create", "-q", "-f", formatQcow2, "-o", compat+k.options(), "--", path, strconv.FormatInt(v.Size, 10))...)
	})
}

// createOverlay makes a qcow2 image of what differs from a backing file. The backing file's format is written into the
// overlay: QEMU would otherwise guess it from content that the guest may have written.
func (m Maker) createOverlay(ctx context.Context, path string, v render.Volume) error {
	if v.Format != formatQcow2 {
		return unusable("volume %s is an overlay of format %q; an overlay is qcow2", v.Name, v.Format)
	}
	v, size, err := backed(v)
	if err != nil {
		return err
	}
	return m.withKey(v, func(k key) error {
		return m.run(ctx, k, k.args("create", "-q", "-f", formatQcow2, "-o", compat+k.options(),
			"-b", v.Backing, "-F", v.BackingFormat, "--", path, strconv.FormatInt(size, 10))...)
	})
}

// backed is a volume with its image's format, and how large it is to be.
func backed(v render.Volume) (render.Volume, int64, error) {
	if v.BackingFormat == "" && v.Fetch != nil {
		var err error
		if v.BackingFormat, err = Format(v.Backing); err != nil {
			return v, 0, fmt.Errorf("the image %s of volume %s: %w", v.Backing, v.Name, err)
		}
	}
	size, err := checkBacking(v)
	return v, size, err
}

// checkBacking says how large an overlay, or a copy, is to be: as large as its image, or more.
func checkBacking(v render.Volume) (int64, error) {
	if err := CheckPath(v.Backing); err != nil {
		return 0, fmt.Errorf("the image of volume %s: %w", v.Name, err)
	}
	h, err := readHead(v.Backing)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, unusable("there is no image %s for volume %s; put it there", v.Backing, v.Name)
	case errors.Is(err, fs.ErrPermission):
		return 0, unusable("the image %s of volume %s cannot be read: %w", v.Backing, v.Name, err)
	case err != nil:
		return 0, err
	}
	size := h.length
	switch v.BackingFormat {
	case formatQcow2:
		switch {
		case !h.qcow2:
			return 0, unusable("the image %s of volume %s is no qcow2 image, as its format says", v.Backing, v.Name)
		case h.outside:
			// A guest may have written it: as the start of a raw disk, with any file of the host named in it.
			return 0, unusable("the image %s of volume %s names another file, which the guest would be shown: flatten it (qemu-img convert)", v.Backing, v.Name)
		case h.virtual <= 0:
			return 0, unusable("the image %s of volume %s says no size that there is", v.Backing, v.Name)
		}
		size = h.virtual
	case formatRaw:
		if h.qcow2 {
			return 0, unusable("the image %s of volume %s is a qcow2 image, and its format says raw", v.Backing, v.Name)
		}
	default:
		return 0, unusable("the image %s of volume %s has the format %q; qcow2 and raw are known",
			v.Backing, v.Name, v.BackingFormat)
	}
	if v.Size == 0 {
		return size, nil
	}
	if v.Size < size {
		return 0, unusable("volume %s has %d bytes, fewer than the %d of its image %s: the guest would see it cut off",
			v.Name, v.Size, size, v.Backing)
	}
	return v.Size, nil
}

// resize raises the size of an image. QEMU's own locks keep it off an image that another process has open.
func (m Maker) resize(ctx context.Context, path string, v render.Volume) error {
	size := strconv.FormatInt(v.Size, 10)
	if v.Encryption == nil {
		return m.run(ctx, key{}, "resize", "-q", "-f", v.Format, "--", path, size)
	}
	return m.withKey(v, func(k key) error {
		return m.run(ctx, k, k.args("resize", "-q", "--image-opts", "--", k.image(path), size)...)
	})
}

// run runs qemu-img without a shell: each argument is one, whatever is in it. Paths have passed CheckPath.
func (m Maker) run(ctx context.Context, k key, args ...string) error {
	return m.runTold(ctx, k, nil, args...)
}

// runTold is run, and hands what qemu-img says of its progress to somebody.
func (m Maker) runTold(ctx context.Context, k key, told io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, cmp.Or(m.QemuImg, "qemu-img"), args...)
	cmd.Dir = "/"
	if k.pipe != nil {
		cmd.ExtraFiles = []*os.File{k.pipe} // the first of them is descriptor 3
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if told != nil {
		cmd.Stdout = told
	}
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("qemu-img %s: %w", args[0], context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w; install it (Debian's package qemu-utils)", err)
	}
	return fmt.Errorf("qemu-img %s: %w: %s", args[0], err, lastLine(said.String()))
}

// lastLine is where qemu-img says what went wrong.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
