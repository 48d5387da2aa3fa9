package source

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// What a pack may hold. go-git unpacks an object in memory, with all those that it is a delta of, and keeps a note of each
// object: a few kilobytes can stand for more than the host has memory, and whoever may push can make such a pack.
const (
	maxPack        = 4 << 30   // bytes as they are sent
	maxPackObjects = 4_000_000 // some 300 bytes of notes each
	maxUnpacked    = 256 << 20 // bytes of one object
	maxChain       = 1 << 30   // bytes of an object and of those that it is a delta of
)

// errTooMuch means that a pack exceeds these.
var errTooMuch = errors.New("the repository is too large for a host")

// weighed is how much memory it takes to unpack an object.
type weighed struct{ offset, weight int64 }

// checkPack refuses a pack that cannot be unpacked within the limits. It inflates all of it, and keeps nothing.
func (s *store) checkPack(from io.ReadSeeker) (err error) {
	defer func() {
		if p := recover(); p != nil { // as go-git has before, on damaged packs
			err = fmt.Errorf("the pack is damaged: %v", p)
		}
	}()
	scanner := packfile.NewScanner(from)
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	if count > maxPackObjects {
		return fmt.Errorf("%w: it sends %d objects at once, and %d is the most that is taken: begin a new branch with less history", errTooMuch, count, maxPackObjects)
	}
	objects := make([]weighed, 0, min(count, 1<<16))
	var heaviest int64
	for range count {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return err
		}
		size, base := h.Length, int64(0)
		if size < 0 || size > maxUnpacked {
			return tooLargeObject(size)
		}
		if h.Type.IsDelta() {
			head := &prefix{}
			if _, _, err := scanner.NextObject(head); err != nil {
				return err
			}
			target, err := head.target()
			if err != nil {
				return err
			}
			if target > maxUnpacked {
				return tooLargeObject(int64(min(target, 1<<62)))
			}
			size += int64(target)
			base = heaviest // of the same pack, by its hash
			if h.Type == plumbing.OFSDeltaObject {
				at, ok := slices.BinarySearchFunc(objects, h.OffsetReference, func(o weighed, offset int64) int { return cmp.Compare(o.offset, offset) })
				if !ok {
					return errors.New("the pack is damaged: a delta's base is not in it")
				}
				base = objects[at].weight
			} else if s.has(h.Reference) {
				base = s.size(h.Reference)
			}
		}
		o := weighed{h.Offset, base + size}
		if o.weight > maxChain {
			return fmt.Errorf("%w: to unpack one object takes more than %d MiB of memory: keep large files out of it", errTooMuch, maxChain>>20)
		}
		heaviest = max(heaviest, o.weight)
		objects = append(objects, o)
	}
	return nil
}

func tooLargeObject(size int64) error {
	return fmt.Errorf("%w: it has an object of %d MiB, and %d MiB is the most that is taken: keep large files out of it", errTooMuch, size>>20, maxUnpacked>>20)
}

// prefix keeps the beginning of what is written.
type prefix struct{ kept bytes.Buffer }

func (p *prefix) Write(data []byte) (int, error) {
	_, err := p.kept.Write(data[:max(0, min(len(data), 2*binary.MaxVarintLen64-p.kept.Len()))])
	return len(data), err
}

// target is the size of what a delta makes: gitformat-pack(5), DELTIFIED REPRESENTATION. Its sizes are written as Uvarint
// reads them: seven bits a byte, the low ones first.
func (p *prefix) target() (uint64, error) {
	if _, err := binary.ReadUvarint(&p.kept); err != nil {
		return 0, fmt.Errorf("the pack is damaged: a delta has no beginning: %w", err)
	}
	n, err := binary.ReadUvarint(&p.kept)
	if err != nil {
		return 0, fmt.Errorf("the pack is damaged: a delta has no beginning: %w", err)
	}
	return n, nil
}
