package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// runtimeTimeout bounds the one answer that needs the repository.
const runtimeTimeout = 30 * time.Second

// ErrNotFound says that there is no such config, or no such revision.
var ErrNotFound = errors.New("not found")

// Sources are what a server asks beyond the snapshot.
type Sources struct {
	// Runtime completes a config as of a commit; the one in force when it is empty. It wraps ErrNotFound when there is
	// none.
	Runtime func(ctx context.Context, config, revision string) (Instance, error)
	// Alive says whether the loop still makes passes.
	Alive func() bool
}

// Server answers from the snapshot that was published last. Only a config's runtime, at another revision, waits for the
// repository.
type Server struct {
	latest  atomic.Pointer[Snapshot]
	publish sync.Mutex
	mux     *http.ServeMux
	sources Sources
}

// NewServer makes a server, and registers the metrics that are read off a snapshot.
func NewServer(registry *prometheus.Registry, sources Sources) *Server {
	s := &Server{mux: http.NewServeMux(), sources: sources}
	s.latest.Store(&Snapshot{})
	registry.MustRegister(newCollector(&s.latest))
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	get := func(pattern string, h http.HandlerFunc) { s.mux.HandleFunc("GET "+pattern, h) }
	get("/{$}", s.page)
	get("/metrics", metrics.ServeHTTP)
	get("/healthz", s.health)
	get("/readyz", s.ready)
	const api = "/api/v1alpha1"
	get(api+"/instances", s.instances)
	get(api+"/instances/{name}", s.instance)
	get(api+"/configs", s.configs)
	get(api+"/configs/{name}", s.config)
	get(api+"/configs/{name}/runtime", s.runtime)
	get(api+"/plan", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, Listed(s.latest.Load().Facts.Plan))
	})
	get(api+"/events", func(w http.ResponseWriter, _ *http.Request) { list(w, "EventList", s.latest.Load().Events) })
	return s
}

// Publish makes what the loop knows the latest.
func (s *Server) Publish(f Facts) {
	s.publish.Lock()
	defer s.publish.Unlock()
	s.latest.Store(Report(s.latest.Load(), f))
}

// Latest is the snapshot that was published last.
func (s *Server) Latest() *Snapshot { return s.latest.Load() }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	s.mux.ServeHTTP(w, r)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if !s.sources.Alive() {
		http.Error(w, "the loop has made no pass for too long", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	f := s.latest.Load().Facts
	switch {
	case f.Source.Revision == "":
		http.Error(w, "no revision is in force: "+f.Source.Error, http.StatusServiceUnavailable)
	case !f.Libvirt.Up:
		http.Error(w, "libvirt does not answer: "+f.Libvirt.Error, http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ok")
	}
}

func (s *Server) instances(w http.ResponseWriter, _ *http.Request) {
	snapshot := s.latest.Load()
	items := make([]Instance, len(snapshot.Instances))
	for n, i := range snapshot.Instances {
		items[n] = i.whole()
	}
	list(w, "VirtualMachineInstanceList", items)
}

// whole adds the spec, which is made only when somebody asks for it.
func (i Instance) whole() Instance {
	if i.rendered != nil {
		i.Spec = Rendered(i.rendered).Spec
	}
	return i
}

func (s *Server) instance(w http.ResponseWriter, r *http.Request) {
	i := s.latest.Load().find(r.PathValue("name"))
	if i == nil {
		fail(w, http.StatusNotFound, fmt.Errorf("there is no instance %q on this host", r.PathValue("name")))
		return
	}
	reply(w, http.StatusOK, i.whole())
}

func (s *Server) configs(w http.ResponseWriter, _ *http.Request) {
	list(w, "VirtualMachineInstanceConfigList", s.latest.Load().Configs)
}

func (s *Server) config(w http.ResponseWriter, r *http.Request) {
	for _, c := range s.latest.Load().Configs {
		if c.Metadata.Name == r.PathValue("name") {
			reply(w, http.StatusOK, c)
			return
		}
	}
	fail(w, http.StatusNotFound, fmt.Errorf("there is no config %q", r.PathValue("name")))
}

var commit = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

func (s *Server) runtime(w http.ResponseWriter, r *http.Request) {
	revision := r.URL.Query().Get("revision")
	if revision != "" && !commit.MatchString(revision) {
		fail(w, http.StatusBadRequest, fmt.Errorf("revision %q is no commit: say 7 to 40 hexadecimal digits", revision))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), runtimeTimeout)
	defer cancel()
	i, err := s.sources.Runtime(ctx, r.PathValue("name"), revision)
	switch {
	case errors.Is(err, ErrNotFound):
		fail(w, http.StatusNotFound, err)
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	default:
		reply(w, http.StatusOK, i)
	}
}

// Listed is a plan as JSON shows it: one with nothing to do has an empty list of actions, and not null.
func Listed(p plan.Plan) plan.Plan {
	if p.Actions == nil {
		p.Actions = []plan.Action{}
	}
	return p
}

func list[T any](w http.ResponseWriter, kind string, items []T) {
	if items == nil {
		items = []T{}
	}
	reply(w, http.StatusOK, map[string]any{"apiVersion": "gitvirt.io/v1alpha1", "kind": kind, "items": items})
}

func fail(w http.ResponseWriter, code int, err error) {
	reply(w, code, map[string]any{"kind": "Status", "status": "Failure", "code": code, "message": err.Error()})
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the reader may have gone
}
