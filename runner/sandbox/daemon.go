package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/digitalocean/go-libvirt"
)

const (
	// stopTimeout is how long a daemon may take to end by itself. One with a frozen QEMU can take for ever.
	stopTimeout = 5 * time.Second
	// settleTimeout is how long a new daemon may take to find the QEMUs that run.
	settleTimeout = 3 * time.Second
	// pollInterval is how often a starting daemon is asked whether it serves; it takes 20 to 40 ms.
	pollInterval = 2 * time.Millisecond
)

// StartDaemon starts a libvirtd after KillDaemon, and returns once it answers and has found the QEMUs that run. One that
// is frozen it cannot find, which holds StartDaemon up for a few seconds.
func (s *Sandbox) StartDaemon(ctx context.Context) error {
	s.control.Lock()
	defer s.control.Unlock()
	return s.startDaemon(ctx)
}

// KillDaemon kills the daemon (SIGKILL), as a crash would. Its QEMUs live on. It returns once the daemon is gone.
func (s *Sandbox) KillDaemon(ctx context.Context) error {
	s.control.Lock()
	defer s.control.Unlock()
	return s.stopDaemon(ctx, syscall.SIGKILL)
}

// RestartDaemon ends the daemon as a service manager would, with SIGTERM and after a while with SIGKILL, and starts
// the next. The QEMUs live on. A daemon that is gone already is only started.
func (s *Sandbox) RestartDaemon(ctx context.Context) error {
	s.control.Lock()
	defer s.control.Unlock()
	if s.supervisor.current().running() {
		if err := s.stopDaemon(ctx, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return s.startDaemon(ctx)
}

// PowerCycle does what a power cut of the host does: daemon and QEMUs are killed, what lives in memory only (libvirt's
// run-time state) is lost, and the daemon starts as at boot, with the domains that are marked autostart.
func (s *Sandbox) PowerCycle(ctx context.Context) error {
	s.control.Lock()
	defer s.control.Unlock()
	if s.supervisor.current().running() {
		if err := s.stopDaemon(ctx, syscall.SIGKILL); err != nil {
			return err
		}
	}
	for {
		left, err := s.layout.killAll()
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("cannot end the private libvirtd's QEMUs: %w", err)
		}
	}
	// The folder itself stays: it is in the daemon's environment.
	state, err := os.ReadDir(s.layout.runtimeHome())
	if err != nil {
		return fmt.Errorf("cannot read the run-time state: %w", err)
	}
	for _, entry := range state {
		if err := os.RemoveAll(filepath.Join(s.layout.runtimeHome(), entry.Name())); err != nil {
			return fmt.Errorf("cannot remove the run-time state: %w", err)
		}
	}
	return s.startDaemon(ctx)
}

func (s *Sandbox) startDaemon(ctx context.Context) error {
	if d := s.supervisor.current(); d != nil && d.running() {
		return errors.New("cannot start the private libvirtd: it runs already")
	}
	d, err := s.supervisor.startDaemon()
	if err != nil {
		return err
	}
	for {
		unready := talk(ctx, s.layout, func(*libvirt.Libvirt) error { return nil })
		if unready == nil {
			return s.settle(ctx)
		}
		if !d.running() {
			log, _ := s.Log()
			return fmt.Errorf("cannot start the private libvirtd: %s: %s", d.status, lastLines(log, 5))
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("cannot start the private libvirtd: %w: %w", err, unready)
		}
	}
}

func (s *Sandbox) stopDaemon(ctx context.Context, signal syscall.Signal) error {
	d := s.supervisor.current()
	pid, err := s.DaemonPID()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("cannot signal the private libvirtd: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	for {
		select {
		case <-d.done:
			return nil
		case <-timer.C:
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return fmt.Errorf("cannot kill the private libvirtd: %w", err)
			}
		case <-ctx.Done():
			return fmt.Errorf("cannot end the private libvirtd: %w", ctx.Err())
		}
	}
}

// settle waits until a daemon has found the QEMUs of its predecessor again. It does so after it answers, and if it is
// ended meanwhile it takes the QEMU for lost and kills it (seen with libvirt 9.0). Asking for memory statistics waits,
// because both need the domain's job. A frozen QEMU is never found; the wait for those is short, and no error.
func (s *Sandbox) settle(ctx context.Context) error {
	qemus, err := s.QEMUs()
	if err != nil || len(qemus) == 0 {
		return err
	}
	short, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	_ = talk(short, s.layout, func(client *libvirt.Libvirt) error {
		domains, _, err := client.ConnectListAllDomains(1, libvirt.ConnectListDomainsActive)
		for _, domain := range domains {
			_, statsErr := client.DomainMemoryStats(domain, uint32(libvirt.DomainMemoryStatNr), 0)
			err = errors.Join(err, statsErr)
		}
		return err
	})
	return ctx.Err()
}

// talk opens libvirt's session at a socket, does something with it, and closes it again. A daemon accepts connections
// before its drivers are there, and answers only then.
func talk(ctx context.Context, l layout, do func(*libvirt.Libvirt) error) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", l.socket())
	if err != nil {
		return err
	}
	// The calls take no context: closing the connection is what ends them.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	client := libvirt.NewWithDialer(dialed{conn})
	uri := libvirt.QEMUSession
	if l.networks {
		uri = libvirt.QEMUSystem
	}
	if err := client.ConnectToURI(uri); err != nil {
		conn.Close()
		return err
	}
	return errors.Join(do(client), client.Disconnect())
}

// dialed gives go-libvirt a connection that is open already.
type dialed struct{ conn net.Conn }

func (d dialed) Dial() (net.Conn, error) { return d.conn, nil }

// pause waits a moment, or returns the context's error.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
