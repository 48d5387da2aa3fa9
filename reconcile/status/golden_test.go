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

func TestInstancesAreReportedAsInTheGoldens(t *testing.T) {
	file := filepath.Join("testdata", "instances.txtar")
	got := &txtar.Archive{Comment: []byte("What /api/v1alpha1/instances/web answers, by scene. Written by go test -update.\n")}
	all := scenes(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := answer(serve(all[name]), "/api/v1alpha1/instances/web")
		got.Files = append(got.Files, txtar.File{Name: name + ".json", Data: w.Body.Bytes()})
	}
	text := txtar.Format(got)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSecretsAreShownNowhere looks for the user data in everything that a server can say.
func TestSecretsAreShownNowhere(t *testing.T) {
	for name, s := range scenes(t) {
		server := serve(s)
		if s.domain != nil && name != "blocked" && !strings.Contains(s.domain.Inactive.Text, "ua-init") {
			t.Errorf("%s: the domain has no seed: nothing could be given away", name)
		}
		for _, path := range []string{"/", "/metrics", "/api/v1alpha1/instances", "/api/v1alpha1/instances/web", "/api/v1alpha1/configs",
			"/api/v1alpha1/configs/web", "/api/v1alpha1/plan", "/api/v1alpha1/events", "/readyz"} {
			w := answer(server, path)
			if w.Code != 200 {
				t.Errorf("%s: GET %s: %d: %s", name, path, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: GET %s gives the user data away:\n%s", name, path, w.Body)
			}
		}
	}
}
