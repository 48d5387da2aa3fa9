package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

const timeout = 20 * time.Second

// ownerVariable makes the test's binary a program that starts a sandbox with a running domain, and waits to be killed.
const ownerVariable = "GITVIRT_TEST_SANDBOX_OWNER"

func TestMain(m *testing.M) {
	if way := os.Getenv(ownerVariable); way != "" {
		if err := own(way); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	}
	os.Exit(m.Run())
}

func own(way string) error {
	ctx := context.Background()
	s, err := sandbox.StartAs(ctx, sandbox.Options{CapabilityCache: os.Getenv("CAPABILITIES")}, way)
	if err != nil {
		return err
	}
	if _, err := s.Virsh(ctx, "define", os.Getenv("DOMAIN")); err != nil {
		return err
	}
	if _, err := s.Virsh(ctx, "start", "tiny", "--paused"); err != nil {
		return err
	}
	qemus, err := s.QEMUs()
	if err != nil || len(qemus) != 1 {
		return fmt.Errorf("%d QEMUs: %w", len(qemus), err)
	}
	fmt.Println(s.Dir(), qemus[0].PID)
	return nil
}

// TestOwnerKilled kills a sandbox's owner with SIGKILL. The way without any isolation is one for an ordinary user,
// which the owner becomes in a user namespace of its own.
func TestOwnerKilled(t *testing.T) {
	for _, way := range sandbox.Isolations() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			command := []string{os.Args[0]}
			if way == "nothing" {
				command = []string{"unshare", "--user", "--map-user=1000", "--map-group=1000", os.Args[0]}
			}
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), ownerVariable+"="+way, "DOMAIN="+domainFile(t, "tiny"),
				"CAPABILITIES="+sandboxtest.CapabilityCache(t))
			cmd.Stderr = os.Stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(stdout).ReadString('\n')
			dir, pidText, ok := strings.Cut(strings.TrimSpace(line), " ")
			pid, err := strconv.Atoi(pidText)
			if !ok || err != nil {
				t.Fatalf("the owner said %q: %v", line, cmd.Wait())
			}
			if !alive(pid) {
				t.Fatalf("there is no QEMU %d before the owner dies", pid)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			sandboxtest.Wait(t, timeout, func() bool { return !alive(pid) && len(processesNaming(t, dir)) == 0 && !exists(dir) },
				"QEMU, libvirtd and directory of a killed owner were gone")
		})
	}
}

func TestLifecycle(t *testing.T) {
	for _, way := range []string{"own PIDs", "user namespace"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s, err := sandbox.StartAs(ctx, sandbox.Options{CapabilityCache: sandboxtest.CapabilityCache(t)}, way)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			defer func() {
				if log, err := s.Log(); t.Failed() && err == nil {
					t.Log(log)
				}
			}()
			virsh(t, s, "define", domainFile(t, "tiny"))
			if !exists(filepath.Join(s.ConfigDir(), "tiny.xml")) {
				t.Errorf("no inactive XML in %s", s.ConfigDir())
			}
			virsh(t, s, "start", "tiny", "--paused")
			if !exists(filepath.Join(s.StateDir(), "tiny.xml")) {
				t.Errorf("no run-time status in %s", s.StateDir())
			}
			qemu := onlyQEMU(t, s)

			if err := s.KillDaemon(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Virsh(ctx, "list"); err == nil {
				t.Error("virsh reaches a killed daemon")
			}
			if _, err := s.DaemonPID(); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("the PID of a killed daemon: %v", err)
			}
			if now := onlyQEMU(t, s); now != qemu {
				t.Errorf("QEMU was %v and is %v after the daemon's death", qemu, now)
			}

			if err := s.StartDaemon(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.RestartDaemon(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.StartDaemon(ctx); err == nil {
				t.Error("a second daemon started beside the first")
			}
			if got := virsh(t, s, "list", "--name", "--state-paused"); got != "tiny" {
				t.Errorf("after a restart the paused domains are %q", got)
			}
			// A QEMU that nobody reaps keeps libvirt waiting for many seconds.
			virsh(t, s, "destroy", "tiny")
			if qemus, err := s.QEMUs(); err != nil || len(qemus) != 0 {
				t.Errorf("after destroy there are the QEMUs %v, %v", qemus, err)
			}
			virsh(t, s, "start", "tiny", "--paused")
			qemu = onlyQEMU(t, s)

			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if left := processesNaming(t, s.Dir()); alive(qemu.PID) || len(left) > 0 || exists(s.Dir()) {
				t.Errorf("Close left: QEMU %v, processes %v, directory %v", alive(qemu.PID), left, exists(s.Dir()))
			}
			if err := s.Close(); err != nil {
				t.Errorf("the second Close: %v", err)
			}
		})
	}
}

func TestFrozenProcesses(t *testing.T) {
	s := sandboxtest.Start(t)
	virsh(t, s, "define", domainFile(t, "tiny"))
	virsh(t, s, "start", "tiny", "--paused")
	daemon, err := s.DaemonPID()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{onlyQEMU(t, s).PID, daemon} {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	hasty, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.RestartDaemon(hasty); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ending a frozen daemon in 200 ms: %v", err)
	}
	if err := s.KillDaemon(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.StartDaemon(t.Context()); err != nil {
		t.Errorf("starting a daemon beside a frozen QEMU: %v", err)
	}
	if err := s.Close(); err != nil || exists(s.Dir()) {
		t.Errorf("Close with a frozen QEMU: %v, directory left: %v", err, exists(s.Dir()))
	}
}

func TestPowerCycle(t *testing.T) {
	s := sandboxtest.Start(t)
	for _, name := range []string{"boots", "rests"} {
		virsh(t, s, "define", domainFile(t, name))
		virsh(t, s, "start", name, "--paused")
	}
	virsh(t, s, "autostart", "boots")
	before, err := s.QEMUs()
	if err != nil || len(before) != 2 {
		t.Fatalf("QEMUs before: %v, %v", before, err)
	}
	if err := s.PowerCycle(t.Context()); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Wait(t, timeout, func() bool { return virsh(t, s, "list", "--name") == "boots" }, "the autostarted domain ran")
	if after := onlyQEMU(t, s); after.Domain != "boots" || after.PID == before[0].PID {
		t.Errorf("after a power cut there is %v; before it %v", after, before)
	}
}

func TestDefaultPool(t *testing.T) {
	s := sandboxtest.Start(t)
	virsh(t, s, "vol-create-as", "default", "disk.qcow2", "1M", "--format", "qcow2")
	if !exists(filepath.Join(s.PoolDir(), "disk.qcow2")) {
		t.Errorf("no file of the new volume in %s", s.PoolDir())
	}
	if err := s.RestartDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := virsh(t, s, "vol-list", "default"); !strings.Contains(got, "disk.qcow2") {
		t.Errorf("after a restart the volumes are %q", got)
	}
}

// TestCapabilityCache checks that a second sandbox takes over what the first found out about QEMU: libvirt writes an
// entry anew whenever it has probed.
func TestCapabilityCache(t *testing.T) {
	cache := t.TempDir()
	entry := func() os.FileInfo {
		s := sandboxtest.Start(t, func(o *sandbox.Options) { o.CapabilityCache = cache })
		virsh(t, s, "define", domainFile(t, "tiny"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(cache, "*.xml"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the cache has %v, %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first, second := entry(), entry()
	if !os.SameFile(first, second) || first.ModTime() != second.ModTime() {
		t.Error("the second sandbox probed QEMU again")
	}
}

func TestStartFails(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 10))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "gt")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	for _, test := range []struct {
		name string
		ctx  context.Context
		opts sandbox.Options
		want string
	}{
		{"long path", t.Context(), sandbox.Options{TempDir: long}, "name a shorter folder in TMPDIR"},
		{"no such folder", t.Context(), sandbox.Options{TempDir: "/nowhere"}, "/nowhere"},
		{"cancelled", done, sandbox.Options{TempDir: short}, "context canceled"},
		{"bad configuration", t.Context(), sandbox.Options{TempDir: short, DaemonConfig: []string{"max_clients = {"}},
			"libvirtd ended: exit 1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := sandbox.Start(test.ctx, test.opts)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got the error %q, which lacks %q", err, test.want)
			}
			if test.opts.TempDir == "/nowhere" {
				return
			}
			if left, err := os.ReadDir(test.opts.TempDir); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// domainFile writes a domain that is as small as QEMU allows, with a network that needs no privileges.
func domainFile(t *testing.T, name string) string {
	t.Helper()
	xml := fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type></os>
		<devices><interface type='user'><model type='virtio'/></interface></devices></domain>`, name)
	file := filepath.Join(t.TempDir(), name+".xml")
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func virsh(t *testing.T, s *sandbox.Sandbox, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	out, err := s.Virsh(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func onlyQEMU(t *testing.T, s *sandbox.Sandbox) sandbox.Process {
	t.Helper()
	qemus, err := s.QEMUs()
	if err != nil || len(qemus) != 1 || !alive(qemus[0].PID) {
		t.Fatalf("want one live QEMU, got %v, %v", qemus, err)
	}
	return qemus[0]
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// alive tells a process from none and from a zombie, which has no command line. Reaping may be another's job.
func alive(pid int) bool {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(cmdline) > 0
}

// processesNaming lists whatever has a path in its command line, as an independent look at what is left.
func processesNaming(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || !strings.Contains(string(text), path)
	})
}
