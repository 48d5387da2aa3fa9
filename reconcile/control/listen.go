package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// maxPath is the longest path of a Unix socket on Linux: sun_path has 108 bytes, of which the last ends it; unix(7).
const maxPath = 107

// newSuffix is of the socket that is not yet in its place.
const newSuffix = ".new"

// ErrTaken says that another agent has the socket.
var ErrTaken = errors.New("another agent has it")

// Listen makes a Unix socket that only this user may use. One that an agent left which was killed is replaced; with one that
// an agent still has, the error is ErrTaken. Closing the listener removes the socket, and leaves the lock beside it.
func Listen(path string) (net.Listener, error) {
	if n := len(path) + len(newSuffix); n > maxPath {
		return nil, fmt.Errorf("cannot listen on %s: a socket's path may have %d bytes, and this has %d: say another with socket", path, maxPath-len(newSuffix), len(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	lock, err := lock(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	l, err := replace(path)
	if err != nil {
		_ = lock.Close() // the other error says more
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	return &socket{UnixListener: l, path: path, lock: lock}, nil
}

// lock takes a lock that ends with the process, however that ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w: give each agent a stateDir of its own, or end one", ErrTaken)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// replace puts a socket in the place of one that nobody has. It appears there with its mode; nothing but a socket is
// replaced.
func replace(path string) (*net.UnixListener, error) {
	for _, old := range []string{path, path + newSuffix} {
		info, err := os.Lstat(old)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.Mode().Type() != fs.ModeSocket:
			return nil, fmt.Errorf("%s is there and is no socket: move it away, or say another with socket", old)
		}
	}
	fresh := path + newSuffix
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the name is another by then
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(fresh))
	}
	return l, nil
}

type socket struct {
	*net.UnixListener
	path string
	lock *os.File
}

// Close removes the socket before it lets another agent have it.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err // it was closed before, and the path may be another's by now
	}
	// A process that is started at this moment has the file open for an instant yet, and the lock with it.
	return errors.Join(err, os.Remove(s.path), syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN), s.lock.Close())
}
