package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// markName is the extended attribute (xattr(7)) that a file of ours has: it is written with the file, goes with it where it is
// moved, and is there for whoever finds the file, on another host too.
const markName = "user.gitvirt.volume"

// maxMark bounds what is read of a mark, in bytes.
const maxMark = 4096

// Mark says whose a file is.
type Mark struct {
	Instance string `json:"instance"`
	UUID     string `json:"uuid"`
	Config   string `json:"config,omitempty"`
	Volume   string `json:"volume"` // the device's name
}

// put writes the mark. A file system without such attributes is not told apart from a file of somebody else's: that is safe,
// since what is not known to be ours is not deleted.
func (m Mark) put(f *os.File) error {
	if m.UUID == "" {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("cannot mark %s: %w", f.Name(), err)
	}
	err = unix.Fsetxattr(int(f.Fd()), markName, raw, 0)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("cannot mark %s: %w", f.Name(), err)
	}
	return nil
}

// ReadMark reads a file's mark; nil where it has none, or none that can be read.
func ReadMark(path string) *Mark {
	b := make([]byte, maxMark)
	n, err := unix.Getxattr(path, markName, b)
	if err != nil {
		return nil
	}
	m := new(Mark)
	if json.Unmarshal(b[:n], m) != nil || m.Instance == "" || m.UUID == "" {
		return nil
	}
	return m
}

// late marks a file that was made before files were marked.
func (m Mark) late(path string) error {
	if m.UUID == "" || ReadMark(path) != nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return m.put(f)
}
