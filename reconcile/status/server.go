package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gitvirt/gitvirt/render/resource"
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
	// Webhook answers what git hosts post; nil when there is none.
	Webhook http.Handler
}

// Server answers from the snapshot that was published last. Only a config's runtime, at another revision, waits for the
// repository.
type Server struct {
	latest  atomic.Pointer[Snapshot]
	publish sync.Mutex
	mux     *http.ServeMux
	sources Sources
	people  page
	// completing is taken by the one who has Sources complete a config: that reads all documents of a revision, and the
	// memory for it is there once.
	completing chan struct{}
}

// NewServer makes a server, and registers the metrics that are read off a snapshot.
func NewServer(registry *prometheus.Registry, sources Sources) *Server {
	s := &Server{mux: http.NewServeMux(), sources: sources, people: newPage(), completing: make(chan struct{}, 1)}
	s.latest.Store(&Snapshot{})
	registry.MustRegister(newCollector(&s.latest))
	// One series that cannot be shown takes no other with it.
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	get := func(pattern string, h http.HandlerFunc) {
		s.mux.HandleFunc("GET "+pattern, h)
		s.mux.HandleFunc(pattern, readOnly)
	}
	get("/{$}", s.page)
	get("/metrics", metrics.ServeHTTP)
	get("/healthz", s.health)
	get("/readyz", s.ready)
	const api = "/api/v1alpha1"
	get(api+"/instances", s.instances)
	get(api+"/instances/{name}", s.instance)
	get(api+"/networks", s.resources(resource.Network))
	get(api+"/storagepools", s.resources(resource.Pool))
	get(api+"/configs", s.configs)
	get(api+"/configs/{name}", s.config)
	get(api+"/configs/{name}/runtime", s.runtime)
	get(api+"/plan", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, Listed(s.latest.Load().Facts.Plan))
	})
	get(api+"/events", func(w http.ResponseWriter, _ *http.Request) {
		list(w, "EventList", slices.Values(s.latest.Load().Events))
	})
	s.mux.Handle("/webhook", orNone(sources.Webhook))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, fmt.Errorf("there is nothing at %s", r.URL.Path))
	})
	return s
}

// orNone is a webhook, or what says that there is none.
func orNone(webhook http.Handler) http.Handler {
	if webhook != nil {
		return webhook
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, errors.New("this agent takes no webhooks: say webhook.secretFile in its file"))
	})
}

// Latest is what was published last.
func (s *Server) Latest() *Snapshot { return s.latest.Load() }

// Publish makes what the loop knows the latest.
func (s *Server) Publish(f Facts) {
	s.publish.Lock()
	defer s.publish.Unlock()
	s.latest.Store(Report(s.latest.Load(), f))
}

// ServeHTTP answers. Nothing may be kept, and nothing but the page's own style is let in by a browser.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", s.people.policy)
	s.mux.ServeHTTP(w, r)
}

// readOnly answers whoever means to change something: that is done by a commit.
func readOnly(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	fail(w, http.StatusMethodNotAllowed, fmt.Errorf("%s is not allowed: what is here can only be read; changes are made in the repository", r.Method))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if !s.sources.Alive() {
		http.Error(w, "the loop has made no pass for too long", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	f := &s.latest.Load().Facts
	var reasons []string
	if f.Source.Revision == "" {
		reasons = append(reasons, strings.TrimSuffix("no revision is in force: "+f.Source.Error, ": "))
	}
	if !f.Libvirt.Up {
		reasons = append(reasons, strings.TrimSuffix("libvirt does not answer: "+f.Libvirt.Error, ": "))
	}
	if len(reasons) > 0 {
		http.Error(w, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) instances(w http.ResponseWriter, _ *http.Request) {
	snapshot := s.latest.Load()
	list(w, "VirtualMachineInstanceList", func(yield func(Instance) bool) {
		for _, i := range snapshot.Instances {
			if !yield(i.whole()) {
				return
			}
		}
	})
}

// whole adds the spec, which is made only when somebody asks for it.
func (i Instance) whole() Instance {
	if i.rendered != nil {
		i.Spec = i.rendered.Public()
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
	list(w, "VirtualMachineInstanceConfigList", slices.Values(s.latest.Load().Configs()))
}

func (s *Server) config(w http.ResponseWriter, r *http.Request) {
	for _, c := range s.latest.Load().Configs() {
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
	select {
	case s.completing <- struct{}{}:
		defer func() { <-s.completing }()
	case <-ctx.Done():
		fail(w, http.StatusServiceUnavailable, errors.New("others are asking for the same: try again later"))
		return
	}
	i, err := s.sources.Runtime(ctx, r.PathValue("name"), revision)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		fail(w, http.StatusGatewayTimeout, fmt.Errorf("reading the revision took more than %s: try again later", runtimeTimeout))
	case errors.Is(err, ErrNotFound):
		fail(w, http.StatusNotFound, err)
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	default:
		reply(w, http.StatusOK, i)
	}
}
