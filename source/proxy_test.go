package source

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// proxy is an HTTP proxy: it passes on plain requests, and CONNECTs. Whatever host is asked for, it takes to a server on
// this machine.
type proxy struct {
	to     string // host:port
	secret string // user:password that it wants; empty: none

	mu     sync.Mutex
	passed []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.mu.Lock()
	p.passed = append(p.passed, req.Method+" "+req.Host)
	p.mu.Unlock()
	if p.secret != "" && req.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(p.secret)) {
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if req.Method != http.MethodConnect {
		out := req.Clone(req.Context())
		out.URL.Host, out.RequestURI = p.to, ""
		out.Header.Del("Proxy-Authorization")
		res, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		io.Copy(w, res.Body)
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(server, buffered); server.Close() }()
	io.Copy(client, server)
	client.Close()
	<-done
}

// used returns how requests came, and forgets them.
func (p *proxy) used() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]bool{}
	for _, s := range p.passed {
		method, host, _ := strings.Cut(s, " ")
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if method != http.MethodConnect {
			method = "plain"
		}
		all[method+" "+host] = true
	}
	p.passed = nil
	var list []string
	for s := range all {
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

// TestProxy reaches a server through a proxy, which the settings or the environment name.
func TestProxy(t *testing.T) {
	r := newRepo(t)
	backend := gitHTTP(t, filepath.Dir(r.bare))
	plain := httptest.NewServer(backend)
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(backend)
	t.Cleanup(secure.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	through := &proxy{}
	front := httptest.NewServer(through)
	t.Cleanup(front.Close)
	broken := "http://127.0.0.1:1"
	good, wrong := write("good", "me:pr0xy-s3cret\n"), write("wrong", "me:other-s3cret\n")
	openly, securely := plain.Listener.Addr().String(), secure.Listener.Addr().String()

	for _, tt := range []struct {
		name, url string
		to        string
		auth      Auth
		env       map[string]string
		secret    string
		used      string
		err       string
	}{
		{name: "plain, by key", url: "http://git.example.org", to: openly, auth: Auth{Proxy: front.URL}, used: "plain git.example.org"},
		{name: "CONNECT, by key", url: "https://example.com", to: securely, auth: Auth{Proxy: front.URL, CAFile: ca}, used: "CONNECT example.com"},
		{name: "plain, by environment", url: "http://git.example.org", to: openly,
			env: map[string]string{"HTTP_PROXY": front.URL}, used: "plain git.example.org"},
		{name: "CONNECT, by environment", url: "https://example.com", to: securely, env: map[string]string{"HTTPS_PROXY": front.URL, "HTTP_PROXY": broken},
			auth: Auth{CAFile: ca}, used: "CONNECT example.com"},
		{name: "the key wins", url: "http://git.example.org", to: openly, auth: Auth{Proxy: front.URL},
			env: map[string]string{"HTTP_PROXY": broken}, used: "plain git.example.org"},
		{name: "this machine needs none", url: plain.URL, env: map[string]string{"HTTP_PROXY": broken}},
		{name: "known to the proxy", url: "http://git.example.org", to: openly, secret: "me:pr0xy-s3cret",
			auth: Auth{Proxy: front.URL, ProxyAuthFile: good}, used: "plain git.example.org"},
		{name: "known to the proxy, CONNECT", url: "https://example.com", to: securely, secret: "me:pr0xy-s3cret",
			auth: Auth{Proxy: front.URL, ProxyAuthFile: good, CAFile: ca}, used: "CONNECT example.com"},
		{name: "not known to the proxy", url: "http://git.example.org", to: openly, secret: "me:pr0xy-s3cret",
			auth: Auth{Proxy: front.URL, ProxyAuthFile: wrong}, used: "plain git.example.org", err: "check auth.proxyAuthFile"},
		{name: "not known to the proxy, CONNECT", url: "https://example.com", to: securely, secret: "me:pr0xy-s3cret",
			auth: Auth{Proxy: front.URL, ProxyAuthFile: wrong, CAFile: ca}, used: "CONNECT example.com", err: "Proxy Authentication Required"},
		{name: "its file is missing", url: "http://git.example.org", auth: Auth{Proxy: front.URL, ProxyAuthFile: filepath.Join(dir, "none")},
			err: "cannot read the proxy's user and password"},
		{name: "its file has no user", url: "http://git.example.org", auth: Auth{Proxy: front.URL, ProxyAuthFile: write("alone", "s3cret")},
			err: "write one line, user:password"},
		{name: "no proxy there", url: "http://git.example.org", auth: Auth{Proxy: broken}, err: "127.0.0.1:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
				t.Setenv(name, tt.env[name])
			}
			through.to, through.secret = tt.to, tt.secret
			through.used()
			s := newSource(t, Options{URL: tt.url + "/repo.git", Auth: tt.auth})
			snap, err := s.Fetch(context.Background())
			if used := through.used(); used != tt.used {
				t.Errorf("the proxy saw %q, want %q", used, tt.used)
			}
			if tt.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				checkWhole(t, r, snap, r.head())
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, want %q and no secret", err, tt.err)
			}
		})
	}
	t.Run("NO_PROXY", func(t *testing.T) {
		t.Setenv("HTTPS_PROXY", front.URL)
		t.Setenv("NO_PROXY", "git.example.org,192.0.2.0/24")
		for host, want := range map[string]bool{"git.example.org": false, "192.0.2.7": false, "git.example.com": true} {
			s := newSource(t, Options{URL: "https://" + host + "/repo.git"})
			via, err := s.remote.(*httpRemote).proxy(&url.URL{Scheme: "https", Host: host})
			if err != nil || (via != nil) != want {
				t.Errorf("%s: %v, %v, want a proxy: %v", host, via, err, want)
			}
		}
	})
	for url, want := range map[string]string{
		"http://me:hush-hush@proxy.example.org:3128": "auth.proxyAuthFile",
		"ftp://proxy.example.org":                    `scheme "ftp"`,
		"proxy.example.org:3128":                     "cannot be parsed",
		"http://me:hush-hush@pro xy":                 "cannot be parsed",
	} {
		_, err := New(Options{URL: "https://git.example.org/x.git", Dir: dir, Auth: Auth{Proxy: url}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
