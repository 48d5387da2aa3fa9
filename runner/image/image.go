package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render"
)

// ErrUnusable says that what is on the host and what was asked for do not fit: a backing file that is not there or is
// of another format, a size below the backing file's, a name that is no name. Trying again changes nothing until one
// of the two does.
var ErrUnusable = errors.New("the image cannot be used")

// ErrInUse says that a file is to be made anew while its domain runs.
var ErrInUse = errors.New("the domain runs")

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnusable, fmt.Errorf(format, args...))
}

// Maker makes image files.
type Maker struct {
	// QemuImg is the program; qemu-img of the PATH if empty.
	QemuImg string
	// Secrets knows the passphrases that tokens stand for; nil where no volume is encrypted.
	Secrets Secrets
	// TryTime is how long it is to take to try a passphrase on a new encrypted volume; QEMU's two seconds when it is 0.
	TryTime time.Duration
}

// Use says what is known of a volume's user.
type Use struct {
	Fresh bool // a run begins: a VolumeEmpty is made anew
	// InUse says whether the domain runs: then nothing that is there is touched. It is asked when there is something
	// to touch.
	InUse func() (bool, error)
	// New says that the machine's record does not have the volume: what is there under its name is of an earlier machine.
	New bool
	// Owner is what a new file is marked with; the zero value for no mark.
	Owner Mark
	// Progress is told how a full copy goes on; nil where nobody wants to know.
	Progress Progress
}

// Ensure makes a volume at path if it is not there, makes a VolumeEmpty anew when a run begins, and grows what is
// smaller than the volume says. It never shrinks, and never touches a file that is in use. Made says that there is
// a new file: its content is on the disk, and its name is after Sync of the folder, which serves several files at once.
func (m Maker) Ensure(ctx context.Context, path string, v render.Volume, use Use) (made bool, err error) {
	if err := CheckPath(path); err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m.makeMissing(ctx, path, v, use)
	case err != nil:
		return false, err
	case v.Kind == render.VolumeFile && info.Mode()&fs.ModeDevice != 0:
		return false, nil // a device given as a host's disk
	case !info.Mode().IsRegular():
		return false, unusable("%s is there, and is no regular file", path)
	case v.Kind == render.VolumeEmpty && use.Fresh:
		if inUse, err := use.InUse(); inUse || err != nil {
			return false, cmp.Or(err, ErrInUse)
		}
		return true, m.make(ctx, path, v, use, true)
	case v.Kind == render.VolumeBlank, v.Kind == render.VolumeOverlay, v.Kind == render.VolumeCopy:
		if use.New {
			if err := checkEarlier(path, v, use.Owner); err != nil {
				return false, err
			}
		}
		if err := use.Owner.late(path); err != nil {
			return false, err
		}
		if v.Encryption != nil && v.Encryption.Check {
			if err := m.opens(ctx, path, v); err != nil {
				return false, err
			}
		}
		return false, m.grow(ctx, path, v, use)
	}
	return false, nil
}

func (m Maker) makeMissing(ctx context.Context, path string, v render.Volume, use Use) (bool, error) {
	if _, err := os.Lstat(path); err == nil {
		return false, unusable("%s is a symbolic link to a file that is not there", path)
	}
	if v.Kind == render.VolumeFile && !v.Create {
		return false, unusable("there is no file %s; make it, or give the hostDisk the type DiskOrCreate", path)
	}
	if err := checkSibling(path, v); err != nil {
		return false, err
	}
	err := m.make(ctx, path, v, use, false)
	if errors.Is(err, fs.ErrExist) {
		return false, nil // somebody else was faster: what is there, stays
	}
	return err == nil, err
}

// make writes a volume under a temporary name and gives it its own when the content is on the disk.
func (m Maker) make(ctx context.Context, path string, v render.Volume, use Use, replace bool) error {
	tmp, err := CreateTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer tmp.Discard()
	if err := m.fill(ctx, tmp.File, v, use.Progress); err != nil {
		return fmt.Errorf("cannot make %s: %w", path, err)
	}
	if v.Kind != render.VolumeFile { // which is the host's own
		if err := use.Owner.put(tmp.File); err != nil {
			return fmt.Errorf("cannot make %s: %w", path, err)
		}
	}
	if err := tmp.File.Sync(); err != nil {
		return fmt.Errorf("cannot make %s: %w", path, err)
	}
	if err := tmp.Rename(path, replace); err != nil {
		return fmt.Errorf("cannot make %s: %w", path, err)
	}
	return nil
}

// fill writes a volume's content into an empty file, which has a name already because qemu-img wants one.
func (m Maker) fill(ctx context.Context, f *os.File, v render.Volume, progress Progress) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	switch {
	case v.Kind == render.VolumeIgnition:
		_, err := f.Write(v.Seed["config"])
		return err
	case v.Kind == render.VolumeSeed:
		content, err := seedImage(v.Label, v.Seed)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	case v.Kind == render.VolumeOverlay, v.Kind == render.VolumeEmpty && v.Backing != "":
		return m.createOverlay(ctx, f.Name(), v)
	case v.Kind == render.VolumeCopy:
		return m.copyImage(ctx, f, v, progress)
	case v.Size <= 0:
		return unusable("volume %s has no size", v.Name)
	case v.Format == formatRaw:
		return f.Truncate(v.Size) // sparse: blocks are taken when the guest writes them
	case v.Format == formatQcow2:
		return m.createQcow2(ctx, f.Name(), v)
	}
	return unusable("volume %s has the format %q; qcow2 and raw can be made", v.Name, v.Format)
}

// grow raises the size that a guest sees of a volume, if it is less than the volume says.
func (m Maker) grow(ctx context.Context, path string, v render.Volume, use Use) error {
	if v.Size <= 0 {
		return nil
	}
	head, err := readHead(path)
	if err != nil {
		return err
	}
	// A raw image holds whatever its guest wrote, so only what says qcow2 is looked at as such.
	size := head.length
	if v.Format == formatQcow2 {
		if !head.qcow2 {
			return unusable("%s is there, and is no qcow2 image", path)
		}
		size = head.virtual
	}
	if size >= v.Size {
		return nil
	}
	if inUse, err := use.InUse(); inUse || err != nil {
		return err // it grows before the next run
	}
	return m.resize(ctx, path, v)
}

// Remove removes the files of a folder by name. One that is not there is no error.
func Remove(dir string, names []string) error {
	removed := false
	for _, name := range names {
		path, err := Path(dir, name)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err == nil {
			removed = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !removed {
		return nil
	}
	return Sync(dir)
}

// Path is the path of a file in a folder. It refuses a name that is a path, so that no name leads out of the folder.
func Path(dir, name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') {
		return "", unusable("%q is no name for a file in a folder", name)
	}
	if strings.HasPrefix(name, tempPrefix) {
		return "", unusable("the name %q begins with %s, which is for temporary files", name, tempPrefix)
	}
	path := filepath.Join(dir, name)
	return path, CheckPath(path)
}

// CheckPath refuses what QEMU's tools could take for something else than a file. They read a name up to its first
// colon as a protocol, "json:" as a whole description of one, and a leading dash as an option; an absolute path begins
// with a slash, and is none of these. Control characters would make messages and libvirt's XML lie.
func CheckPath(path string) error {
	if !filepath.IsAbs(path) {
		return unusable("%q is no absolute path", path)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return unusable("the path %q has control characters", path)
	}
	return nil
}

// Sync puts a folder's entries on the disk.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some network file systems sync entries by themselves, and refuse to be told to.
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("cannot sync the folder %s: %w", dir, err)
	}
	return nil
}
