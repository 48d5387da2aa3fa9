package test

import (
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

const theToken = "t0ken-of-the-agent"

// serve has the host's repository served by git http-backend, to whoever has the token, and has its agent read it there.
func (h *host) serve(settings string) {
	h.t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(h.bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); token != theToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	h.t.Cleanup(server.Close)
	dir := h.t.TempDir()
	token, config := filepath.Join(dir, "token"), filepath.Join(dir, "agent.yaml")
	for file, text := range map[string]string{token: theToken + "\n", config: "auth: {tokenFile: " + token + "}\n" + settings} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.flags = append(h.flags, "--repo", server.URL+"/"+filepath.Base(h.bare), "--config", config)
}

// shows waits until a page of the agent has all of the texts.
func (h *host) shows(path string, texts ...string) {
	h.t.Helper()
	page, missing := "", ""
	defer func() {
		if h.t.Failed() {
			h.t.Logf("%s has no %q:\n%s", path, missing, page)
		}
	}()
	sandboxtest.Wait(h.t, patience, func() bool {
		if _, err := h.get(path, &page); err != nil {
			return false
		}
		for _, text := range texts {
			if !strings.Contains(page, text) {
				missing = text
				return false
			}
		}
		return true
	}, path+" shows it")
}

// accept runs gitvirt accept and returns its exit code and what it said.
func (h *host) accept(args ...string) (int, string) {
	h.t.Helper()
	out, err := exec.Command(h.binary, append([]string{"accept", "--state-dir", h.state}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return 0, string(out)
}

// rewrite makes the documents the branch's content in place of its last commit.
func (h *host) rewrite(message string, documents ...string) string {
	h.t.Helper()
	h.git(h.clone, "reset", "--quiet", "--hard", "HEAD^")
	commit := h.commit(message, documents...)
	h.git(h.clone, "push", "--quiet", "--force", "origin", "HEAD:main")
	return commit
}

// TestForcedPushIsHeld: a rewritten branch changes nothing until it is accepted, beside a running agent, over a restart, and
// while none runs; and the agent's token is seen nowhere.
func TestForcedPushIsHeld(t *testing.T) {
	h := newHost(t)
	h.serve("forcedPush: Hold\n")
	web := []string{machineDoc("web", "", "16Mi"), runDoc("web", "state: Paused")}
	h.push("Nothing yet")
	one := h.push("One", web...)
	first := h.agent()
	h.settled(one)

	two := h.rewrite("Two", machineDoc("db", "", "16Mi"), runDoc("db", "state: Paused"))
	if err := first.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.shows("/metrics", "gitvirt_source_held 1\n", "gitvirt_source_forced_pushes_total 1\n", `gitvirt_revision_info{branch="main",revision="`+one+`"} 1`)
	h.shows("/", "held since", two, "gitvirt accept "+two[:12])
	h.shows("/api/v1alpha1/events", `"Held"`, two)
	h.settled(one)
	if names := h.virsh("list", "--all", "--name"); strings.TrimSpace(names) != "web" {
		t.Errorf("the domains are %q", names)
	}
	if code, said := h.accept(one[:10]); code != 2 || !strings.Contains(said, "held is "+two) {
		t.Errorf("accept %s: %d, %s", one, code, said)
	}
	var pages string
	for _, path := range []string{"/", "/metrics", "/api/v1alpha1/plan", "/api/v1alpha1/events", "/api/v1alpha1/instances"} {
		var page string
		if _, err := h.get(path, &page); err != nil {
			t.Error(err)
		}
		pages += page
	}
	for _, file := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(first.cmd.Process.Pid) + "/" + file)
		if err != nil {
			t.Error(err)
		}
		pages += string(data)
	}
	if strings.Contains(pages, theToken) {
		t.Error("the token is shown")
	}

	// Over a restart, and without the repository.
	first.kill()
	if err := os.Rename(h.bare, h.bare+".away"); err != nil {
		t.Fatal(err)
	}
	h.agent()
	h.shows("/metrics", "gitvirt_source_held 1\n", `revision="`+one+`"`)
	h.settled(one)
	if err := os.Rename(h.bare+".away", h.bare); err != nil {
		t.Fatal(err)
	}
	// The agent asks once an hour: it is told.
	if code, said := h.accept(two[:10]); code != 0 || !strings.Contains(said, "accepted "+two) {
		t.Fatalf("accept: %d, %s", code, said)
	}
	h.settled(two)
	h.instance("db", "is paused", phase(plan.PhasePaused))
	h.shows("/metrics", "gitvirt_source_held 0\n")
	if code, said := h.accept(); code != 2 || !strings.Contains(said, "nothing is") {
		t.Errorf("accept: %d, %s", code, said)
	}
	if strings.Contains(h.log.String(), theToken) {
		t.Error("the token is logged")
	}
}

// TestHeldBetweenPasses: agents that make one pass each find it held, and accepted.
func TestHeldBetweenPasses(t *testing.T) {
	h := newHost(t)
	h.serve("forcedPush: Hold\n")
	h.push("Nothing yet")
	h.push("One", machineDoc("web", "", "16Mi"), runDoc("web", "state: Paused"))
	h.converge()
	two := h.rewrite("Two", machineDoc("web", "", "20Mi"), runDoc("web", "state: Paused"))
	for range 2 {
		if code := h.once(); code != 1 {
			t.Errorf("a pass with a held commit ends with %d", code)
		}
	}
	if xml := h.virsh("dumpxml", "--inactive", "web"); !strings.Contains(xml, "<memory unit='KiB'>16384</memory>") {
		t.Errorf("the held commit is in force:\n%s", xml)
	}
	out, err := h.command("plan").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "the agent holds commit "+two[:12]) {
		t.Errorf("plan: %v\n%s", err, out)
	}
	if code, said := h.accept(); code != 0 {
		t.Fatalf("accept: %d, %s", code, said)
	}
	h.once()
	if xml := h.virsh("dumpxml", "--inactive", "web"); !strings.Contains(xml, "<memory unit='KiB'>20480</memory>") {
		t.Errorf("the accepted commit is not in force:\n%s", xml)
	}
}
