package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	formatRaw   = "raw"
	formatQcow2 = "qcow2"
)

// qcow2Magic begins every qcow2 image (QEMU's docs/interop/qcow2.txt).
const qcow2Magic = 0x514649fb // "QFI\xfb"

// head is what the first bytes of an image say.
type head struct {
	length  int64 // bytes of the file or device
	qcow2   bool
	virtual int64 // qcow2: the size that the guest sees, in bytes
}

// readHead reads an image's first bytes. The header is read here and not by qemu-img, which would take a process and
// follow what the header names.
func readHead(path string) (head, error) {
	// Opening a pipe would otherwise wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return head{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return head{}, err
	}
	if mode := info.Mode(); !mode.IsRegular() && mode.Type() != fs.ModeDevice {
		return head{}, unusable("%s is neither a file nor a block device", path)
	}
	// A block device has no size in its inode, but an end.
	length, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return head{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	var b [32]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return head{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return parseHead(b[:], length), nil
}

// parseHead reads the first 32 bytes of an image that is length bytes long.
func parseHead(b []byte, length int64) head {
	h := head{length: length}
	if len(b) >= 32 && length >= 32 && binary.BigEndian.Uint32(b) == qcow2Magic {
		h.qcow2 = true
		h.virtual = int64(binary.BigEndian.Uint64(b[24:]))
	}
	return h
}
