package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render"
)

const (
	// headLength is how much of a device is written last, in bytes: what a machine would boot from.
	headLength = 64 << 10
	// diskSector is what a disk writes whole or not at all, in bytes.
	diskSector = 512
	// zeroes is how much is zeroed at once, in bytes.
	zeroes = 64 << 20
)

// unfinished begins a device that is being filled. It is the last to go, with one write of one sector, so a device without it
// is filled, and one that has it boots nowhere: it has no boot signature.
const unfinished = "GITVIRT: this volume is being filled, and nothing in it is of any use\n"

// Unfinished says whether a device was left in the midst of being filled.
func Unfinished(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, len(unfinished))
	if _, err := io.ReadFull(f, b); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return string(b) == unfinished, nil
}

// CopySize is how large a full copy is to be, in bytes.
func CopySize(v render.Volume) (int64, error) {
	_, size, err := backed(v)
	return size, err
}

// Fill writes a raw volume's first content, its image's or zeroes, to a device that nobody uses: there is no renaming of
// devices, so it says of itself that it is unfinished until it is not. What was there before is gone. Begun is called once
// that stands on the device.
func (m Maker) Fill(ctx context.Context, path string, v render.Volume, begun func() error, progress Progress) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	if err := CheckPath(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = m.fillDevice(ctx, f, v, begun, progress)
	if err != nil {
		return fmt.Errorf("cannot fill %s: %w", path, err)
	}
	return nil
}

func (m Maker) fillDevice(ctx context.Context, f *os.File, v render.Volume, begun func() error, progress Progress) error {
	length, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if length < headLength {
		return unusable("it has %d bytes, and needs %d at least", length, headLength)
	}
	head, end := make([]byte, headLength), int64(headLength)
	if v.Kind == render.VolumeCopy {
		if v, end, err = m.measure(v, length); err != nil {
			return err
		}
		if head, err = m.readStart(ctx, v); err != nil {
			return err
		}
	}
	if err := writeSynced(f, append([]byte(unfinished), make([]byte, headLength-len(unfinished))...), 0); err != nil {
		return err
	}
	if err := begun(); err != nil {
		return err
	}
	if end > headLength {
		if err := m.fillRest(ctx, f, v, progress); err != nil {
			return err
		}
	}
	if err := zeroOut(ctx, f, max(end, headLength), length, progress); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := writeSynced(f, head[diskSector:], diskSector); err != nil {
		return err
	}
	return writeSynced(f, head[:diskSector], 0)
}

// measure is a volume with its image's format, and how many bytes the image has.
func (m Maker) measure(v render.Volume, length int64) (render.Volume, int64, error) {
	v, _, err := backed(v)
	if err != nil {
		return v, 0, err
	}
	h, err := readHead(v.Backing)
	if err != nil {
		return v, 0, err
	}
	size := h.length
	if h.qcow2 {
		size = h.virtual
	}
	if size > length {
		return v, 0, unusable("it has %d bytes, fewer than the %d of its image %s", length, size, v.Backing)
	}
	return v, size, nil
}

// readStart reads the first bytes of an image.
func (m Maker) readStart(ctx context.Context, v render.Volume) ([]byte, error) {
	tmp, err := os.CreateTemp("", tempPrefix+"start-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	args := []string{"dd", "-f", v.BackingFormat, "-O", formatRaw, fmt.Sprintf("bs=%d", headLength), "count=1", "if=" + v.Backing, "of=" + tmp.Name()}
	if err := m.run(ctx, key{}, args...); err != nil {
		return nil, err
	}
	b := make([]byte, headLength)
	if _, err := tmp.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// fillRest copies the image from after its start.
func (m Maker) fillRest(ctx context.Context, f *os.File, v render.Volume, progress Progress) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	escaped := func(path string) string { return strings.ReplaceAll(path, ",", ",,") }
	driver := func(device bool) string {
		if device {
			return "host_device"
		}
		return "file"
	}
	from, err := os.Stat(v.Backing)
	if err != nil {
		return err
	}
	source := fmt.Sprintf("driver=raw,offset=%d,file.driver=%s,file.file.driver=%s,file.file.filename=%s", headLength,
		v.BackingFormat, driver(from.Mode()&fs.ModeDevice != 0), escaped(v.Backing))
	target := fmt.Sprintf("driver=raw,offset=%d,file.driver=%s,file.filename=%s", headLength,
		driver(info.Mode()&fs.ModeDevice != 0), escaped(f.Name()))
	return m.runTold(ctx, key{}, &percent{tell: progress}, "convert", "-n", "-p", "--image-opts", "--target-image-opts", "--", source, target)
}

func writeSynced(f *os.File, b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Sync()
}

// zeroOut zeroes a part of a device: what another machine left there is not this one's to read.
func zeroOut(ctx context.Context, f *os.File, at, end int64, progress Progress) error {
	zero := bytes.Repeat([]byte{0}, chunk)
	for at < end {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(zeroes, end-at)
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, at, n)
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
			n = min(chunk, end-at)
			_, err = f.WriteAt(zero[:n], at)
		}
		if err != nil {
			return err
		}
		at += n
		progress(at, end)
	}
	return nil
}
