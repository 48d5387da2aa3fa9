package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// folderMark is the extended attribute that a pool's folder gets with its first volume: the pool's UUID. The folder that
// appears where its file system is not mounted any more has none.
const folderMark = "user.gitvirt.pool"

// checkMount refuses a pool's folder that is not the one that volumes were made in before: what is made there would
// disappear below the file system once it is mounted again, and a machine would begin with empty disks.
func (r *Runner) checkMount(p storagePool) error {
	info, err := os.Stat(p.dir)
	if err != nil {
		return classed{ErrPool, fmt.Errorf("the folder of the storage pool %q is not there: %w", p.pool.Name, err)}
	}
	if p.kind != "dir" {
		above, err := os.Stat(filepath.Dir(p.dir))
		if err == nil && device(info) == device(above) {
			return classed{ErrPool, fmt.Errorf("the storage pool %q is of type %s, and nothing is mounted at %s: start the pool again", p.pool.Name, p.kind, p.dir)}
		}
	}
	id := fmt.Sprintf("%x", p.pool.UUID)
	var before bool
	err = r.ledger.look(func(c *ledgerContent) bool {
		before = c.Folders[id]
		return false
	})
	if err != nil {
		return err
	}
	b := make([]byte, 64)
	n, err := unix.Getxattr(p.dir, folderMark, b)
	switch {
	case err == nil && string(b[:n]) == id && before:
		return nil
	case err == nil && string(b[:n]) == id: // another agent's, or the ledger was lost
	case errors.Is(err, unix.EOPNOTSUPP):
		return nil
	case before:
		empty, err := isEmpty(p.dir)
		if err != nil {
			return err
		}
		if empty {
			return classed{ErrPool, fmt.Errorf("the folder %s of the storage pool %q is empty, and not the one that volumes were made in before: "+
				"mount its file system; if volumes are to begin anew there, put any file into it", p.dir, p.pool.Name)}
		}
	}
	err = unix.Setxattr(p.dir, folderMark, []byte(id), 0)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil // a file system without such attributes, or a folder of somebody else's
	case err != nil:
		return fmt.Errorf("cannot mark the folder %s: %w", p.dir, err)
	}
	return r.ledger.look(func(c *ledgerContent) bool {
		c.Folders[id] = true
		return !before
	})
}

// isEmpty says whether a folder has nothing but hidden files and what a new file system has.
func isEmpty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.Name() != "lost+found" {
			return false, err
		}
	}
	return true, err
}

func device(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Dev
	}
	return 0
}
