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

const (
	// headSize is what version 3 has of the header up to the incompatible features.
	headSize = 80
	// externalData is the incompatible feature that the guest's data is in another file.
	externalData = 1 << 2
	// harmless are the incompatible features that a copy may have: another compression than zlib, and extended L2 entries.
	harmless = 1<<3 | 1<<4
)

// head is what the first bytes of an image say.
type head struct {
	length  int64 // bytes of the file or device
	qcow2   bool
	virtual int64 // qcow2: the size that the guest sees, in bytes
	outside bool  // qcow2: it names a backing file or a data file
	plain   bool  // qcow2: version 3, with nothing in it that a copy should not have
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
	var b [headSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return head{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return parseHead(b[:], length), nil
}

// Format says whether an image that comes from elsewhere is qcow2 or, as anything else is, raw. It refuses a qcow2 image
// that names a backing file or a data file: those names are of files of this host, which the guest would be shown.
func Format(path string) (string, error) {
	h, err := readHead(path)
	switch {
	case err != nil:
		return "", err
	case h.outside:
		return "", unusable("it is a qcow2 image that names another file, which would be one of this host: flatten it (qemu-img convert)")
	case h.qcow2:
		return formatQcow2, nil
	}
	return formatRaw, nil
}

// parseHead reads the first bytes of an image that is length bytes long: headSize of them, or all that there are.
func parseHead(b []byte, length int64) head {
	h := head{length: length}
	if len(b) >= 32 && length >= 32 && binary.BigEndian.Uint32(b) == qcow2Magic {
		h.qcow2 = true
		h.virtual = int64(binary.BigEndian.Uint64(b[24:]))
		h.outside = binary.BigEndian.Uint64(b[8:]) != 0 // where the name of the backing file is
		if version := binary.BigEndian.Uint32(b[4:]); version >= 3 && len(b) >= headSize {
			incompatible := binary.BigEndian.Uint64(b[72:])
			h.outside = h.outside || incompatible&externalData != 0
			encrypted, snapshots := binary.BigEndian.Uint32(b[32:]) != 0, binary.BigEndian.Uint32(b[60:]) != 0
			h.plain = !h.outside && !encrypted && !snapshots && incompatible&^harmless == 0
		}
	}
	return h
}
