package receiver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gitvirt/gitvirt/reconcile/webhook"
)

const known = "a secret of the old days"

func isMain(ref string) bool { return ref == "refs/heads/main" }

// newReceiver is one that follows main, and counts what it triggers.
func newReceiver(t testing.TB, spacing time.Duration) (*Receiver, *atomic.Int64) {
	t.Helper()
	s, err := webhook.ParseSecrets([]byte(known))
	if err != nil {
		t.Fatal(err)
	}
	var triggers atomic.Int64
	return New(Options{
		Secrets: func() (webhook.Secrets, error) { return s, nil }, Follows: isMain, Trigger: func() { triggers.Add(1) },
		Spacing: spacing, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}), &triggers
}

// delivery is a push of GitHub's form.
func delivery(event, body, secret string) *http.Request {
	q := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-GitHub-Event", event)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	q.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return q
}

func push(branch, secret string) *http.Request {
	return delivery("push", fmt.Sprintf(`{"ref": "refs/heads/%s"}`, branch), secret)
}

func TestAnswers(t *testing.T) {
	get := push("main", known)
	get.Method = http.MethodGet
	long := delivery("push", strings.Repeat(" ", webhook.MaxBody+1), known)
	xml := push("main", known)
	xml.Header.Set("Content-Type", "text/xml")
	for _, tt := range []struct {
		name    string
		request *http.Request
		code    int
		result  string
		says    string
		trigger int64
	}{
		{"a push", push("main", known), 202, triggered, "the repository is asked", 1},
		{"another branch", push("other", known), 200, ignored, "no push of the branch that the agent follows", 0},
		{"a tag", delivery("push", `{"ref": "refs/tags/main"}`, known), 200, ignored, "ignored", 0},
		{"a ping", delivery("ping", `{}`, known), 200, ping, "the secret is right", 0},
		{"another event", delivery("star", `{}`, known), 200, ignored, "ignored", 0},
		{"another secret", push("main", "another secret than ours"), 401, refused, "no right signature or token", 0},
		{"no JSON", delivery("push", "{", known), 400, invalid, "cannot be understood", 0},
		{"XML", xml, 415, invalid, "say Content-Type: application/json", 0},
		{"too long", long, 413, tooLong, "25 MiB is the limit", 0},
		{"GET", get, 405, "", "a webhook is posted", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, triggers := newReceiver(t, time.Second)
				ctx, stop := context.WithCancel(t.Context())
				go r.Run(ctx)
				w := httptest.NewRecorder()
				r.ServeHTTP(w, tt.request)
				synctest.Wait()
				stop()
				synctest.Wait()
				if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) || w.Header().Get("Content-Type") != "application/json" {
					t.Errorf("answer %d %s, want %d with %q", w.Code, w.Body, tt.code, tt.says)
				}
				if got := triggers.Load(); got != tt.trigger {
					t.Errorf("%d fetches, want %d", got, tt.trigger)
				}
				if tt.result == "" {
					if n := testutil.CollectAndCount(r.requests); n != 0 {
						t.Errorf("%d series", n)
					}
				} else if n := testutil.ToFloat64(r.requests.WithLabelValues("github", tt.result)); n != 1 {
					t.Errorf("%s was counted %v times", tt.result, n)
				}
			})
		})
	}
}

// TestAFloodIsOneFetchForEachSpacing posts thousands of pushes at once, replays among them, and unproven ones.
func TestAFloodIsOneFetchForEachSpacing(t *testing.T) {
	const spacing = time.Minute // none ends while the test runs
	r, triggers := newReceiver(t, spacing)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	server := httptest.NewServer(r)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 50, MaxIdleConnsPerHost: 50}}
	defer client.CloseIdleConnections()
	const posts = 4000
	var posting sync.WaitGroup
	var codes sync.Map
	for n := range posts {
		posting.Go(func() {
			secret := known
			if n%4 == 3 {
				secret = "what a stranger would guess"
			}
			q := push("main", secret)
			q, err := http.NewRequest(http.MethodPost, server.URL, q.Body)
			if err != nil {
				t.Error(err)
				return
			}
			q.Header = push("main", secret).Header
			answer, err := client.Do(q)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			counter, _ := codes.LoadOrStore(answer.StatusCode, new(atomic.Int64))
			counter.(*atomic.Int64).Add(1)
		})
	}
	posting.Wait()
	stop()
	running.Wait()
	if got := triggers.Load(); got != 1 {
		t.Errorf("%d fetches for %d posts, want 1", got, posts)
	}
	total := int64(0)
	codes.Range(func(code, n any) bool {
		total += n.(*atomic.Int64).Load()
		if c := code.(int); c != 202 && c != 401 && c != 429 {
			t.Errorf("%v answers with %d", n, c)
		}
		return true
	})
	if n, ok := codes.Load(202); total != posts || !ok || n.(*atomic.Int64).Load() < 100 {
		t.Errorf("%d answers", total)
	}
}

// TestThePushAfterTheFetchIsNotMissed: what comes within the spacing is fetched at its end, all together, and then no more.
func TestThePushAfterTheFetchIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, triggers := newReceiver(t, 2*time.Second)
		ctx, stop := context.WithCancel(t.Context())
		go r.Run(ctx)
		post := func() { r.ServeHTTP(httptest.NewRecorder(), push("main", known)) }
		expect := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if got := triggers.Load(); got != want {
				t.Errorf("%s: %d fetches, want %d", when, got, want)
			}
		}
		post()
		expect("at once", 1)
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			post()
		}
		expect("within the spacing", 1)
		time.Sleep(time.Second + time.Millisecond)
		expect("at its end", 2)
		time.Sleep(time.Minute)
		expect("later", 2)
		post()
		expect("after a rest", 3)
		stop()
	})
}

// TestWhoSendsSlowlyHoldsUpFew: with all turns taken by senders who never end, the next is told to come again.
func TestWhoSendsSlowlyHoldsUpFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, triggers := newReceiver(t, time.Second)
		never, end := io.Pipe()
		for range atOnce {
			q := push("main", known)
			q.Body = never
			go r.ServeHTTP(httptest.NewRecorder(), q)
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		begun := time.Now()
		r.ServeHTTP(w, push("main", known))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || time.Since(begun) != patience {
			t.Errorf("answer %d %v after %v", w.Code, w.Header(), time.Since(begun))
		}
		_ = end.CloseWithError(errors.New("the connection ended"))
		synctest.Wait()
		w = httptest.NewRecorder()
		r.ServeHTTP(w, push("main", known))
		if w.Code != http.StatusAccepted || triggers.Load() != 0 {
			t.Errorf("answer %d, %d fetches", w.Code, triggers.Load())
		}
	})
}

// TestSecretsAreReadAnew exchanges one secret for another while the receiver runs.
func TestSecretsAreReadAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	var log bytes.Buffer
	r := New(Options{
		Secrets: func() (webhook.Secrets, error) { return Secrets(file) }, Follows: isMain, Trigger: func() {},
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(),
	})
	const next = "a secret that comes after it"
	for _, tt := range []struct {
		file, secret string
		code         int
	}{
		{"-", known, 503},
		{known, known, 202},
		{known, next, 401},
		{known + "\n" + next, known, 202},
		{known + "\n" + next, next, 202},
		{next + "\n", known, 401},
		{next + "\n", next, 202},
		{"hunter2", "hunter2", 503},
		{"hunter2", "hunter2", 503},
		{"", "", 503},
		{strings.Repeat("x\n", maxFile), known, 503},
	} {
		if tt.file != "-" {
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, push("main", tt.secret))
		if w.Code != tt.code || strings.Contains(w.Body.String(), file) {
			t.Errorf("with %.40q, signed with %q: %d %s, want %d", tt.file, tt.secret, w.Code, w.Body, tt.code)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 4 || !strings.Contains(log.String(), "this has 7") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("want each new error once, and no secret:\n%s", log.String())
	}
}

// FuzzServeHTTP wants an answer to everything, and a fetch only for a proven push of the branch.
func FuzzServeHTTP(f *testing.F) {
	f.Add("X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256=00", []byte(`{"ref": "refs/heads/main"}`))
	f.Add("X-Gitlab-Event", "Push Hook", "X-Gitlab-Token", known, []byte(`{"ref": "refs/heads/main"}`))
	f.Add("Content-Type", "application/x-www-form-urlencoded", "Authorization", "Bearer "+known, []byte(`payload=%7B%7D`))
	r, triggers := newReceiver(f, 0)
	f.Fuzz(func(t *testing.T, name, value, other, more string, body []byte) {
		q := httptest.NewRequest(http.MethodPost, "/webhook", iotest.OneByteReader(bytes.NewReader(body)))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set(name, value)
		q.Header.Set(other, more)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, q)
		proven := strings.Contains(value+more, known)
		if w.Code < 200 || w.Code > 499 || !proven && w.Code != http.StatusUnauthorized {
			t.Fatalf("answer %d %s", w.Code, w.Body)
		}
		owed := len(r.asked)
		select {
		case <-r.asked:
		default:
		}
		if (w.Code == http.StatusAccepted) != (owed == 1) || triggers.Load() != 0 {
			t.Fatalf("answer %d, and %d fetches are owed", w.Code, owed)
		}
	})
}
