package image

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tempPrefix begins the names of files that are being written. Libvirt's directory pools leave out names that
	// begin with a dot.
	tempPrefix = ".gitvirt-"
	// foreignAge is when a temporary file whose owner cannot be asked after counts as left over.
	foreignAge = 7 * 24 * time.Hour
)

// Temp is a file that is being written. If its process is killed, Sweep removes it later.
type Temp struct {
	File    *os.File
	renamed bool
}

// CreateTemp makes an empty file, which only this user can read, in the folder that the complete file is to be in.
func CreateTemp(dir string) (*Temp, error) {
	self, err := thisOwner()
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, tempPrefix+self.String()+"-*.tmp")
	if err != nil {
		return nil, err
	}
	return &Temp{File: f}, nil
}

// Rename gives the file its own name. Unless it replaces, it fails with fs.ErrExist if there is a file of that name. The
// content should be on the disk before, and the name is after Sync of the folder.
func (t *Temp) Rename(path string, replace bool) error {
	from := t.File.Name()
	if replace {
		err := os.Rename(from, path)
		t.renamed = err == nil
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// NFS and others have no such rename. A link does not replace either; Discard takes the first name away.
		return os.Link(from, path)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: path, Err: err}
	}
	t.renamed = true
	return nil
}

// Discard closes the file, and removes its temporary name if it still has it.
func (t *Temp) Discard() {
	t.File.Close()
	if !t.renamed {
		os.Remove(t.File.Name())
	}
}

// owner says which process a temporary file belongs to.
type owner struct {
	place string // the host, its boot, and the PID namespace, as a digest
	pid   int
	start uint64 // when the process began, in clock ticks since boot: PIDs are used again
}

func (o owner) String() string { return fmt.Sprintf("%s-%d-%d", o.place, o.pid, o.start) }

func parseOwner(name string) (owner, bool) {
	text, ok := strings.CutPrefix(name, tempPrefix)
	fields := strings.Split(text, "-")
	if !ok || len(fields) != 4 || !strings.HasSuffix(text, ".tmp") {
		return owner{}, false
	}
	pid, err1 := strconv.Atoi(fields[1])
	start, err2 := strconv.ParseUint(fields[2], 10, 64)
	return owner{fields[0], pid, start}, err1 == nil && err2 == nil
}

func thisOwner() (owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return owner{}, fmt.Errorf("cannot name a temporary file: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return owner{}, fmt.Errorf("cannot name a temporary file: %w", err)
	}
	pid := os.Getpid()
	start, err := startTime(pid)
	if err != nil {
		return owner{}, fmt.Errorf("cannot name a temporary file: %w", err)
	}
	digest := sha256.Sum256([]byte(string(boot) + namespace))
	return owner{fmt.Sprintf("%x", digest[:8]), pid, start}, nil
}

// startTime reads field 22 of /proc/PID/stat (proc_pid_stat(5)). The second field is the program's name in brackets,
// in which there may be anything.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// gone says for sure that the process is no more.
func (o owner) gone(self owner) bool {
	if o.place != self.place {
		return false
	}
	start, err := startTime(o.pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && start != o.start
}

// Sweep removes the temporary files that a killed process left in a folder. Of a file of another host, or of an earlier
// boot, nobody can say whether its owner lives: those go when they are a week old.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	self, err := thisOwner()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		o, ok := parseOwner(entry.Name())
		if !ok || o == self {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // gone meanwhile
		}
		if !o.gone(self) && time.Since(info.ModTime()) < foreignAge {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Adopt makes a file that is there a temporary one: it is given its own name, or removed.
func Adopt(f *os.File) *Temp { return &Temp{File: f} }
