package source

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// receive reads a pack from a remote into the store. The pack is first written to a file and its checksum found
// right: the network may be slow or break off, and neither may keep readers waiting or leave half a pack behind.
//
// Into a new store it goes as it is. Into any other its objects go one by one, as git does with small packs: only
// then may the pack be thin, that is, hold deltas against objects that we have.
func (s *store) receive(ctx context.Context, from io.Reader) error {
	spool, err := os.CreateTemp(s.dir, "incoming-*.pack")
	if err != nil {
		return inStore(fmt.Errorf("cannot keep the received pack: %w", err))
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	count, err := spoolPack(spool, contextReader{ctx, from})
	if err != nil {
		return fmt.Errorf("cannot receive the pack: %w", err)
	}
	if count == 0 {
		return nil
	}
	s.empty = false
	in := contextFile{contextReader{ctx, spool}, spool}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return inStore(err)
	}
	if err := s.checkPack(in); err != nil {
		return fmt.Errorf("cannot use the received pack: %w", err)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return inStore(err)
	}
	err = s.guard(plumbing.ZeroHash, func() error {
		st := s.stores[0]
		if s.bulk {
			return packfile.UpdateObjectStorage(st, in)
		}
		p, err := packfile.NewParserWithStorage(packfile.NewScanner(in), looseWriter{st, s})
		if err != nil {
			return err
		}
		_, err = p.Parse()
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return inStore(fmt.Errorf("cannot unpack the received pack: %w", err))
	}
	return nil
}

// looseWriter is the storage without its lazy writer: the parser keeps a file open for each object that it writes
// through one, and does not look at the error of closing it.
type looseWriter struct {
	storer.EncodedObjectStorer
	s *store
}

func (w looseWriter) SetEncodedObject(obj plumbing.EncodedObject) (plumbing.Hash, error) {
	hash, err := w.EncodedObjectStorer.SetEncodedObject(obj)
	if err == nil {
		w.s.wroteLoose(hash)
	}
	return hash, err
}

// spoolPack copies a pack, checks its checksum, and returns the number of its objects.
func spoolPack(to io.Writer, from io.Reader) (int, error) {
	const headLen, sumLen = 12, sha1.Size
	w := bufio.NewWriterSize(to, 1<<16)
	hash := sha1.New()
	buf := make([]byte, 1<<16)
	var head []byte
	tail := make([]byte, 0, len(buf)+sumLen)
	total := int64(0)
	for {
		n, err := from.Read(buf)
		if total += int64(n); total > maxPack {
			return 0, fmt.Errorf("%w: it sends more than %d MiB at once: begin a new branch with less history", errTooMuch, maxPack>>20)
		}
		if len(head) < headLen {
			head = append(head, buf[:min(n, headLen-len(head))]...)
		}
		// What may be the checksum at the end is kept back from the hash.
		tail = append(tail, buf[:n]...)
		if over := len(tail) - sumLen; over > 0 {
			hash.Write(tail[:over])
			tail = append(tail[:0], tail[over:]...)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return 0, inStore(err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, inStore(err)
	}
	if len(head) < headLen || string(head[:4]) != "PACK" {
		return 0, errors.New("the connection broke off, or what came is no pack")
	}
	if !bytes.Equal(hash.Sum(nil), tail) {
		return 0, errors.New("the connection broke off, or the pack is damaged: its checksum is wrong")
	}
	return int(binary.BigEndian.Uint32(head[8:])), nil
}

// contextReader stops reading when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

type contextFile struct {
	contextReader
	io.Seeker
}
