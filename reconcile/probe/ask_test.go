package probe_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/probe"
	"github.com/gitvirt/gitvirt/render"
)

// asked is what is known after one question.
func asked(t *testing.T, g *guests, r render.Readiness, open ...bool) plan.Readiness {
	t.Helper()
	r.Period, r.Successes, r.Failures = time.Second, 1, 1
	if r.Timeout == 0 {
		r.Timeout = 5 * time.Second
	}
	p := probe.New(g)
	p.Once(t.Context(), []plan.Probe{{Name: "web", UUID: "u", ID: 1, Agent: slices.Contains(open, true), Readiness: r}})
	return p.Ready()["web"]
}

func listen(t *testing.T) (host string, port int, l net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests close it themselves
	a := l.Addr().(*net.TCPAddr)
	return a.IP.String(), a.Port, l
}

func TestExec(t *testing.T) {
	r := render.Readiness{Check: render.CheckExec, Command: []string{"systemctl", "is-system-running"}}
	if got := asked(t, &guests{up: true}, r); !got.Ready || got.Message != "systemctl in the guest exited with 0" {
		t.Errorf("%+v", got)
	}
	if got := asked(t, &guests{}, r); got.Ready || got.Message != "systemctl in the guest: not connected" {
		t.Errorf("%+v", got)
	}
}

func TestTCP(t *testing.T) {
	host, port, l := listen(t)
	r := render.Readiness{Check: render.CheckTCP, Host: host, Port: port}
	if got := asked(t, &guests{}, r); !got.Ready {
		t.Errorf("%+v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, &guests{}, r); got.Ready || !strings.Contains(got.Message, "TCP probe of "+l.Addr().String()+": connect: connection refused") {
		t.Errorf("%+v", got)
	}
}

func TestHTTP(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == "web.example" && r.Header.Get("X-Key") == "secret" && r.URL.Path == "/up" && r.URL.RawQuery == "a=b":
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/nowhere", http.StatusFound)
		case r.URL.Path == "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		default:
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for name, tt := range map[string]struct {
		server  *httptest.Server
		path    string
		headers [][2]string
		timeout time.Duration
		ready   bool
		message string
	}{
		"headers":   {plain, "/up?a=b", [][2]string{{"Host", "web.example"}, {"X-Key", "secret"}}, 0, true, "answers 204 No Content"},
		"TLS":       {secure, "/up?a=b", [][2]string{{"host", "web.example"}, {"X-Key", "secret"}}, 0, true, "answers 204 No Content"},
		"redirect":  {plain, "/moved", nil, 0, true, "answers 302 Found"},
		"error":     {plain, "/down", nil, 0, false, "it answers 503 Service Unavailable"},
		"slow":      {plain, "/slow", nil, 50 * time.Millisecond, false, "no answer within 50ms"},
		"not HTTPS": {plain, "/up", nil, 0, false, "HTTP probe of"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(tt.server.URL)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.Atoi(u.Port())
			if err != nil {
				t.Fatal(err)
			}
			r := render.Readiness{Check: render.CheckHTTP, Host: u.Hostname(), Port: port, Scheme: u.Scheme, Path: tt.path, Headers: tt.headers, Timeout: tt.timeout}
			if name == "not HTTPS" {
				r.Scheme = "https"
			}
			got := asked(t, &guests{}, r)
			if got.Ready != tt.ready || !strings.Contains(got.Message, tt.message) || strings.Contains(got.Message, "secret") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestAddresses: the probe's own host goes before fixed addresses, those before what the host knows, and that before what the
// guest says, which is asked only when its channel is open.
func TestAddresses(t *testing.T) {
	_, port, _ := listen(t)
	here, silent := []netip.Addr{netip.MustParseAddr("127.0.0.1")}, []netip.Addr{netip.MustParseAddr("127.0.0.2")}
	for name, tt := range map[string]struct {
		host               string
		fixed, found, said []netip.Addr
		open, ready        bool
		message            string
	}{
		"nothing is known":         {message: "its address is not known: say host in the probe"},
		"the template's":           {fixed: here, found: silent, ready: true, message: "TCP 127.0.0.1:"},
		"the host's":               {found: here, said: silent, open: true, ready: true, message: "TCP 127.0.0.1:"},
		"the second of the host's": {found: append(silent, here...), ready: true, message: "TCP 127.0.0.1:"},
		"the guest's":              {said: here, open: true, ready: true, message: "TCP 127.0.0.1:"},
		"its channel is not open":  {said: here, message: "its address is not known"},
		"none answers":             {found: silent, message: "TCP probe of 127.0.0.2:"},
		"the probe's own is first": {host: "127.0.0.1", fixed: silent, found: silent, ready: true, message: "TCP 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			r := render.Readiness{Check: render.CheckTCP, Host: tt.host, Port: port, Addresses: tt.fixed}
			if got := asked(t, &guests{addresses: tt.found, said: tt.said}, r, tt.open); got.Ready != tt.ready || !strings.Contains(got.Message, tt.message) {
				t.Errorf("%+v", got)
			}
		})
	}
}
