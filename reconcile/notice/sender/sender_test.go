package sender

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gitvirt/gitvirt/reconcile/notice"
)

const (
	commit = "3f2a9c1d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	token  = "a-token-that-nobody-may-see"
	secret = "a secret that nobody may see"
)

// call is a request that a host got.
type call struct {
	path   string // escaped
	header http.Header
	body   map[string]string
	raw    []byte
}

// host is a git host, or whoever is told. It answers as it is told to, and with 201 after that.
type host struct {
	*httptest.Server
	mu      sync.Mutex
	calls   []call
	answers []http.HandlerFunc
	got     chan struct{}
}

func newHost(t *testing.T, answers ...http.HandlerFunc) *host {
	h := &host{answers: answers, got: make(chan struct{}, 1000)}
	h.Server = httptest.NewUnstartedServer(h)
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	c := call{path: r.Method + " " + r.URL.EscapedPath(), header: r.Header, raw: raw}
	_ = json.Unmarshal(raw, &c.body) // what is not as it should be shows in the comparison
	h.mu.Lock()
	h.calls = append(h.calls, c)
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
	if len(h.answers) > 0 {
		answer, h.answers = h.answers[0], h.answers[1:]
	}
	h.mu.Unlock()
	h.got <- struct{}{}
	answer(w, r)
}

func (h *host) states() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, c := range h.calls {
		all = append(all, c.body["state"])
	}
	return all
}

// file makes a file with a text.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// ca is the certificate that the host's is signed by.
func (h *host) ca(t *testing.T) string {
	t.Helper()
	return file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})))
}

// target is somebody at a host.
func (h *host) target(t *testing.T, p Provider) Target {
	t.Helper()
	out := Target{Provider: p, URL: h.URL, Repository: "team/vms", TokenFile: file(t, token+"\n"), CAFile: h.ca(t)}
	if p == Generic {
		out.Repository, out.SecretFile = "", file(t, secret)
	}
	return out
}

// bench is a sender under test.
type bench struct {
	*Sender
	log     *bytes.Buffer
	waits   chan int // attempts, each time it waits
	state   string
	options Options
}

func newBench(t *testing.T, targets ...Target) *bench {
	t.Helper()
	b := &bench{log: &bytes.Buffer{}, waits: make(chan int, 1000), state: filepath.Join(t.TempDir(), "state", "notices.json")}
	b.options = Options{
		Targets: targets, Host: "kvm1", Fleet: "default", Branch: "main", Version: "v1", StateFile: b.state, Timeout: 5 * time.Second,
		BackOff: func(attempts int) time.Duration { b.waits <- attempts; return time.Millisecond },
		Logger:  slog.New(slog.NewTextHandler(b.log, nil)), Registerer: prometheus.NewRegistry(),
	}
	b.again(t)
	t.Cleanup(func() {
		for _, s := range []string{token, secret} {
			if strings.Contains(b.log.String(), s) {
				t.Errorf("the log has a secret:\n%s", b.log)
			}
		}
	})
	return b
}

// again is another agent in the place of the one before.
func (b *bench) again(t *testing.T) {
	t.Helper()
	b.options.Registerer = prometheus.NewRegistry()
	var err error
	if b.Sender, err = New(b.options); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) say(state notice.State, instances ...notice.Instance) {
	b.Publish(News{
		Verdict: notice.Verdict{Commit: commit, State: state, Text: "as it is"}, Known: true, Instances: instances,
		Time: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	})
}

// flush tells what waits.
func (b *bench) flush(t *testing.T) {
	t.Helper()
	b.Flush(t.Context())
}

func (b *bench) counted(t *testing.T, p Provider, result string, want float64) {
	t.Helper()
	if got := testutil.ToFloat64(b.notices.WithLabelValues(string(p), result)); got != want {
		t.Errorf("%s %s: %v, want %v", p, result, got, want)
	}
}

func TestWhatEachProviderIsTold(t *testing.T) {
	const path = "/statuses/" + commit
	for _, tt := range []struct {
		name   string
		change func(*Target)
		state  notice.State
		path   string
		header map[string]string
		body   map[string]string
	}{
		{"GitHub", func(t *Target) { t.TargetURL = "https://kvm1.example.org:9177/" }, notice.Pending, "/repos/team/vms" + path,
			map[string]string{"Authorization": "Bearer " + token, "Accept": "application/vnd.github+json", "X-Github-Api-Version": "2022-11-28"},
			map[string]string{"state": "pending", "context": "gitvirt/kvm1", "description": "as it is", "target_url": "https://kvm1.example.org:9177/"}},
		{"GitHub", func(t *Target) { t.URL += "/api/v3/" }, notice.Success, "/api/v3/repos/team/vms" + path,
			map[string]string{"Authorization": "Bearer " + token},
			map[string]string{"state": "success", "context": "gitvirt/kvm1", "description": "as it is"}},
		{"GitHub", func(*Target) {}, notice.Held, "/repos/team/vms" + path, nil,
			map[string]string{"state": "failure", "context": "gitvirt/kvm1", "description": "as it is"}},
		{"GitLab", func(*Target) {}, notice.Pending, "/api/v4/projects/team%2Fvms" + path, map[string]string{"Private-Token": token},
			map[string]string{"state": "running", "context": "gitvirt/kvm1", "description": "as it is", "ref": "main"}},
		{"GitLab", func(t *Target) { t.Repository = "4711" }, notice.Success, "/api/v4/projects/4711" + path, map[string]string{"Private-Token": token},
			map[string]string{"state": "success", "context": "gitvirt/kvm1", "description": "as it is", "ref": "main"}},
		{"GitLab", func(t *Target) { t.Repository, t.URL = "a/b/c", t.URL+"/gitlab" }, notice.Failure, "/gitlab/api/v4/projects/a%2Fb%2Fc" + path, nil,
			map[string]string{"state": "failed", "context": "gitvirt/kvm1", "description": "as it is", "ref": "main"}},
		{"Gitea", func(*Target) {}, notice.Failure, "/api/v1/repos/team/vms" + path, map[string]string{"Authorization": "token " + token},
			map[string]string{"state": "failure", "context": "gitvirt/kvm1", "description": "as it is"}},
		{"Generic", func(t *Target) { t.URL += "/hooks/vms?key=1" }, notice.Held, "/hooks/vms", map[string]string{"Authorization": "Bearer " + token},
			map[string]string{"apiVersion": "gitvirt.io/v1alpha1", "kind": "Notice", "event": "revision", "host": "kvm1", "fleet": "default",
				"branch": "main", "revision": commit, "state": "held", "message": "as it is", "time": "2026-11-21T10:00:00Z"}},
		{"Generic", func(t *Target) { t.SecretFile, t.TokenFile = "", "" }, notice.Success, "/",
			map[string]string{"Authorization": "", "X-Gitvirt-Signature": ""},
			map[string]string{"apiVersion": "gitvirt.io/v1alpha1", "kind": "Notice", "event": "revision", "host": "kvm1", "fleet": "default",
				"branch": "main", "revision": commit, "state": "success", "message": "as it is", "time": "2026-11-21T10:00:00Z"}},
	} {
		t.Run(fmt.Sprint(tt.name, " ", tt.state), func(t *testing.T) {
			h := newHost(t)
			target := h.target(t, Provider(tt.name))
			tt.change(&target)
			b := newBench(t, target)
			b.say(tt.state)
			b.flush(t)
			if len(h.calls) != 1 {
				t.Fatalf("%d calls", len(h.calls))
			}
			got := h.calls[0]
			if want := "POST " + tt.path; strings.TrimSuffix(got.path, "/") != strings.TrimSuffix(want, "/") {
				t.Errorf("%s, want %s", got.path, want)
			}
			for name, want := range tt.header {
				if got.header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
				}
			}
			if got.header.Get("Content-Type") != "application/json" || got.header.Get("User-Agent") != "gitvirt/v1" {
				t.Errorf("header %v", got.header)
			}
			if fmt.Sprint(got.body) != fmt.Sprint(tt.body) {
				t.Errorf("body %v, want %v", got.body, tt.body)
			}
			if target.SecretFile != "" {
				mac := hmac.New(sha256.New, []byte(secret))
				mac.Write(got.raw)
				if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); got.header.Get("X-Gitvirt-Signature") != want {
					t.Errorf("signature %s, want %s", got.header.Get("X-Gitvirt-Signature"), want)
				}
			}
			b.counted(t, target.Provider, success, 1)
		})
	}
}

// TestNothingIsSaidTwice goes through a revision's life, with a restart of the agent in it.
func TestNothingIsSaidTwice(t *testing.T) {
	h := newHost(t)
	b := newBench(t, h.target(t, GitHub))
	for _, state := range []notice.State{notice.Pending, notice.Pending, notice.Success, notice.Success, notice.Pending} {
		b.say(state)
		b.flush(t)
	}
	b.Publish(News{}) // libvirt does not answer
	b.flush(t)
	b.again(t)
	b.say(notice.Success)
	b.flush(t)
	b.say(notice.Failure)
	b.flush(t)
	if got := h.states(); !slices.Equal(got, []string{"pending", "success", "failure"}) {
		t.Errorf("said %v", got)
	}
	if info, err := os.Stat(b.state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state's file: %v %v", info, err)
	}
	// Half a file is none, and is said.
	if err := os.WriteFile(b.state, []byte(`{"targets": {`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.again(t)
	b.say(notice.Failure)
	b.flush(t)
	if got := h.states(); len(got) != 4 || !strings.Contains(b.log.String(), "go on without") {
		t.Errorf("said %v\n%s", got, b.log)
	}
}

func TestInstancesAreToldToGenericReceiversAlone(t *testing.T) {
	generic, forge := newHost(t), newHost(t)
	b := newBench(t, generic.target(t, Generic), forge.target(t, Gitea))
	ready := notice.Instance{Name: "web", State: notice.Ready, Text: "Running"}
	b.say(notice.Success, ready, notice.Instance{Name: "db", State: notice.Blocked, Text: "root would shrink"})
	b.flush(t)
	b.say(notice.Success, ready)
	b.flush(t)
	var got []string
	for _, c := range generic.calls {
		got = append(got, strings.Join(strings.Fields(c.body["event"]+" "+c.body["instance"]+" "+c.body["state"]), " "))
	}
	if want := []string{"revision success", "instance db Blocked", "instance db Removed"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := forge.states(); !slices.Equal(got, []string{"success"}) {
		t.Errorf("the forge was told %v", got)
	}
}

func answer(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for n := 0; n+1 < len(header); n += 2 {
			w.Header().Set(header[n], header[n+1])
		}
		w.WriteHeader(code)
		// A server may be so unkind as to repeat what it was sent.
		fmt.Fprintf(w, `{"message": "no: %s %s"}`, r.Header.Get("Authorization"), r.Header.Get("Private-Token"))
	}
}

// TestHostsThatFail is told until it listens, and takes the newest state then.
func TestHostsThatFail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  http.HandlerFunc
		retried bool
		says    string
	}{
		{"an error", answer(500), true, "answers 500 Internal Server Error"},
		{"too many", answer(429, "Retry-After", "0"), true, "answers 429 Too Many Requests"},
		{"a bad token", answer(401), true, "may the token set commit statuses there?"},
		{"no right", answer(403), true, "may the token set commit statuses there?"},
		{"no such repository", answer(404), true, "may the token set commit statuses there?"},
		{"it says no", answer(422), false, "answers 422 Unprocessable Entity"},
		{"GitLab has this state already", answer(400), false, "answers 400 Bad Request"},
		{"it hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, "cannot reach"},
		{"a redirect", answer(307, "Location", "https://127.0.0.1:1/elsewhere"), true, "redirects are not followed: say in url where it is now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, tt.answer, tt.answer)
			b := newBench(t, h.target(t, GitHub))
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { b.Run(ctx) })
			b.say(notice.Failure)
			want := []string{"failure", "failure", "failure"}
			calls := 3
			if !tt.retried {
				want, calls = []string{"failure"}, 1
			}
			for range calls {
				<-h.got
			}
			// The last answer has to come in before the sender is stopped.
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				b.lines[0].mu.Lock()
				_, more := b.lines[0].ledger.Next()
				b.lines[0].mu.Unlock()
				if !more {
					break
				}
			}
			stop()
			running.Wait()
			if got := h.states(); !slices.Equal(got, want) {
				t.Errorf("said %v, want %v", got, want)
			}
			if !strings.Contains(b.log.String(), tt.says) || strings.Count(b.log.String(), "a notice is not taken") != 1 {
				t.Errorf("want %q, once:\n%s", tt.says, b.log)
			}
			if tt.retried {
				b.counted(t, GitHub, failure, 2)
				b.counted(t, GitHub, success, 1)
				if first, second := <-b.waits, <-b.waits; first != 1 || second != 2 {
					t.Errorf("waited for attempts %d, %d", first, second)
				}
			} else {
				b.counted(t, GitHub, failure, 1)
			}
		})
	}
}

// TestWhoAsksForTimeGetsIt answers 429 with a second to wait.
func TestWhoAsksForTimeGetsIt(t *testing.T) {
	h := newHost(t, answer(429, "Retry-After", "1"))
	b := newBench(t, h.target(t, GitLab))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	b.say(notice.Success)
	<-h.got
	asked := time.Now()
	<-h.got
	if waited := time.Since(asked); waited < 900*time.Millisecond {
		t.Errorf("it was left alone for %v only", waited)
	}
	stop()
	running.Wait()
}

// TestAHostThatHangsHoldsUpNobody: neither the pass, nor other hosts; and it hears the newest state in the end.
func TestAHostThatHangsHoldsUpNobody(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow, quick := newHost(t, hang), newHost(t)
	b := newBench(t, slow.target(t, GitHub), quick.target(t, Gitea))
	b.Sender.opts.Timeout = 200 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	begun := time.Now()
	b.say(notice.Pending)
	<-slow.got
	<-quick.got
	b.say(notice.Success)
	if took := time.Since(begun); took > 150*time.Millisecond {
		t.Logf("it took %v, on a busy machine?", took)
	}
	<-quick.got
	<-slow.got
	stop()
	running.Wait()
	if got := slow.states(); !slices.Equal(got, []string{"pending", "success"}) {
		t.Errorf("the slow one was told %v", got)
	}
	if got := quick.states(); !slices.Equal(got, []string{"pending", "success"}) {
		t.Errorf("the quick one was told %v", got)
	}
}

// TestARequestUnderWayEndsWithTheAgent: nothing outlives Run, and what was not taken is told by the next agent.
func TestARequestUnderWayEndsWithTheAgent(t *testing.T) {
	h := newHost(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	b := newBench(t, h.target(t, GitHub))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	b.say(notice.Success)
	<-h.got
	stop()
	running.Wait()
	b.counted(t, GitHub, failure, 0)
	b.again(t)
	b.say(notice.Success)
	b.flush(t)
	if got := h.states(); !slices.Equal(got, []string{"success", "success"}) {
		t.Errorf("said %v", got)
	}
}

// TestATokenGoesNowhereElse redirects to another server, which hears nothing.
func TestATokenGoesNowhereElse(t *testing.T) {
	thief := newHost(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, p := range []Provider{GitHub, GitLab, Gitea, Generic} {
			h := newHost(t, answer(code, "Location", thief.URL))
			b := newBench(t, h.target(t, p))
			b.say(notice.Success)
			b.flush(t)
			b.counted(t, p, failure, 1)
		}
	}
	if len(thief.calls) > 0 {
		t.Errorf("the thief heard %v", thief.calls)
	}
}

func TestFilesAreReadAnew(t *testing.T) {
	h := newHost(t)
	target := h.target(t, GitHub)
	ca, err := os.ReadFile(target.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, target)
	b.say(notice.Success)
	for _, tt := range []struct{ token, ca, says string }{
		{"", string(ca), "cannot use tokenFile"},
		{"two\nlines", string(ca), "write one line"},
		{token, "", "there is no certificate in caFile"},
		{token, "-", "cannot read caFile"},
	} {
		write(target.TokenFile, tt.token)
		if write(target.CAFile, tt.ca); tt.ca == "-" {
			_ = os.Remove(target.CAFile)
		}
		b.flush(t)
		if !strings.Contains(b.log.String(), tt.says) || len(h.calls) > 0 {
			t.Errorf("want %q, and %d calls:\n%s", tt.says, len(h.calls), b.log)
		}
	}
	write(target.TokenFile, "the next one")
	write(target.CAFile, string(ca))
	b.flush(t)
	if len(h.calls) != 1 || h.calls[0].header.Get("Authorization") != "Bearer the next one" {
		t.Errorf("calls %+v", h.calls)
	}
	// Without the CA's file the host is not believed.
	target.CAFile = ""
	b = newBench(t, target)
	b.say(notice.Success)
	b.flush(t)
	if len(h.calls) != 1 || !strings.Contains(b.log.String(), "certificate") {
		t.Errorf("%d calls\n%s", len(h.calls), b.log)
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, "999999999": maxLater, "Sat, 01 Jan 2000 00:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	at := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	if got := retryAfter(http.Header{"Retry-After": {at}}); got < 50*time.Second || got > time.Minute {
		t.Errorf("%q: %v", at, got)
	}
}

func TestDescriptionsAreBounded(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"short", "short"},
		{"  two\n lines ", "two lines"},
		{strings.Repeat("ä", 140), strings.Repeat("ä", 140)},
		{strings.Repeat("ä", 141), strings.Repeat("ä", 139) + "…"},
	} {
		if got := short(tt.text, maxText); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestTargetsAreValidated(t *testing.T) {
	good := Target{Provider: GitHub, URL: "https://git.example.org/api/v3", Repository: "team/vms", TokenFile: "/token"}
	for _, tt := range []struct {
		name   string
		change func(*Target)
		says   string
	}{
		{"good", func(*Target) {}, ""},
		{"http here", func(t *Target) { t.URL = "http://127.0.0.1:3000" }, ""},
		{"a number", func(t *Target) { t.Provider, t.Repository = GitLab, "12" }, ""},
		{"generic", func(t *Target) {
			*t = Target{Provider: Generic, URL: "http://alerts.example.org/x?y=1", SecretFile: "/s"}
		}, ""},
		{"provider", func(t *Target) { t.Provider = "github" }, `provider "github": say GitHub, GitLab, Gitea (for Forgejo, too) or Generic`},
		{"no URL", func(t *Target) { t.URL = "" }, "url: say a whole URL"},
		{"another scheme", func(t *Target) { t.URL = "ftp://git.example.org" }, "url: say a whole URL"},
		{"a password", func(t *Target) { t.URL = "https://me:hunter2@git.example.org" }, "url: take the user and password out"},
		{"a query", func(t *Target) { t.URL += "?access_token=hunter2" }, "url: take out what stands after ?"},
		{"http", func(t *Target) { t.URL = "http://git.example.org" }, "the token would travel unencrypted to git.example.org: say https"},
		{"no repository", func(t *Target) { t.Repository = "" }, `repository "": say owner/name`},
		{"a repository that leads elsewhere", func(t *Target) { t.Repository = "../user" }, "say owner/name"},
		{"a repository with a query", func(t *Target) { t.Repository = "a/b?c" }, "say owner/name"},
		{"a project that leads elsewhere", func(t *Target) { t.Provider, t.Repository = GitLab, "a/../b" }, "say the project's path"},
		{"no token", func(t *Target) { t.TokenFile = "" }, "tokenFile: GitHub wants a token"},
		{"a secret", func(t *Target) { t.SecretFile = "/s" }, "secretFile: that is for Generic"},
		{"a link", func(t *Target) { t.TargetURL = "javascript:alert(1)" }, "targetURL: say a whole URL"},
		{"generic with a repository", func(t *Target) { t.Provider = Generic }, "repository: Generic has none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := good
			tt.change(&target)
			err := target.Validate()
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a password: %v", err)
			}
		})
	}
	if _, err := New(Options{Targets: []Target{good, good}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}); err == nil ||
		!strings.Contains(err.Error(), "notices[1]: it is there twice") {
		t.Errorf("the same twice: %v", err)
	}
}

// FuzzKept reads what may be left of the file after a crash.
func FuzzKept(f *testing.F) {
	f.Add([]byte(`{"targets": {"GitHub 0123": {"commit": "a", "state": "success", "instances": {"web": "Failed"}}}}`))
	f.Add([]byte(`{"targets": null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		name := filepath.Join(t.TempDir(), "notices.json")
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		k, _ := load(name) // with an error, too, it can be gone on with
		l := notice.NewLedger(k.said("GitHub 0123"))
		l.Instances([]notice.Instance{{Name: "web", State: notice.Failed}}, "a", time.Time{})
		for n, ok := l.Next(); ok; n, ok = l.Next() {
			l.Told(n)
		}
		if err := k.keep("x", l.Said()); err != nil {
			t.Fatal(err)
		}
		if again, err := load(name); err != nil || again.said("x").Instances["web"] != notice.Failed {
			t.Fatalf("read again: %+v, %v", again, err)
		}
	})
}

// TestTheFormIsDocumented looks for each field and state of the generic form.
func TestTheFormIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for n := range reflect.TypeFor[body]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[body]().Field(n).Tag.Get("json"), ",")
		words = append(words, name)
	}
	for _, s := range []notice.State{notice.Pending, notice.Success, notice.Failure, notice.Held, notice.Failed, notice.Blocked, notice.Unknown,
		notice.NotReady, notice.Ready, notice.Removed} {
		words = append(words, string(s))
	}
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("deploy/webhooks.md says nothing of `%s`", word)
		}
	}
}
