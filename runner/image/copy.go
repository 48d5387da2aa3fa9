package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render"
)

const (
	// chunk is how much is read at once, in bytes: between two chunks a copy can be cancelled.
	chunk = 1 << 20
)

// Progress is told how much of a copy is done, in bytes of the image or in whatever unit both numbers have.
type Progress func(done, total int64)

// copyImage fills an empty file with a full copy of the volume's image, which is not needed any more afterwards. An image
// of the volume's own format is copied as it is, and shares its blocks where the file system can do that (ioctl_ficlone(2));
// another is converted.
func (m Maker) copyImage(ctx context.Context, f *os.File, v render.Volume, progress Progress) error {
	v, size, err := backed(v)
	if err != nil {
		return err
	}
	from, err := os.Open(v.Backing)
	if err != nil {
		return err
	}
	defer from.Close()
	h, err := readHead(v.Backing)
	if err != nil {
		return err
	}
	asItIs := v.Encryption == nil && v.BackingFormat == v.Format && (v.Format == formatRaw || h.plain)
	if asItIs && unix.IoctlFileClone(int(f.Fd()), int(from.Fd())) == nil {
		progress(h.length, h.length)
	} else if err := checkSpace(f, from); err != nil {
		return err
	} else if asItIs {
		err = copySparse(ctx, f, from, h.length, progress)
		if err != nil {
			return err
		}
	} else if err := m.convert(ctx, f.Name(), v, progress); err != nil {
		return err
	}
	return m.growCopy(ctx, f, v, size)
}

// growCopy gives a copy the size that the volume says.
func (m Maker) growCopy(ctx context.Context, f *os.File, v render.Volume, size int64) error {
	h, err := readHead(f.Name())
	if err != nil {
		return err
	}
	switch {
	case v.Format == formatRaw && h.length < size:
		return f.Truncate(size)
	case v.Format == formatQcow2 && h.virtual < size:
		v.Size = size
		return m.resize(ctx, f.Name(), v)
	}
	return nil
}

// checkSpace refuses a copy for which there is no room, before it fills the disk that others' volumes grow on.
func checkSpace(to, from *os.File) error {
	var fs unix.Statfs_t
	info, err := from.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return nil
	}
	if err := unix.Fstatfs(int(to.Fd()), &fs); err != nil {
		return nil // a file system that does not tell
	}
	need, room := stat.Blocks*512, int64(fs.Bavail)*fs.Bsize
	if need > room {
		return fmt.Errorf("the image %s takes %d bytes on its disk, and there are %d left for a copy: %w", from.Name(), need, room, unix.ENOSPC)
	}
	return nil
}

// copySparse copies size bytes, and leaves holes where the image has them, or zeroes.
func copySparse(ctx context.Context, to, from *os.File, size int64, progress Progress) error {
	if err := to.Truncate(size); err != nil {
		return err
	}
	buffer := make([]byte, chunk)
	for at := int64(0); at < size; {
		start, end, err := nextData(from, at, size)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", from.Name(), err)
		}
		for at = start; at < end; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := from.ReadAt(buffer[:min(chunk, end-at)], at)
			if n == 0 && err != nil {
				if errors.Is(err, io.EOF) {
					err = unusable("it became shorter while it was copied")
				}
				return fmt.Errorf("cannot read %s: %w", from.Name(), err)
			}
			if _, err := WriteSparse(to, buffer[:n], at); err != nil {
				return err
			}
			at += int64(n)
			progress(at, size)
		}
	}
	progress(size, size)
	return nil
}

// nextData finds the next data of a file at or after a place. What does not tell, such as a block device, is all data.
func nextData(f *os.File, at, size int64) (start, end int64, err error) {
	start, err = unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil // nothing but a hole is left
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	end, err = unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
	return start, min(end, size), err
}

// convert writes an image in the volume's format, and encrypted where the volume is.
func (m Maker) convert(ctx context.Context, path string, v render.Volume, progress Progress) error {
	return m.withKey(v, func(k key) error {
		args := []string{"-p", "-f", v.BackingFormat, "-O", v.Format}
		if v.Format == formatQcow2 {
			args = append(args, "-o", compat+k.options())
		}
		return m.runTold(ctx, k, &percent{tell: progress}, k.args("convert", append(args, "--", v.Backing, path)...)...)
	})
}

// percent reads what qemu-img -p writes: "    (12.34/100%)" and a carriage return, time and again.
type percent struct {
	tell Progress
	rest string
}

func (p *percent) Write(b []byte) (int, error) {
	p.rest += string(b)
	for {
		line, rest, ok := strings.Cut(p.rest, "%)")
		if !ok {
			break
		}
		p.rest = rest
		number, _, ok := strings.Cut(line[strings.LastIndexByte(line, '(')+1:], "/")
		if n, err := strconv.ParseFloat(number, 64); ok && err == nil && n >= 0 && n <= 100 {
			p.tell(int64(n*100), 100*100)
		}
	}
	p.rest = p.rest[max(0, len(p.rest)-64):]
	return len(b), nil
}
