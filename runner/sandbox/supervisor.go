package sandbox

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed supervisor.sh
var supervisorScript string

// isolation is a way to run the supervisor.
type isolation struct {
	unshare []string // the arguments of unshare; without any the supervisor runs as it is
	ownPIDs bool     // whether the supervisor is the first process of a PID namespace
}

// isolations are the ways that an effective user may try, the safest first. Everything runs as user 1000 of a user
// namespace, whose only meaning is that it is not root. User namespaces may be switched off, and a container that
// hides parts of /proc lets nobody mount another.
func isolations(euid int) []isolation {
	user := []string{"--user", "--map-user=1000", "--map-group=1000"}
	ways := []isolation{
		{unshare: append(user, "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"), ownPIDs: true},
	}
	if euid == 0 {
		return append(ways, isolation{unshare: user})
	}
	return append(ways, isolation{})
}

// supervisor runs the script that owns the daemon. See supervisor.sh for what the two say to each other.
type supervisor struct {
	stdin io.WriteCloser
	ended chan struct{} // closed when the supervisor is gone

	mu     sync.Mutex
	daemon *daemon // the one started last
}

// daemon is one run of libvirtd.
type daemon struct {
	done   chan struct{} // closed when it has ended
	status string        // how it ended, to be read after done
}

func (d *daemon) running() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// startSupervisor takes the first isolation that this machine allows.
func startSupervisor(ctx context.Context, l layout, ways []isolation) (*supervisor, error) {
	var refused []error
	for _, way := range ways {
		s, err := way.start(ctx, l)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot start a private libvirtd: %w", ctx.Err())
		}
		refused = append(refused, err)
	}
	return nil, fmt.Errorf("cannot start a private libvirtd: this machine gives no user namespace to it, and as root "+
		"it would share the system's state without one; run this as an ordinary user, or allow user namespaces "+
		"(sysctl user.max_user_namespaces, or the container's security options): %w", errors.Join(refused...))
}

func (way isolation) start(ctx context.Context, l layout) (*supervisor, error) {
	log, err := os.OpenFile(l.log(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the private libvirtd's log: %w", err)
	}
	defer log.Close()

	pids := "shared"
	if way.ownPIDs {
		pids = "own"
	}
	kind := "session"
	if l.networks {
		kind = "system"
	}
	args := []string{"bash", "-c", supervisorScript, "gitvirt-sandbox", l.dir, pids, kind}
	if way.unshare != nil {
		args = append(append([]string{"unshare"}, way.unshare...), args...)
	}
	cmd := exec.Command("env", args...) // env finds the program in the PATH that it is given
	cmd.Env = l.environment()
	cmd.Dir = "/"
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for the owner
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make the supervisor's standard input: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make the supervisor's standard output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the supervisor: %w", err)
	}
	s := &supervisor{stdin: stdin, ended: make(chan struct{})}
	ready := make(chan struct{})
	go s.listen(cmd, stdout, ready)

	select {
	case <-ready:
		return s, nil
	case <-s.ended:
		text, _ := io.ReadAll(io.NewSectionReader(log, 0, 1<<16))
		return nil, fmt.Errorf("%s: %s", strings.Join(args[:1+len(way.unshare)], " "), lastLines(string(text), 1))
	case <-ctx.Done():
		cmd.Process.Kill()
		<-s.ended
		return nil, ctx.Err()
	}
}

// listen reads what the supervisor says until it is gone. It owns the process.
func (s *supervisor) listen(cmd *exec.Cmd, stdout io.Reader, ready chan struct{}) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if lines.Text() == "ready" {
			close(ready)
		} else {
			s.daemonEnded("libvirtd ended: " + lines.Text())
		}
	}
	err := cmd.Wait()
	s.daemonEnded(fmt.Sprintf("the supervisor ended: %v", err))
	close(s.ended)
}

func (s *supervisor) daemonEnded(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.daemon != nil && s.daemon.running() {
		s.daemon.status = status
		close(s.daemon.done)
	}
}

// current returns the daemon that was started last, or nil.
func (s *supervisor) current() *daemon {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.daemon
}

// startDaemon has a libvirtd started; it does not wait for it.
func (s *supervisor) startDaemon() (*daemon, error) {
	s.mu.Lock()
	s.daemon = &daemon{done: make(chan struct{})}
	d := s.daemon
	s.mu.Unlock()
	if _, err := io.WriteString(s.stdin, "start\n"); err != nil {
		return nil, fmt.Errorf("cannot reach the supervisor of the private libvirtd: %w", err)
	}
	return d, nil
}

// close ends the supervisor's lease and waits until it has ended everything. It may be gone already.
func (s *supervisor) close(timeout time.Duration) error {
	s.stdin.Close()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-s.ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("the supervisor of the private libvirtd did not end within %v", timeout)
	}
}
