package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// closeTimeout is how long the supervisor may take to end everything before Close does it itself.
const closeTimeout = 10 * time.Second

// Options say how a sandbox differs from libvirt's defaults. The zero value is a good one.
type Options struct {
	// TempDir is the folder to make the sandbox's directory in; os.TempDir() if empty. It must be short, because
	// the names of UNIX sockets are limited.
	TempDir string

	// CapabilityCache is a folder that keeps what libvirt finds out about the installed QEMU, so that the next
	// sandbox need not ask it again: this saves half a second of CPU at the first define. Any number of sandboxes
	// may share it at once. None is kept if empty.
	CapabilityCache string

	// DefaultPool has the daemon run a directory pool named "default", with its files in PoolDir.
	DefaultPool bool

	// Networks has the daemon run as libvirt's system daemon does, in a network namespace and with folders of its own: there
	// it can start networks, which reach nothing else. It needs dnsmasq, iptables and ip.
	Networks bool

	// DaemonConfig and QEMUConfig are further lines of libvirtd.conf and qemu.conf.
	DaemonConfig, QEMUConfig []string
}

// Sandbox is a private libvirtd with its QEMUs. Its methods may be called from several goroutines.
type Sandbox struct {
	layout     layout
	supervisor *supervisor
	control    sync.Mutex // held by whoever starts or ends the daemon
	closing    sync.Once
	closed     error
}

// Start makes a sandbox and returns once its libvirtd answers. The context bounds the starting only; the sandbox
// lives until Close, or until this program ends, however it does.
func Start(ctx context.Context, opts Options) (*Sandbox, error) {
	if opts.Networks {
		return start(ctx, opts, networkIsolations(os.Geteuid()))
	}
	return start(ctx, opts, isolations(os.Geteuid()))
}

func start(ctx context.Context, opts Options, ways []isolation) (*Sandbox, error) {
	type need struct{ program, debian string }
	needs := []need{{"libvirtd", "libvirt-daemon"}, {"bash", "bash"}, {"unshare", "util-linux"}}
	if opts.Networks {
		needs = append(needs, need{"dnsmasq", "dnsmasq-base"}, need{"iptables", "iptables"}, need{"ip", "iproute2"}, need{"nsenter", "util-linux"})
	}
	for _, need := range needs {
		if !installed(need.program) {
			return nil, fmt.Errorf("cannot start a private libvirtd: there is no %s in %s; install it (Debian's package %s)",
				need.program, searchPath(), need.debian)
		}
	}
	layout, err := newLayout(opts)
	if err != nil {
		return nil, err
	}
	supervisor, err := startSupervisor(ctx, layout, ways)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(layout.dir))
	}
	s := &Sandbox{layout: layout, supervisor: supervisor}
	if err := s.StartDaemon(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// URI returns libvirt's connection URI of the sandbox, for virsh, go-libvirt and gitvirt alike.
func (s *Sandbox) URI() string { return s.layout.uri() + "?socket=" + s.Socket() }

// Socket returns the UNIX socket that the daemon listens on. It stays the same when the daemon is restarted.
func (s *Sandbox) Socket() string { return s.layout.socket() }

// Dir returns the directory that holds everything of the sandbox. Callers may put files for its guests there.
func (s *Sandbox) Dir() string { return s.layout.dir }

// PoolDir returns the folder of the pool that Options.DefaultPool asks for.
func (s *Sandbox) PoolDir() string { return s.layout.pool() }

// ConfigDir returns the folder where libvirt keeps the inactive XML of its domains, as NAME.xml.
func (s *Sandbox) ConfigDir() string {
	if s.layout.networks {
		return filepath.Join(s.layout.private("etc"), "qemu")
	}
	return filepath.Join(s.layout.libvirtConfig(), "qemu")
}

// StateDir returns the folder where libvirt keeps the status of running domains, as NAME.xml and NAME.pid.
func (s *Sandbox) StateDir() string {
	if s.layout.networks {
		return filepath.Join(s.layout.private("run"), "libvirt", "qemu")
	}
	return filepath.Join(s.layout.runtimeHome(), "libvirt", "qemu", "run")
}

// Log returns what the daemon has logged so far: warnings and errors, over all its restarts.
func (s *Sandbox) Log() (string, error) {
	text, err := os.ReadFile(s.layout.log())
	if err != nil {
		return "", fmt.Errorf("cannot read the private libvirtd's log: %w", err)
	}
	return string(text), nil
}

// GuestLog returns what QEMU printed for a domain, over all its runs.
func (s *Sandbox) GuestLog(domain string) (string, error) {
	folder := filepath.Join(s.layout.cacheHome(), "libvirt", "qemu", "log")
	if s.layout.networks {
		folder = filepath.Join(s.layout.private("log"), "qemu")
	}
	text, err := os.ReadFile(filepath.Join(folder, domain+".log"))
	if err != nil {
		return "", fmt.Errorf("cannot read the log of domain %s: %w", domain, err)
	}
	return string(text), nil
}

// Virsh runs virsh on the sandbox and returns what it printed. The error carries virsh's own message.
func (s *Sandbox) Virsh(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "virsh", append([]string{"--quiet", "--connect", s.URI()}, args...)...)
	cmd.Env = s.layout.environment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return string(stdout), fmt.Errorf("cannot run virsh %s: %w: %s",
			strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(stdout), nil
}

// Inside runs a program in the sandbox's network namespace, and returns what it printed.
func (s *Sandbox) Inside(ctx context.Context, program string, args ...string) (string, error) {
	pid, err := s.DaemonPID()
	if err != nil {
		return "", err
	}
	enter := []string{"--target", strconv.Itoa(pid), "--net"}
	if os.Geteuid() != 0 {
		enter = append(enter, "--user", "--preserve-credentials")
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(append(enter, program), args...)...)
	cmd.Env = s.layout.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("cannot run %s in the private libvirtd's network: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// Close ends the daemon and every QEMU that it or a predecessor started, and removes the directory. It waits until
// they are gone. Closing again does nothing and returns the same.
func (s *Sandbox) Close() error {
	s.closing.Do(func() {
		s.closed = errors.Join(s.supervisor.close(closeTimeout), s.layout.remove())
	})
	return s.closed
}

// remove ends what the supervisor left behind, which is nothing unless it was killed, and removes the directory.
func (l layout) remove() error {
	for deadline := time.Now().Add(closeTimeout); ; time.Sleep(5 * time.Millisecond) {
		left, err := l.killAll()
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot end %d processes of the private libvirtd in %s", left, l.dir)
		}
	}
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("cannot remove the private libvirtd's directory: %w", err)
	}
	return nil
}

func installed(program string) bool {
	for _, dir := range filepath.SplitList(searchPath()) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}
