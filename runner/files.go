package runner

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Libvirt keeps each domain's inactive XML in ConfigDir/NAME.xml, the live XML and state of one that runs in
// StateDir/NAME.xml, and a link in ConfigDir/autostart of one that starts with the host. It writes them as NAME.xml.new
// and renames. With libvirt 9.0 and QEMU 7.2 each of these was seen to change the file of what it changed: define,
// undefine, metadata and memory with --config; and live: suspend, resume, vCPUs, metadata, title, link state, I/O
// limits, attaching, detaching, pinning, I/O threads, statistics period, block copy. A change that is in the XML and
// not in the file was not found. The daemon writes under the domain's lock, under which it makes the XML too, so an
// XML that is read after the file was looked at is not older than that file.

// settleTime is how old a file must have been when it was looked at, so that a second change would have given it
// another time: the clock of a file system ticks up to every 10 ms, and a used-up inode number may come again.
const settleTime = 100 * time.Millisecond

// mark tells one state of a file or folder from another.
type mark struct {
	ino, size    uint64
	mtime, ctime unix.Timespec
	settled      bool // it was old enough, when it was looked at, to be told from any later state
}

func look(path string) (mark, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return mark{}, err
	}
	m := mark{ino: st.Ino, size: uint64(st.Size), mtime: st.Mtim, ctime: st.Ctim}
	m.settled = time.Now().UnixNano()-max(st.Mtim.Nano(), st.Ctim.Nano()) > settleTime.Nanoseconds()
	return m, nil
}

// same says that nothing has happened to the file since it was looked at first.
func (m mark) same(later mark) bool {
	later.settled = m.settled
	return m.settled && m == later
}

// layout is a look at libvirt's folders. A folder changes with every file that is renamed into it or removed from it.
type layout struct {
	known             bool
	config, autostart mark // autostart is zero and settled while there is no such folder
	state             mark
}

func (l layout) same(later layout) bool {
	return l.known && later.known &&
		l.config.same(later.config) && l.state.same(later.state)
}

func (e endpoint) hasFolders() bool { return e.configDir != "" && e.stateDir != "" }

// lookAround looks at the folders. They are not known where the options do not say where they are, or where they
// cannot be read: then everything is read from libvirt.
func (e endpoint) lookAround() layout {
	if !e.hasFolders() {
		return layout{}
	}
	var l layout
	var err1, err2, err3 error
	l.config, err1 = look(e.configDir)
	l.state, err2 = look(e.stateDir)
	l.autostart, err3 = look(filepath.Join(e.configDir, "autostart"))
	if errors.Is(err3, fs.ErrNotExist) {
		l.autostart, err3 = mark{settled: true}, nil
	}
	l.known = err1 == nil && err2 == nil && err3 == nil
	return l
}

// domainFiles is a look at the files of one domain.
type domainFiles struct {
	known         bool
	config, state mark
}

// lookAt looks at a domain's files: the config file of a persistent one, the state file of one that runs. If one of
// them is not where it should be, nothing is known.
func (e endpoint) lookAt(name string, persistent, active bool) domainFiles {
	if !e.hasFolders() {
		return domainFiles{}
	}
	d := domainFiles{known: true, config: mark{settled: true}, state: mark{settled: true}}
	var err1, err2 error
	if persistent {
		d.config, err1 = look(e.configDir + "/" + name + ".xml")
	}
	if active {
		d.state, err2 = look(e.stateDir + "/" + name + ".xml")
	}
	d.known = err1 == nil && err2 == nil
	return d
}

func (d domainFiles) same(later domainFiles) bool {
	return d.known && later.known && d.config.same(later.config) && d.state.same(later.state)
}
