package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/image"
)

const (
	chunk = 256 << 10 // what is read at once
	// checkEvery is how many bytes are written before the free space is looked at again.
	checkEvery = 64 << 20
)

// writer writes a file, with holes where there are zeroes.
type writer struct {
	ctx            context.Context
	p              *progress
	file           *os.File
	limit, reserve int64
}

// write writes what comes from a place on: size bytes of it, or all when size is negative.
func (w *writer) write(content io.Reader, at, size int64) (int64, error) {
	buf := make([]byte, chunk)
	since := int64(checkEvery)
	end := at + size
	for size < 0 || at < end {
		if err := w.ctx.Err(); err != nil {
			return at, err
		}
		if since >= checkEvery {
			if err := w.checkSpace(); err != nil {
				return at, err
			}
			since = 0
		}
		room := int64(chunk)
		if size >= 0 {
			room = min(chunk, end-at)
		}
		n, err := readFull(content, buf[:room])
		last := errors.Is(err, io.EOF)
		if n > 0 {
			if at+int64(n) > w.limit {
				return at, unusable("the file has more than %d bytes, which is all that may be fetched", w.limit)
			}
			wrote, err := image.WriteSparse(w.file, buf[:n], at)
			if err != nil {
				return at, fmt.Errorf("cannot write the file: %w", err)
			}
			since += wrote
			at += int64(n)
			w.p.written.Add(int64(n))
		}
		switch {
		case last && size >= 0 && at < end:
			return at, fmt.Errorf("it was cut off, %d bytes before its end: %w", end-at, io.ErrUnexpectedEOF)
		case err != nil && !last:
			return at, fmt.Errorf("it was cut off: %w", err)
		case last:
			end, size = at, 0
		}
	}
	if err := w.file.Truncate(at); err != nil {
		return at, fmt.Errorf("cannot write the file: %w", err)
	}
	return at, nil
}

// readFull fills a buffer, as far as there is something. Unlike io.ReadFull's, its io.EOF is the end, and its
// io.ErrUnexpectedEOF is that of who was cut off.
func readFull(from io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = from.Read(buf[n:])
		n += more
	}
	return n, err
}

// checkSpace looks at the free space: a full disk would stop the machines that run on it.
func (w *writer) checkSpace() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(w.file.Fd()), &st); err != nil {
		return fmt.Errorf("cannot ask for the free space of %s: %w", w.file.Name(), err)
	}
	free := int64(st.Bavail) * st.Bsize
	if free < w.reserve+checkEvery {
		return fmt.Errorf("the disk of %s is full: it has %d MiB left, and %d are kept free; make room",
			w.file.Name(), free>>20, (w.reserve+checkEvery)>>20)
	}
	return nil
}
