package oci

import (
	"bytes"
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
	block = 4 << 10   // a hole is as long as one of these, or some
	// checkEvery is how many bytes are written before the free space is looked at again.
	checkEvery = 64 << 20
)

// writer writes temporary files into a folder, with holes where there are zeroes.
type writer struct {
	ctx            context.Context
	p              *progress
	dir            string
	limit, reserve int64
}

// write writes a file of a size.
func (w *writer) write(content io.Reader, size int64) (_ *image.Temp, err error) {
	if size > w.limit {
		return nil, unusable("the file has %d bytes, and %d may be fetched", size, w.limit)
	}
	tmp, err := image.CreateTemp(w.dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			tmp.Discard()
		}
	}()
	buf, zeroes := make([]byte, chunk), make([]byte, block)
	since := int64(checkEvery)
	for at := int64(0); at < size; {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if since >= checkEvery {
			if err := w.checkSpace(); err != nil {
				return nil, err
			}
			since = 0
		}
		n, err := io.ReadFull(content, buf[:min(chunk, size-at)])
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("cannot read a layer: %w", err)
		}
		wrote, err := writeSparse(tmp.File, buf[:n], zeroes, at)
		if err != nil {
			return nil, fmt.Errorf("cannot write the file: %w", err)
		}
		since += wrote
		at += int64(n)
		w.p.written.Add(int64(n))
	}
	if err := tmp.File.Truncate(size); err != nil {
		return nil, fmt.Errorf("cannot write the file: %w", err)
	}
	return tmp, nil
}

// writeSparse writes what is not zero, in runs of blocks, and says how much that was.
func writeSparse(f *os.File, b, zeroes []byte, at int64) (wrote int64, err error) {
	for begin := 0; begin < len(b); {
		end := begin
		for end < len(b) && !bytes.Equal(b[end:min(end+block, len(b))], zeroes[:min(block, len(b)-end)]) {
			end = min(end+block, len(b))
		}
		if end > begin {
			if _, err := f.WriteAt(b[begin:end], at+int64(begin)); err != nil {
				return wrote, err
			}
			wrote += int64(end - begin)
		}
		begin = min(end+block, len(b)) // the next block is of zeroes, or there is none
	}
	return wrote, nil
}

// checkSpace looks at the free space: a full disk would stop the machines that run on it.
func (w *writer) checkSpace() error {
	var st unix.Statfs_t
	if err := unix.Statfs(w.dir, &st); err != nil {
		return fmt.Errorf("cannot ask for the free space of %s: %w", w.dir, err)
	}
	free := int64(st.Bavail) * st.Bsize
	if free < w.reserve+checkEvery {
		return fmt.Errorf("the disk of %s is full: it has %d MiB left, and %d are kept free; make room",
			w.dir, free>>20, (w.reserve+checkEvery)>>20)
	}
	return nil
}
