package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Process is a QEMU that a sandbox's libvirtd started for a domain.
type Process struct {
	PID    int // as the caller sees it, whatever namespace the process is in
	Domain string
}

// QEMUs returns the QEMU processes of the sandbox's domains, sorted by domain, whether or not the daemon lives.
func (s *Sandbox) QEMUs() ([]Process, error) {
	all, err := s.layout.processes()
	if err != nil {
		return nil, err
	}
	var qemus []Process
	for _, p := range all {
		if domain, ok := p.domain(); ok {
			qemus = append(qemus, Process{PID: p.pid, Domain: domain})
		}
	}
	slices.SortFunc(qemus, func(a, b Process) int { return cmp.Compare(a.Domain, b.Domain) })
	return qemus, nil
}

// DaemonPID returns the process of the running libvirtd, to stop (SIGSTOP) or kill it behind its back.
func (s *Sandbox) DaemonPID() (int, error) {
	all, err := s.layout.processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.program() == "libvirtd" {
			return p.pid, nil
		}
	}
	return 0, fmt.Errorf("cannot find the libvirtd of %s: %w", s.layout.dir, os.ErrProcessDone)
}

// process is a libvirtd or QEMU, with its command line.
type process struct {
	pid  int
	args []string
}

func (p process) program() string { return filepath.Base(p.args[0]) }

// domain reads the name from "-name guest=NAME,debug-threads=on", in which QEMU wants each comma of a name doubled.
func (p process) domain() (string, bool) {
	for _, arg := range p.args {
		if name, ok := strings.CutPrefix(arg, "guest="); ok {
			return strings.ReplaceAll(strings.TrimSuffix(name, ",debug-threads=on"), ",,", ","), true
		}
	}
	return "", false
}

// processes finds every libvirtd and QEMU that names the sandbox's directory in its command line. A zombie has none,
// so it is not among them.
func (l layout) processes() ([]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("cannot list the processes in /proc: %d found: %w", len(files), err)
	}
	var found []process
	for _, file := range files {
		cmdline, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(cmdline, []byte(l.dir+"/")) {
			continue // gone meanwhile, or not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		p := process{pid: pid, args: strings.Split(string(cmdline), "\x00")}
		if name := p.program(); name == "libvirtd" || strings.HasPrefix(name, "qemu-") {
			found = append(found, p)
		}
	}
	return found, nil
}

// killAll kills what processes finds, and returns how many that were.
func (l layout) killAll() (int, error) {
	all, err := l.processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return len(all), fmt.Errorf("cannot kill %s (%d): %w", p.program(), p.pid, err)
		}
	}
	return len(all), nil
}
