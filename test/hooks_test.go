package test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

const hookSecret = "a secret between git host and agent"

// serveGit serves the host's repository by HTTP, where nobody sees that a file has changed.
func (h *host) serveGit() string {
	h.t.Helper()
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(h.git(h.clone, "--exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(h.bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		InheritEnv: []string{"PATH"},
	})
	h.t.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(h.bare)
}

// post sends what GitHub sends after a push.
func (h *host) post(client *http.Client, branch, secret string) (int, error) {
	body := fmt.Sprintf(`{"ref": "refs/heads/%s", "deleted": false}`, branch)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	q, err := http.NewRequest(http.MethodPost, "http://"+h.listen+"/webhook", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-GitHub-Event", "push")
	q.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, answer.Body) // so that the connection can be used again
	return answer.StatusCode, answer.Body.Close()
}

// fetches is how often the agent has asked the repository.
func (h *host) fetches() (n int) {
	h.t.Helper()
	var metrics string
	if _, err := h.get("/metrics", &metrics); err != nil {
		h.t.Fatal(err)
	}
	for _, result := range []string{"success", "error"} {
		found := regexp.MustCompile(`gitvirt_source_fetch_total\{result="` + result + `"\} (\d+)`).FindStringSubmatch(metrics)
		if found == nil {
			h.t.Fatalf("no count of fetches:\n%s", metrics)
		}
		one, err := strconv.Atoi(found[1])
		if err != nil {
			h.t.Fatal(err)
		}
		n += one
	}
	return n
}

// flood posts so many pushes, 40 at a time, and wants few fetches, and scrapes that are answered meanwhile.
func (h *host) flood(posts int) {
	h.t.Helper()
	before, begun := h.fetches(), time.Now()
	const atOnce = 40
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range posts {
		all.Go(func() {
			if code, err := h.post(client, "main", hookSecret); err != nil || code != http.StatusAccepted && code != http.StatusTooManyRequests {
				h.t.Errorf("a post is answered with %d, %v", code, err)
			}
		})
	}
	scrape := time.Now()
	h.fetches() // many are still posting
	scraped := time.Since(scrape)
	all.Wait()
	took := time.Since(begun)
	h.t.Logf("%d posts in %v, %d fetches; a scrape meanwhile took %v", posts, took, h.fetches()-before, scraped)
	// The first at once, one for each two seconds, and the last one that is owed.
	if most := 2 + int(took/(2*time.Second)); h.fetches()-before > most {
		h.t.Errorf("%d fetches for %d posts in %v, want at most %d", h.fetches()-before, posts, took, most)
	}
}

// gitvirt runs a command that has not the usual flags.
func (h *host) gitvirt(args ...string) (string, int) {
	h.t.Helper()
	out, err := exec.Command(h.binary, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// forge takes commit statuses.
type forge struct {
	*httptest.Server
	mu   sync.Mutex
	said []string // commit and state
	bad  []string
}

func newForge(t *testing.T, token string) *forge {
	f := &forge{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status struct{ State, Context, Description string }
		err := json.NewDecoder(r.Body).Decode(&status)
		f.mu.Lock()
		defer f.mu.Unlock()
		commit, ok := strings.CutPrefix(r.URL.Path, "/api/v1/repos/team/vms/statuses/")
		if err != nil || !ok || r.Method != http.MethodPost || r.Header.Get("Authorization") != "token "+token || status.Context != "gitvirt/kvm1" {
			f.bad = append(f.bad, fmt.Sprint(r.Method, r.URL, status, err))
		}
		f.said = append(f.said, commit+" "+status.State)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(f.Close)
	return f
}

// heard waits until the forge has heard of a commit's state.
func (f *forge) heard(t *testing.T, commit, state string) {
	t.Helper()
	sandboxtest.Wait(t, patience, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.said, commit+" "+state)
	}, "the forge hears that "+commit+" is "+state)
}

// TestTheRepositoryIsAskedAtOnce: by a webhook, by SIGHUP and on the socket, though the interval is an hour; and the forge
// hears how each commit fares.
func TestTheRepositoryIsAskedAtOnce(t *testing.T) {
	h := newHost(t)
	const token = "forge-token"
	forge := newForge(t, token)
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := write("agent.yaml", fmt.Sprintf("forcedPush: Hold\nwebhook: {secretFile: %s}\nnotices:\n- {provider: Gitea, url: %q, repository: team/vms, tokenFile: %s}\n",
		write("secret", hookSecret), forge.URL, write("token", token)))
	h.flags = []string{"--repo", h.serveGit(), "--config", config}
	first := h.push("First", machineDoc("web", "", "16Mi"))
	agent := h.agent()
	h.settled(first)

	second := h.push("Second", machineDoc("web", "", "17Mi"), runDoc("web", "state: Paused"))
	for _, tt := range []struct {
		branch, secret string
		code           int
	}{{"main", "another secret than that one", 401}, {"other", hookSecret, 200}, {"main", hookSecret, 202}} {
		if code, err := h.post(http.DefaultClient, tt.branch, tt.secret); code != tt.code || err != nil {
			t.Errorf("a push of %s, signed with %q: %d %v, want %d", tt.branch, tt.secret, code, err, tt.code)
		}
	}
	h.settled(second)
	forge.heard(t, second, "success")
	h.flood(2000)

	third := h.push("Third", machineDoc("web", "", "18Mi"), runDoc("web", "state: Paused"))
	if err := agent.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.settled(third)

	// Another configuration: the agent that takes over has the socket.
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write("agent.yaml", string(text)+"removalBudget: 4\n")
	sandboxtest.Wait(t, patience, func() bool { return strings.Contains(h.log.String(), "the configuration changed") }, "the file is read again")

	fourth := h.push("Fourth", machineDoc("web", "", "19Mi"), runDoc("web", "state: Paused, run: 2"))
	var out string
	var code int
	sandboxtest.Wait(t, patience, func() bool {
		out, code = h.gitvirt("reconcile", "--state-dir", h.state, "--wait", "1m")
		return code != 2 // the socket is away for a moment
	}, "the agent answers on its socket")
	if want := fmt.Sprintf("revision %.10s: in sync: 1 machine\n", fourth); out != want || code != 0 {
		t.Errorf("reconcile says %q, %d; want %q", out, code, want)
	}
	h.settled(fourth)
	forge.heard(t, fourth, "success")
	if got := h.overSocket("GET", "/api/v1alpha1/plan"); !strings.Contains(got, fourth) {
		t.Errorf("the API on the socket: %s", got)
	}

	fifth := h.push("Break it", "kind: RunState\n")
	if out, code := h.gitvirt("reconcile", "--config", config, "--state-dir", h.state); code != 1 || !strings.Contains(out, "problem") {
		t.Errorf("reconcile with a broken document says %q, %d", out, code)
	}
	forge.heard(t, fifth, "failure")

	// A branch that was rewritten is held, and its author hears so.
	h.git(h.clone, "commit", "--quiet", "--amend", "-m", "Rewrite it")
	h.git(h.clone, "push", "--quiet", "--force", "origin", "HEAD:main")
	if code, err := h.post(http.DefaultClient, "main", hookSecret); code != http.StatusAccepted || err != nil {
		t.Errorf("a forced push: %d %v", code, err)
	}
	forge.heard(t, h.git(h.clone, "rev-parse", "HEAD"), "failure")
	sandboxtest.Wait(t, patience, func() bool { // one that is killed before it has noted what it said says it again
		raw, err := os.ReadFile(filepath.Join(h.state, "notices.json"))
		return err == nil && strings.Contains(string(raw), h.git(h.clone, "rev-parse", "HEAD"))
	}, "the agent has noted what it said")

	// Two agents do not share a state.
	var said bytes.Buffer
	another := h.command("agent", "--listen", "")
	another.Stderr = &said
	if err := another.Run(); err == nil || !strings.Contains(said.String(), "another agent has it") {
		t.Errorf("another agent: %v\n%s", err, said.String())
	}

	// After kill -9 the socket is there, and nobody behind it; the next agent replaces it, and repeats nothing.
	agent.kill()
	if out, code := h.gitvirt("reconcile", "--state-dir", h.state); code != 2 || !strings.Contains(out, "does it run") {
		t.Errorf("reconcile without an agent says %q, %d", out, code)
	}
	h.agent()
	sandboxtest.Wait(t, patience, func() bool {
		_, code := h.gitvirt("reconcile", "--state-dir", h.state)
		return code == 1
	}, "the next agent answers on the socket")
	forge.mu.Lock()
	defer forge.mu.Unlock()
	slices.Sort(forge.said)
	if n := len(slices.Compact(slices.Clone(forge.said))); n != len(forge.said) || len(forge.bad) > 0 {
		t.Errorf("the forge heard %q; not as it should be: %q", forge.said, forge.bad)
	}
	var metrics string
	if _, err := h.get("/metrics", &metrics); err != nil || !strings.Contains(metrics, `gitvirt_notices_total{provider="Gitea",result="success"}`) {
		t.Errorf("no count of notices: %v", err)
	}
}

// overSocket asks the agent on its socket.
func (h *host) overSocket(method, path string) string {
	h.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(h.state, "gitvirt.sock"))
	}}}
	q, err := http.NewRequest(method, "http://agent"+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := client.Do(q)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(raw)
}
