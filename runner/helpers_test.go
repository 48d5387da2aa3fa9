package runner_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/proxy"
)

// soon is when something that must happen has happened, on a machine that is busy with other tests.
const soon = 20 * time.Second

// machine is a domain that is as small as QEMU allows.
type machine struct{ name, uuid string }

func newMachine(name string) machine {
	return machine{name, uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()}
}

// xml is the machine's definition with a record, and with further devices.
func (m machine) xml(record *metadata.Metadata, devices ...string) string {
	meta := ""
	if record != nil {
		meta = "<metadata>" + record.XML() + "</metadata>"
	}
	return fmt.Sprintf(`<domain type='qemu'><name>%s</name><uuid>%s</uuid>%s<memory unit='MiB'>16</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
		<devices>%s<interface type='user'><mac address='52:54:00:12:34:56'/><model type='virtio'/></interface></devices>
		</domain>`, m.name, m.uuid, meta, strings.Join(devices, ""))
}

func (m machine) step(op plan.Op) plan.Step {
	return plan.Step{Op: op, Domain: m.name, UUID: m.uuid}
}

func (m machine) define(record *metadata.Metadata, devices ...string) plan.Step {
	s := m.step(plan.OpDefine)
	s.XML = m.xml(record, devices...)
	return s
}

func (m machine) startPaused() plan.Step {
	s := m.step(plan.OpStart)
	s.Paused = true
	return s
}

// options are a runner's for a sandbox, with its folders.
func options(t testing.TB, s *sandbox.Sandbox) runner.Options {
	t.Helper()
	return runner.Options{
		URI: s.URI(), ConfigDir: s.ConfigDir(), StateDir: s.StateDir(),
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
}

// behind is a runner's options with a proxy before the sandbox.
func behind(t testing.TB, s *sandbox.Sandbox) (runner.Options, *proxy.Proxy) {
	t.Helper()
	p, err := proxy.Start(s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	opts := options(t, s)
	opts.URI = p.URI()
	return opts, p
}

// start runs a runner until the test ends, and returns once it listens.
func start(t testing.TB, opts runner.Options) *runner.Runner {
	t.Helper()
	r, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Errorf("Run did not return:\n%s", stacks())
		}
	})
	awake(t, r) // it listens
	return r
}

// awake waits for a wake-up.
func awake(t testing.TB, r *runner.Runner) {
	t.Helper()
	select {
	case <-r.Wake():
	case <-time.After(soon):
		t.Fatal("there was no wake-up")
	}
}

// asleep takes a wake-up that is there.
func asleep(r *runner.Runner) {
	select {
	case <-r.Wake():
	default:
	}
}

func apply(t testing.TB, r *runner.Runner, steps ...plan.Step) {
	t.Helper()
	if err := r.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
}

func observe(t testing.TB, r *runner.Runner) plan.World {
	t.Helper()
	world, err := r.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return world
}

// find observes one domain; nil if it is not there.
func find(t testing.TB, r *runner.Runner, name string) *plan.Domain {
	t.Helper()
	for _, d := range observe(t, r).Domains {
		if d.Name == name {
			return &d
		}
	}
	return nil
}

func virsh(t testing.TB, s *sandbox.Sandbox, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := s.Virsh(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// freeze stops a domain's QEMU, as storage that hangs does.
func freeze(t testing.TB, s *sandbox.Sandbox, name string) (thaw func()) {
	t.Helper()
	pid := signal(t, s, name, syscall.SIGSTOP)
	return func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// kill ends a domain's QEMU, as a crash does.
func kill(t testing.TB, s *sandbox.Sandbox, name string) { signal(t, s, name, syscall.SIGKILL) }

func signal(t testing.TB, s *sandbox.Sandbox, name string, signal syscall.Signal) (pid int) {
	t.Helper()
	all, err := s.QEMUs()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		if q.Domain == name {
			if err := syscall.Kill(q.PID, signal); err != nil {
				t.Fatal(err)
			}
			return q.PID
		}
	}
	t.Fatalf("domain %s has no QEMU", name)
	return 0
}

// leaked are the stacks of goroutines that a runner began, or go-libvirt for it.
func leaked() []string {
	var left []string
	for _, stack := range strings.Split(stacks(), "\n\n") {
		if strings.Contains(stack, "created by github.com/gitvirt/gitvirt/runner") ||
			strings.Contains(stack, "created by github.com/digitalocean/go-libvirt") {
			if !strings.Contains(stack, "gitvirt/runner/sandbox.") {
				left = append(left, stack)
			}
		}
	}
	return left
}

func stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", strings.TrimSpace(string(b)))
	return len(b), nil
}
