package status

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDownloads shows what is being fetched, and for whom, as it is when somebody asks.
func TestDownloads(t *testing.T) {
	scene := newScene(t)
	scene.converge(web("1Gi", "") + runState("Running"))
	var now []Download
	server := NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return true }, Downloads: func() []Download { return now }})
	server.latest.Store(scene.latest)
	get := func(path string) string {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	paths := []string{"/", "/api/v1alpha1/instances", "/api/v1alpha1/instances/web", "/api/v1alpha1/downloads"}
	for _, path := range paths {
		if text := get(path); strings.Contains(text, "etching") || strings.Contains(text, "being fetched") {
			t.Errorf("%s speaks of a fetch that there is not:\n%s", path, text)
		}
	}
	many := []string{"web"}
	for n := range 9 {
		many = append(many, fmt.Sprint("x", n))
	}
	const image = "https://files.example.org/debian.qcow2"
	for far, d := range map[string]Download{
		"45% of 2.0 MiB, for 7 s":          {Received: 943_719, Total: 2 << 20, Seconds: 7},
		"1.5 MiB, for 0 s":                 {Received: 3 << 19},
		"waiting for others to be fetched": {Waiting: true, Total: 5},
	} {
		d.Image, d.Instances = image, many
		now = []Download{d}
		for _, path := range paths[:3] {
			if text := get(path); !strings.Contains(text, "fetching the image "+image+": "+far) {
				t.Errorf("%s does not say %q:\n%s", path, far, text)
			}
		}
		if text := get("/"); !strings.Contains(text, "for web, x0, x1, x2, x3 and 5 more") {
			t.Errorf("the page says:\n%s", text)
		}
		if text := get(paths[3]); !strings.Contains(text, `"kind": "DownloadList"`) || !strings.Contains(text, image) {
			t.Errorf("the list is:\n%s", text)
		}
	}
	if c := scene.latest.Instances[0].Status.Conditions[1]; c.Reason == "Fetching" {
		t.Error("what was published has changed")
	}
}
