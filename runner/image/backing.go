package image

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxBackingName is how long a qcow2 image's name of its backing file may be, in bytes (docs/interop/qcow2.txt).
const maxBackingName = 1023

// Backing is the path of the file that a qcow2 image lies on; empty for one that lies on none, and for what is no qcow2 image.
// It is not opened. A name that is no path, of another protocol say, is returned as it is.
func Backing(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	b := make([]byte, 32)
	if _, err := io.ReadFull(f, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	at, length := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])
	switch {
	case binary.BigEndian.Uint32(b) != qcow2Magic || at == 0 || length == 0:
		return "", nil
	case at > 1<<30 || length > maxBackingName:
		return "", unusable("%s is a qcow2 image whose header cannot be true", path)
	}
	name := make([]byte, length)
	if _, err := f.ReadAt(name, int64(at)); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return resolve(string(name), path), nil
}

// resolve makes a backing file's name a path: it is relative to the image's folder.
func resolve(name, image string) string {
	name = strings.TrimPrefix(name, "file:")
	if name == "" || filepath.IsAbs(name) || strings.Contains(name, ":") {
		return name
	}
	return filepath.Join(filepath.Dir(image), name)
}

// Locked says whether any process has locked an image, as QEMU does with those that it has open.
func Locked(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, nil // a file system without such locks
	}
	return lock.Type != unix.F_UNLCK, nil
}
