package vault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render/secret"
)

// mark tells one state of a file from another; zero for one that is not there. Links are followed: a secret is often put in
// place by turning one.
type mark struct {
	dev, ino, size uint64
	mtime, ctime   unix.Timespec
	mode           uint32
}

func look(path string) mark {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return mark{}
	}
	return mark{dev: uint64(st.Dev), ino: st.Ino, size: uint64(st.Size), mtime: st.Mtim, ctime: st.Ctim, mode: st.Mode}
}

// openFlags do not wait for the writer of a pipe.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// readFile reads a secret file whole.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpen(f)
}

// readBelow reads a secret file below a folder, whatever links there are on the way to it.
func readBelow(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpen(f)
}

func readOpen(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("cannot look at it: %w", err)
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, errors.New("it is no regular file")
	case mode.Perm()&0o007 != 0:
		return nil, fmt.Errorf("everybody on the host may use it (mode %04o): chmod o= it", mode.Perm())
	case mode.Perm()&0o020 != 0:
		return nil, fmt.Errorf("its group may write it (mode %04o): chmod g-w it", mode.Perm())
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("it is the user %d's: give it to root, or to the agent's user", st.Uid)
	case info.Size() > secret.MaxFile:
		return nil, fmt.Errorf("it has %d bytes, and a secret has at most %d", info.Size(), secret.MaxFile)
	}
	content, err := io.ReadAll(io.LimitReader(f, secret.MaxFile+1))
	if err == nil && len(content) > secret.MaxFile {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: unix.EFBIG}
	}
	return content, err
}
