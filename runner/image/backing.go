package image

import (
	"encoding/binary"
	"fmt"
	"os"
)

// maxBacking is how long the name of a backing file may be, in bytes (QEMU's docs/interop/qcow2.txt).
const maxBacking = 1023

// Backing is the name of the backing file that a qcow2 image has; empty for an image without one, or of another format.
func Backing(path string) (string, error) {
	h, err := readHead(path)
	if err != nil || !h.qcow2 || !h.outside {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [20]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	at, length := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])
	if at == 0 {
		return "", nil // only its data is elsewhere
	}
	if length > maxBacking || at > uint64(h.length) {
		return "", unusable("%s is a qcow2 image whose header cannot be true", path)
	}
	name := make([]byte, length)
	if _, err := f.ReadAt(name, int64(at)); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return string(name), nil
}
