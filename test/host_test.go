package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// patience is how long a test waits for what must come. It is no measure of anything.
const patience = 90 * time.Second

// host is a machine with a libvirtd of its own, a repository, and a gitvirt to run on it. What gitvirt asks of libvirt goes
// through a proxy.
type host struct {
	t       testing.TB
	binary  string
	sandbox *sandbox.Sandbox
	proxy   *proxy.Proxy
	bare    string
	clone   string
	state   string
	listen  string
	flags   []string // for every command, beside the usual ones
	config  string   // the agent's file; empty for none
	keys    string   // what that has of secrets, in YAML
	log     *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestMain builds the program that the tests run.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gitvirt-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "gitvirt"), "../cmd/gitvirt").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "cannot build gitvirt: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv("GITVIRT_UNDER_TEST", filepath.Join(dir, "gitvirt")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func newHost(t testing.TB, change ...func(*sandbox.Options)) *host {
	t.Helper()
	h := &host{t: t, binary: os.Getenv("GITVIRT_UNDER_TEST"), sandbox: sandboxtest.Start(t, change...), state: t.TempDir(), log: &syncBuffer{}}
	var err error
	if h.proxy, err = proxy.Start(h.sandbox.Socket()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.proxy.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the agents' log:\n%s", h.log)
		}
	})
	dir := t.TempDir()
	h.bare, h.clone = filepath.Join(dir, "vms.git"), filepath.Join(dir, "clone")
	h.git(dir, "init", "--quiet", "--bare", "--initial-branch=main", h.bare)
	h.git(dir, "clone", "--quiet", h.bare, h.clone)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.listen = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) git(dir string, args ...string) string {
	h.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push makes the documents the whole content of the branch, and returns the commit.
func (h *host) push(message string, documents ...string) string {
	h.t.Helper()
	commit := h.commit(message, documents...)
	h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
	return commit
}

// commit makes a commit of the documents in the clone.
func (h *host) commit(message string, documents ...string) string {
	h.t.Helper()
	old, err := filepath.Glob(filepath.Join(h.clone, "*.yaml"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			h.t.Fatal(err)
		}
	}
	for n, text := range documents {
		if err := os.WriteFile(filepath.Join(h.clone, fmt.Sprintf("%d.yaml", n)), []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.git(h.clone, "add", "--all")
	h.git(h.clone, "commit", "--quiet", "--allow-empty", "-m", message)
	return h.git(h.clone, "rev-parse", "HEAD")
}

// command is a gitvirt command about this host.
func (h *host) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(h.binary, slices.Concat([]string{name, "--repo", h.bare, "--host", "kvm1", "--libvirt", h.uri(), "--domain-type", "qemu",
		"--state-dir", h.state, "--interval", "1h", "--listen", h.listen,
		"--libvirt-config-dir", h.sandbox.ConfigDir(), "--libvirt-state-dir", h.sandbox.StateDir()}, h.configFlag(), h.flags, args)...)
	return c
}

// uri is the sandbox's, by way of the proxy.
func (h *host) uri() string {
	driver, _, _ := strings.Cut(h.sandbox.URI(), "?")
	_, socket, _ := strings.Cut(h.proxy.URI(), "?")
	return driver + "?" + socket
}

func (h *host) configFlag() []string {
	if h.config == "" {
		return nil
	}
	return []string{"--config", h.config}
}

// allow makes a policy the agent's, in YAML. An agent that runs with one already reads it again.
func (h *host) allow(policy string) {
	h.t.Helper()
	h.config = filepath.Join(h.state, "agent.yaml")
	if err := os.WriteFile(h.config+".new", []byte("policy: {"+policy+"}\n"+h.keys), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(h.config+".new", h.config); err != nil {
		h.t.Fatal(err)
	}
}

// allowGuest lets machines have a kernel that boots, and a file for their console.
func (h *host) allowGuest(kernel string) {
	h.t.Helper()
	h.allow(fmt.Sprintf("hostPaths: [%q, %q]", h.sandbox.PoolDir(), filepath.Dir(kernel)))
}

// once makes one pass and returns its exit code.
func (h *host) once() int {
	h.t.Helper()
	c := h.command("agent", "--once")
	c.Stdout, c.Stderr = h.log, h.log
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return 0
}

// converge makes passes until all is in sync, as cron would.
func (h *host) converge() {
	h.t.Helper()
	for range 8 {
		switch code := h.once(); code {
		case 0:
			return
		case 1, -1:
		default:
			h.t.Fatalf("a pass ended with %d:\n%s", code, h.log)
		}
	}
	h.t.Fatalf("it is not in sync after 8 passes:\n%s", h.log)
}

// running is an agent that runs.
type running struct {
	h    *host
	cmd  *exec.Cmd
	done chan error
}

// agent starts an agent, which the test's end stops.
func (h *host) agent() *running {
	h.t.Helper()
	r := &running{h: h, cmd: h.command("agent"), done: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = h.log, h.log
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	h.t.Cleanup(r.kill)
	return r
}

// kill is kill -9.
func (r *running) kill() {
	if r.done == nil {
		return
	}
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.done
	r.done = nil
}

// get asks the agent.
func (h *host) get(path string, v any) (int, error) {
	answer, err := http.Get("http://" + h.listen + path)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || v == nil {
		return answer.StatusCode, err
	}
	if text, ok := v.(*string); ok {
		*text = string(raw)
		return answer.StatusCode, nil
	}
	return answer.StatusCode, json.Unmarshal(raw, v)
}

// instance waits until the agent reports an instance as it is to be.
func (h *host) instance(name, what string, ok func(status.Instance) bool) status.Instance {
	h.t.Helper()
	var i status.Instance
	sandboxtest.Wait(h.t, patience, func() bool {
		i = status.Instance{}
		code, err := h.get("/api/v1alpha1/instances/"+name, &i)
		return err == nil && code == http.StatusOK && ok(i)
	}, name+" "+what)
	return i
}

// settled waits until the agent has the revision in force and nothing left to do.
func (h *host) settled(revision string) {
	h.t.Helper()
	sandboxtest.Wait(h.t, patience, func() bool {
		var p plan.Plan
		_, err := h.get("/api/v1alpha1/plan", &p)
		return err == nil && p.Revision == revision && len(p.Actions) == 0
	}, "nothing is left to do at "+revision)
}

func phase(p plan.Phase) func(status.Instance) bool {
	return func(i status.Instance) bool { return i.Status.Phase == p }
}

func (h *host) virsh(args ...string) string {
	h.t.Helper()
	out, err := h.sandbox.Virsh(h.t.Context(), args...)
	if err != nil {
		h.t.Fatalf("virsh %v: %v\n%s", args, err, out)
	}
	return out
}

// machineDoc is a config of a machine without an operating system.
func machineDoc(name, more, memory string, disks ...string) string {
	var devices, volumes []string
	for _, d := range disks {
		devices = append(devices, "{name: "+d+"}")
		volumes = append(volumes, "{name: "+d+", volume: {size: 1Mi}}")
	}
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  %s
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: %s}, devices: {disks: [%s]}}
      volumes: [%s]
`, name, more, memory, strings.Join(devices, ", "), strings.Join(volumes, ", "))
}

func runDoc(name, more string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: %s}\nspec: {host: kvm1, %s}\n", name, more)
}
