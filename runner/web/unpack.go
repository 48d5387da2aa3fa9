package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// maxWindow is how many bytes a compression may look back, and so what unpacking takes of memory: xz -9 makes windows of
// 64 MiB, zstd -19 of 8 MiB. A document must not have the agent take gigabytes.
const maxWindow = 64 << 20

// unpacker reads what is compressed in a file; nil for one that is not compressed. The first bytes say how it is (RFC 1952,
// RFC 8878, and the .xz file format).
func unpacker(f *os.File, j *download.Job) (io.Reader, error) {
	head := make([]byte, 6)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read what was fetched: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	from := told{f, j.Worked}
	switch {
	case bytes.HasPrefix(head[:n], []byte{0x1f, 0x8b}):
		return gzip.NewReader(from)
	case bytes.HasPrefix(head[:n], []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return xz.NewReader(from, maxWindow)
	case bytes.HasPrefix(head[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}
	return nil, nil
}

// unpack writes what is in a verified download as an image of a format that machines have: unpacked, and converted.
func (s Source) unpack(ctx context.Context, j *download.Job, p *part) (*image.Temp, error) {
	from, err := unpacker(p.file, j)
	if err != nil {
		return nil, packedBadly(err)
	}
	tmp := image.Adopt(p.file)
	if from != nil {
		tmp, err = j.Write(ctx, tellUnpacking{from}, -1)
		if d, ok := from.(*zstd.Decoder); ok {
			d.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	format, err := s.format(tmp.File.Name())
	if err == nil && format == "vmdk" {
		tmp, err = s.convert(ctx, j, tmp, from != nil)
	}
	if err != nil {
		if from != nil {
			tmp.Discard()
		}
		return nil, err
	}
	return tmp, nil
}

// format finds out what an image is, and compares that with what the document says.
func (s Source) format(path string) (string, error) {
	format, err := image.Content(path)
	if err != nil {
		return "", err
	}
	if s.Format != "" && s.Format != format {
		return "", unusable("it is a %s image, and its format says %s: take the format out, or say %s", format, s.Format, format)
	}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return "", unusable("it is empty")
	}
	return format, nil
}

// convert makes a VMware disk a qcow2 image.
func (s Source) convert(ctx context.Context, j *download.Job, from *image.Temp, discard bool) (*image.Temp, error) {
	tmp, err := j.Write(ctx, bytes.NewReader(nil), 0)
	if err != nil {
		return from, err
	}
	err = j.Grow(ctx, tmp, func(ctx context.Context) error { return s.Convert(ctx, from.File.Name(), tmp.File.Name()) })
	if err != nil {
		tmp.Discard()
		return from, err
	}
	if discard {
		from.Discard()
	}
	return tmp, nil
}

// tellUnpacking says of an error of the compression what it is about: the download has been verified, so that it is as its
// maker meant it, and stays so.
type tellUnpacking struct{ io.Reader }

// Read is io.Reader's.
func (t tellUnpacking) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	var file *os.PathError
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &file) {
		return n, err
	}
	return n, packedBadly(err)
}

func packedBadly(err error) error {
	if errors.Is(err, xz.ErrMemlimit) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return unusable("it cannot be unpacked: that takes more than %d MiB of memory; compress it with less", maxWindow>>20)
	}
	return unusable("it cannot be unpacked: %w", err)
}
