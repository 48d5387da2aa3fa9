package status

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/render/manifest"
)

func TestRoutes(t *testing.T) {
	running := newScene(t)
	running.converge(web("1Gi", "") + runState("Running"))
	server := NewServer(prometheus.NewRegistry(), Sources{
		Alive: func() bool { return true },
		Runtime: func(_ context.Context, config, revision string) (Instance, error) {
			switch {
			case config != "web":
				return Instance{}, fmt.Errorf("%w: there is no config %q", ErrNotFound, config)
			case revision == "badbadb":
				return Instance{}, errors.New("cannot complete it")
			}
			return Instance{Kind: "VirtualMachineInstance", Status: InstanceStatus{Revision: Revisions{Desired: revision}}}, nil
		},
	})
	server.latest.Store(running.latest)
	const api = "/api/v1alpha1"
	for _, c := range []struct {
		request string
		code    int
		kind    string // of the content
		says    string
	}{
		{"GET /", 200, "text/html", "<title>gitvirt: kvm1</title>"},
		{"GET /metrics", 200, "text/plain", `gitvirt_instance_running{instance="web"} 1`},
		{"GET /healthz", 200, "text/plain", "ok"},
		{"GET /readyz", 200, "text/plain", "ok"},
		{"GET " + api + "/instances", 200, "application/json", `"kind": "VirtualMachineInstanceList"`},
		{"GET " + api + "/instances/web", 200, "application/json", `"phase": "Running"`},
		{"GET " + api + "/instances/none", 404, "application/json", `there is no instance \"none\" on this host`},
		{"GET " + api + "/configs", 200, "application/json", `"kind": "VirtualMachineInstanceConfigList"`},
		{"GET " + api + "/configs/web", 200, "application/json", `"phase": "Running"`},
		{"GET " + api + "/configs/none", 404, "application/json", `there is no config \"none\"`},
		{"GET " + api + "/configs/web/runtime", 200, "application/json", `"kind": "VirtualMachineInstance"`},
		{"GET " + api + "/configs/web/runtime?revision=0123abc", 200, "application/json", `"desired": "0123abc"`},
		{"GET " + api + "/configs/web/runtime?revision=main", 400, "application/json", "say 7 to 40 hexadecimal digits"},
		{"GET " + api + "/configs/web/runtime?revision=../../x", 400, "application/json", "is no commit"},
		{"GET " + api + "/configs/web/runtime?revision=badbadb", 500, "application/json", "cannot complete it"},
		{"GET " + api + "/configs/none/runtime", 404, "application/json", "there is no config"},
		{"GET " + api + "/plan", 200, "application/json", `"host": "kvm1"`},
		{"GET " + api + "/events", 200, "application/json", `"kind": "EventList"`},
		{"HEAD " + api + "/instances", 200, "application/json", ""},
		{"GET /none", 404, "application/json", `"message": "there is nothing at /none"`},
		{"GET " + api + "/hosts", 404, "application/json", "there is nothing at /api/v1alpha1/hosts"},
		{"POST " + api + "/hosts", 404, "application/json", "there is nothing at"},
		{"POST /", 405, "application/json", "POST is not allowed"},
		{"POST /metrics", 405, "application/json", "POST is not allowed"},
		{"DELETE " + api + "/instances/web", 405, "application/json", "changes are made in the repository"},
		{"PUT " + api + "/plan", 405, "application/json", "PUT is not allowed"},
	} {
		t.Run(c.request, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != c.code || !strings.HasPrefix(w.Header().Get("Content-Type"), c.kind) || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("got %d %s, want %d %s with %q:\n%s", w.Code, w.Header().Get("Content-Type"), c.code, c.kind, c.says, w.Body)
			}
			if allow := w.Header().Get("Allow"); (c.code == 405) != (allow == "GET, HEAD") {
				t.Errorf("the answer allows %q", allow)
			}
			if c.kind == "application/json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("this is no JSON: %s", w.Body)
			}
			for _, header := range []string{"Cache-Control", "X-Content-Type-Options", "Content-Security-Policy"} {
				if w.Header().Get(header) == "" {
					t.Errorf("the answer has no %s", header)
				}
			}
		})
	}
}

func TestHealthAndReadiness(t *testing.T) {
	alive := true
	server := NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return alive }})
	want := func(path string, code int, says string) {
		t.Helper()
		if w := answer(server, path); w.Code != code || !strings.Contains(w.Body.String(), says) {
			t.Errorf("GET %s: %d %s, want %d %s", path, w.Code, w.Body, code, says)
		}
	}
	want("/healthz", 200, "ok")
	want("/readyz", 503, "no revision is in force\nlibvirt does not answer\n")
	server.Publish(Facts{Source: Source{Error: "no route to host"}})
	want("/readyz", 503, "no route to host")
	server.Publish(Facts{Source: Source{Revision: "0123abc"}, Libvirt: Libvirt{Error: "connection refused"}})
	want("/readyz", 503, "libvirt does not answer: connection refused")
	// A remote that is away is no reason to be unready: the last good revision is in force.
	server.Publish(Facts{Source: Source{Revision: "0123abc", Error: "no route to host"}, Libvirt: Libvirt{Up: true}})
	want("/readyz", 200, "ok")
	alive = false
	want("/healthz", 503, "no pass for too long")
}

func TestBeforeTheFirstPassListsAreEmptyAndNotNull(t *testing.T) {
	server := NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return true }})
	for _, what := range []string{"instances", "configs", "events"} {
		if w := answer(server, "/api/v1alpha1/"+what); !strings.Contains(w.Body.String(), `"items": []`) {
			t.Errorf("%s: %s", what, w.Body)
		}
	}
	if w := answer(server, "/api/v1alpha1/plan"); !strings.Contains(w.Body.String(), `"actions": []`) {
		t.Errorf("plan: %s", w.Body)
	}
	if w := answer(server, "/"); !strings.Contains(w.Body.String(), "no revision yet") {
		t.Errorf("the page: %s", w.Body)
	}
}

func TestThePageEscapesWhatItShows(t *testing.T) {
	const script = "<script>alert(1)</script>"
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	s.facts.Source.Error, s.facts.Source.Branch, s.facts.Libvirt = script, script, Libvirt{Error: script}
	s.facts.Host = script
	s.facts.Failures = map[string]Failure{"web": {Message: script}}
	s.facts.Documents.Problems = []manifest.Problem{{File: script, Message: script}}
	s.latest = Report(s.latest, s.facts)
	body := answer(serve(s), "/").Body.String()
	if strings.Contains(body, "<script") || strings.Count(body, "&lt;script&gt;") < 6 {
		t.Errorf("the page does not escape:\n%s", body)
	}
}

func TestThePageSaysEachThingOnce(t *testing.T) {
	s := scenes(t)["blocked"]
	s.facts.Failures = map[string]Failure{"web": {Message: "cannot define web"}}
	s.latest = Report(s.latest, s.facts)
	body := answer(serve(s), "/").Body.String()
	table, _, _ := strings.Cut(body, "<h2>Plan</h2>")
	for _, message := range []string{"cannot define web", "NotOurs: there is a domain of this name"} {
		if n := strings.Count(table, message); n != 1 {
			t.Errorf("%q is said %d times of the instance, want once:\n%s", message, n, table)
		}
	}
	if first, last := strings.Index(body, "Failed: cannot define web"), strings.Index(body, "is in force"); first < 0 || first > last {
		t.Errorf("the newest event is not the first:\n%s", body)
	}
}

func TestThePolicyLetsInThePagesOwnStyleAlone(t *testing.T) {
	w := answer(serve(scenes(t)["staged"]), "/")
	_, rest, _ := strings.Cut(w.Body.String(), "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := w.Header().Get("Content-Security-Policy")
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; style == "" || !strings.Contains(policy, want) {
		t.Errorf("the policy is %s, and the page's style needs %s", policy, want)
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(w.Body.String(), "style=") {
		t.Errorf("the policy is %s", policy)
	}
}

func TestALateAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := NewServer(prometheus.NewRegistry(), Sources{Runtime: func(ctx context.Context, _, _ string) (Instance, error) {
			<-ctx.Done()
			return Instance{}, fmt.Errorf("%w: %w", ErrNotFound, ctx.Err())
		}})
		began := time.Now()
		if w := answer(server, "/api/v1alpha1/configs/web/runtime"); w.Code != 504 || time.Since(began) != runtimeTimeout {
			t.Errorf("after %v: %d %s", time.Since(began), w.Code, w.Body)
		}
	})
}
