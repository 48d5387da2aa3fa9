package imagecache

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/image"
)

// usersSuffix ends the name of the folder beside an image that has the records of where its overlays are.
const usersSuffix = ".users"

func lockOf(path string) string { return filepath.Join(path+usersSuffix, "lock") }

// lease is a lock on an image, which several machines share.
type lease struct {
	holders int
	ready   chan struct{} // closed once file and err are known
	file    *os.File
	err     error
}

// user is the record of a folder with overlays.
type user struct {
	Folder string `json:"folder"`
	// Inode and FileSystem tell the folder from another one in its place.
	Inode      uint64 `json:"inode"`
	FileSystem string `json:"fileSystem"`
}

func userOf(folder string) (user, error) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Stat(folder, &st), unix.Statfs(folder, &fs)); err != nil {
		return user{}, fmt.Errorf("cannot look at %s: %w", folder, err)
	}
	return user{folder, st.Ino, fmt.Sprintf("%x", fs.Fsid)}, nil
}

// Lease says that an overlay of an image is going to be made in a folder, and keeps the image until release is called, whether it
// is there yet or not. An image that is not below the cache's folder is nobody's to remove.
func (c *Cache) Lease(path, folder string) (release func(), err error) {
	if c.dir == "" || !strings.HasPrefix(path, c.dir+"/") {
		return func() {}, nil
	}
	l, err := c.hold(path)
	release = sync.OnceFunc(func() { c.release(path, l) })
	if err == nil {
		err = record(path, folder)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("cannot keep the image %s: %w", path, err)
	}
	return release, nil
}

// hold joins who holds an image, or locks it. No other image waits for the disk meanwhile.
func (c *Cache) hold(path string) (*lease, error) {
	c.mu.Lock()
	l := c.leases[path]
	first := l == nil
	if first {
		l = &lease{ready: make(chan struct{})}
		c.leases[path] = l
	}
	l.holders++
	c.mu.Unlock()
	if first {
		l.file, l.err = lock(path)
		close(l.ready)
	}
	<-l.ready
	return l, l.err
}

func (c *Cache) release(path string, l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.holders--; l.holders > 0 {
		return
	}
	if l.file != nil {
		l.file.Close()
	}
	delete(c.leases, path)
}

// lock takes the lock that says that an image is being used, and notes when.
func lock(path string) (*os.File, error) {
	if err := os.MkdirAll(path+usersSuffix, 0o711); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockOf(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Who removes images holds it for a moment only.
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
	if err == nil {
		now := time.Now()
		err = os.Chtimes(f.Name(), now, now)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// record notes that a folder has overlays of an image. The record is on the disk before the first of them can be.
func record(path, folder string) error {
	u, err := userOf(folder)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(u)
	if err != nil {
		return err
	}
	dir := path + usersSuffix
	// A folder of the same name that is another one has a record of its own.
	name := filepath.Join(dir, fmt.Sprintf("%x.json", sha256.Sum256(raw)))
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	tmp, err := image.CreateTemp(dir)
	if err != nil {
		return err
	}
	defer tmp.Discard()
	if _, err := tmp.File.Write(raw); err != nil {
		return err
	}
	if err := tmp.File.Sync(); err != nil {
		return err
	}
	if err := tmp.Rename(name, true); err != nil {
		return err
	}
	return errors.Join(image.Sync(dir), image.Sync(filepath.Dir(dir)))
}

// inUse says whether there are overlays of an image, or may be. The image is locked, so that none is made meanwhile.
func inUse(path string) (bool, error) {
	records, err := filepath.Glob(filepath.Join(path+usersSuffix, "*.json"))
	if err != nil {
		return true, err
	}
	for _, name := range records {
		raw, err := os.ReadFile(name)
		if err != nil {
			return true, err
		}
		var u user
		if err := json.Unmarshal(raw, &u); err != nil {
			return true, fmt.Errorf("cannot read %s: %w", name, err)
		}
		now, err := userOf(u.Folder)
		if err != nil || now != u || hasOverlay(u.Folder, path) {
			return true, nil // not mounted, it may be
		}
	}
	return false, nil
}

// hasOverlay says whether a folder has an overlay of an image, or may have one. The name of a backing file is compared by the
// image's place alone, which no other image has: it may be written in several ways.
func hasOverlay(folder, path string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return true
	}
	place := filepath.Base(filepath.Dir(path))
	for _, e := range entries {
		if !e.Type().IsRegular() && e.Type() != fs.ModeSymlink {
			continue
		}
		backing, err := image.Backing(filepath.Join(folder, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.Contains(backing, place) {
			return true
		}
	}
	return false
}
