package imagecache

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Cache is the folder that images are fetched to.
//
// An image is in use for as long as a file in a folder where overlays of it were ever made has it as its backing file. The folder
// is recorded beside the image, on the disk, before the first overlay is made there: so a kill at any moment leaves a record
// too many and never one too few. Whether there are overlays is read from the files themselves, whether their machines run, are
// stopped, or are not defined any more, and whatever somebody renamed in the folder. A folder that is not there, is another
// than it was (a file system that is not mounted), or cannot be read, counts as full of overlays. While an overlay is
// being made its image is leased by a lock, which ends with the process that holds it, and which is the first thing that is
// looked at. An image without such records is one of an older agent, or no disk, and stays. What this cannot see is an
// overlay that somebody moved to another folder by hand, of a machine that is not gitvirt's any more.
type Cache struct {
	dir   string
	limit int64
	log   *slog.Logger

	mu     sync.Mutex
	leases map[string]*lease
	state  State
}

// State is how large the cache was when it was last looked at.
type State struct {
	Bytes, Limit int64
	// Stuck is how many bytes are above the limit, and in use.
	Stuck int64
}

// New is the cache of a folder, in which images are dir/KIND/PLACE/NAME. A limit of 0 is none. Without a folder it keeps nothing.
func New(dir string, limit int64, log *slog.Logger) *Cache {
	return &Cache{dir: dir, limit: limit, log: log, leases: map[string]*lease{}, state: State{Limit: limit}}
}

// State does not wait for a disk.
func (c *Cache) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// item is something that may be removed.
type item struct {
	path string
	part bool // of a download that was cut off
	used time.Time
	size int64
}

// Trim removes what was used the longest time ago, until there is room for more bytes within the limit or everything that is
// left is in use. It never fails: what cannot be removed is told of, and stays.
func (c *Cache) Trim(ctx context.Context, more int64) {
	if c.dir == "" {
		return
	}
	items, total := c.list()
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, i := range items {
		if c.limit <= 0 || total+more <= c.limit || ctx.Err() != nil {
			break
		}
		removed, err := c.remove(i)
		if err != nil {
			c.log.Warn("cannot remove an image from the cache", "file", i.path, "error", err)
		}
		if removed {
			total -= i.size
			c.log.Info("removed an image from the cache", "file", i.path, "bytes", i.size, "used", i.used)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.state.Stuck
	c.state.Bytes, c.state.Stuck = total, 0
	if c.limit > 0 && total+more > c.limit {
		c.state.Stuck = total + more - c.limit
		if was == 0 {
			c.log.Warn("the cache is above its limit, because what is in it is in use", "bytes", total+more, "limit", c.limit)
		}
	}
}

// list finds all that is in the cache, and how many bytes all of it takes on the disk.
func (c *Cache) list() (items []item, total int64) {
	all, err := filepath.Glob(filepath.Join(c.dir, "*", "*", "*"))
	if err != nil {
		return nil, 0 // only for a pattern that is none
	}
	for _, path := range all {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		size := st.Blocks * 512
		total += size
		i := item{path: path, part: strings.HasSuffix(path, partSuffix), size: size, used: time.Unix(st.Mtim.Unix())}
		if lock, err := os.Stat(lockOf(path)); err == nil {
			i.used = lock.ModTime()
		} else if !i.part {
			continue
		}
		items = append(items, i)
	}
	return items, total
}

// partSuffix and ofSuffix end the names of what is kept of a download that was cut off.
const (
	partSuffix = ".part"
	ofSuffix   = ".part.of"
)

// remove removes something, unless it is in use.
func (c *Cache) remove(i item) (bool, error) {
	if !i.part {
		// Before it is locked, because the folders that are looked at may hang: then nobody waits for the lock.
		if used, err := inUse(i.path); used || err != nil {
			return false, err
		}
	}
	name := i.path
	if !i.part {
		name = lockOf(i.path)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, nil // somebody makes an overlay, or fetches it
	}
	if i.part {
		_ = os.Remove(strings.TrimSuffix(i.path, partSuffix) + ofSuffix)
		return true, os.Remove(i.path)
	}
	used, err := inUse(i.path)
	if used || err != nil {
		return false, err
	}
	// The record of what it was stays: it comes back as it was.
	return true, os.Remove(i.path)
}
