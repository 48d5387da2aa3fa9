package status

import (
	"flag"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render/manifest"
)

var update = flag.Bool("update", false, "write the goldens anew")

// serve is a server that shows a scene.
func serve(s *scene) *Server {
	server := NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return true }})
	server.latest.Store(s.latest)
	return server
}

// answer is what a server says to a GET.
func answer(server *Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestWhatIsReportedIsAsInTheGoldens(t *testing.T) {
	all := scenes(t)
	golden(t, "instances", "/api/v1alpha1/instances/web", all)
	// A config that runs nowhere is in the same listing as those that run, here or elsewhere.
	everywhere := newScene(t)
	everywhere.converge(web("1Gi", "") + runState("Running") + strings.ReplaceAll("---"+web("1Gi", ""), "name: web", "name: idle") +
		strings.ReplaceAll("---"+web("1Gi", ""), "name: web", "name: far"))
	far := *everywhere.facts.Documents.RunStates[0]
	far.Metadata.Name, far.Spec.Host, far.Spec.Run = "far", "kvm2", 3
	everywhere.facts.Documents.RunStates = append([]*manifest.RunState{&far}, everywhere.facts.Documents.RunStates...)
	everywhere.latest = Report(everywhere.latest, everywhere.facts)
	golden(t, "configs", "/api/v1alpha1/configs", map[string]*scene{"everywhere": everywhere})
	few := map[string]*scene{"staged": all["staged"], "removal": all["removal"], "broken": all["broken"], "password": all["password"]}
	golden(t, "plan", "/api/v1alpha1/plan", few)
	golden(t, "events", "/api/v1alpha1/events", few)
}

// golden compares what is answered, by scene, with a file in testdata.
func golden(t *testing.T, name, path string, all map[string]*scene) {
	t.Helper()
	file := filepath.Join("testdata", name+".txtar")
	got := &txtar.Archive{Comment: []byte("What " + path + " answers, by scene. Written by go test -update.\n")}
	for _, scene := range slices.Sorted(maps.Keys(all)) {
		w := answer(serve(all[scene]), path)
		got.Files = append(got.Files, txtar.File{Name: scene + ".json", Data: w.Body.Bytes()})
	}
	text := txtar.Format(got)
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestSecretsAreShownNowhere looks for the user data in everything that a server can say.
func TestSecretsAreShownNowhere(t *testing.T) {
	for name, s := range scenes(t) {
		server := serve(s)
		if s.domain != nil && name != "blocked" && name != "stuck" && !strings.Contains(s.domain.Inactive.Text(), "ua-init") {
			t.Errorf("%s: the domain has no seed: nothing could be given away", name)
		}
		for _, path := range []string{"/", "/metrics", "/api/v1alpha1/instances", "/api/v1alpha1/instances/web", "/api/v1alpha1/configs",
			"/api/v1alpha1/configs/web", "/api/v1alpha1/plan", "/api/v1alpha1/events", "/readyz"} {
			w := answer(server, path)
			if unread := name == "unread" && strings.HasSuffix(path, "/configs/web"); w.Code != 200 && !unread {
				t.Errorf("%s: GET %s: %d: %s", name, path, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: GET %s gives the user data away:\n%s", name, path, w.Body)
			}
		}
	}
}
