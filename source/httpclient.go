package source

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"golang.org/x/net/http/httpproxy"
)

// httpClient makes authenticated requests. The files that its settings name are read at each request; connections are
// kept for as long as the CA file says the same.
type httpClient struct {
	at    location
	auth  Auth
	proxy func(*url.URL) (*url.URL, error)

	client *http.Client
	ca     []byte // that the client was made with
}

func newHTTPClient(at location, auth Auth) (*httpClient, error) {
	if (auth.TokenFile != "" || at.pass != "") && at.scheme == "http" && !at.loopback() {
		return nil, fmt.Errorf("the token would travel unencrypted to %s: use https, or leave the token out", at)
	}
	c := &httpClient{at: at, auth: auth, proxy: httpproxy.FromEnvironment().ProxyFunc()}
	if auth.Proxy != "" {
		u, err := parseProxy(auth.Proxy)
		if err != nil {
			return nil, err
		}
		c.proxy = func(*url.URL) (*url.URL, error) { return u, nil }
	}
	return c, nil
}

func parseProxy(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		// url.Error repeats the URL, which may hold a password.
		return nil, errors.New("the proxy's URL cannot be parsed: write http://host:port")
	case u.User != nil:
		return nil, fmt.Errorf("the proxy's URL %s names a user: write user:password to a file and name it in auth.proxyAuthFile", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, fmt.Errorf("proxy %s has scheme %q: use http://, https:// or socks5://", u.Redacted(), u.Scheme)
	}
	return u, nil
}

func (c *httpClient) close() {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
}

// ready makes the client, or makes it anew when the CA file was replaced: whom the old one trusted may be trusted no
// more.
func (c *httpClient) ready() error {
	var ca []byte
	if c.auth.CAFile != "" {
		var err error
		if ca, err = os.ReadFile(c.auth.CAFile); err != nil {
			return fmt.Errorf("cannot read the CA file: %w", err)
		}
	}
	if c.client != nil && bytes.Equal(ca, c.ca) {
		return nil
	}
	transport := &http.Transport{
		Proxy:                 c.through,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		IdleConnTimeout:       2 * time.Minute,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   1,
		ExpectContinueTimeout: time.Second,
	}
	if c.auth.CAFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(ca) {
			return fmt.Errorf("cannot use CA file %s: it holds no PEM certificate", c.auth.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c.close()
	c.client, c.ca = &http.Client{Transport: transport, CheckRedirect: checkRedirect}, ca
	return nil
}

// through returns the proxy for a request, with who we are to it.
func (c *httpClient) through(req *http.Request) (*url.URL, error) {
	u, err := c.proxy(req.URL)
	if err != nil || u == nil || c.auth.ProxyAuthFile == "" {
		return u, err
	}
	secret, err := readSecret(c.auth.ProxyAuthFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the proxy's user and password: %w", err)
	}
	user, pass, ok := strings.Cut(secret, ":")
	if !ok {
		return nil, fmt.Errorf("cannot use %s: write one line, user:password", c.auth.ProxyAuthFile)
	}
	known := *u
	known.User = url.UserPassword(user, pass)
	return &known, nil
}

// checkRedirect follows the first request to another path of the same server, and from http to https. Elsewhere the
// repository is another one, until its URL says so.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
	if via[0].Method != http.MethodGet || len(via) > 5 || !upgrade && (from.Scheme != to.Scheme || from.Host != to.Host) {
		return fmt.Errorf("the server redirects to %s: set the repository's URL to that, if you trust it", spoken(to.Redacted()))
	}
	return nil
}

// do makes a request and wants the answer 200.
func (c *httpClient) do(req *http.Request) (*http.Response, error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	if err := c.authenticate(req); err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", capability.DefaultAgent())
	res, err := c.client.Do(req)
	if err != nil {
		var u *url.Error // repeats the URL
		if errors.As(err, &u) {
			err = u.Err
		}
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			err = fmt.Errorf("%w: if a CA of your own signed it, name the file with that CA's certificate in auth.caFile", err)
		}
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	res.Body.Close()
	status := spoken(res.Status)
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("the server refuses access (%s): %s", status, c.checkToken())
	case http.StatusNotFound:
		return nil, fmt.Errorf("the server knows no such repository (%s), or hides it: check the URL; %s", status, c.checkToken())
	case http.StatusProxyAuthRequired:
		return nil, fmt.Errorf("the proxy refuses access (%s): check auth.proxyAuthFile", status)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if wait := retryAfter(res.Header.Get("Retry-After"), time.Now()); wait > 0 {
			return nil, &BusyError{Status: status, Wait: wait}
		}
	}
	return nil, fmt.Errorf("the server answers %s", status)
}

// checkToken says where what the server knows us by comes from.
func (c *httpClient) checkToken() string {
	switch {
	case c.auth.TokenFile != "":
		return "check the token in " + c.auth.TokenFile
	case c.at.pass != "":
		return "check the password in the URL"
	}
	return "if it wants a token, write that to a file and name it in auth.tokenFile"
}

// authenticate sets basic authentication, which is how git hosts take tokens: as the password of a user.
func (c *httpClient) authenticate(req *http.Request) error {
	user, pass := c.at.user, c.at.pass
	if c.auth.TokenFile != "" {
		data, err := os.ReadFile(c.auth.TokenFile)
		if err != nil {
			return fmt.Errorf("cannot read the token file: %w", err)
		}
		pass = strings.TrimSpace(string(data))
		if pass == "" || strings.ContainsAny(pass, "\r\n") {
			return fmt.Errorf("cannot use token file %s: write one line, the token or user:password", c.auth.TokenFile)
		}
		if u, p, ok := strings.Cut(pass, ":"); ok {
			user, pass = u, p
		}
		if user == "" {
			user = "git" // hosts that take a token alone take any user
		}
	}
	if user != "" || pass != "" {
		req.SetBasicAuth(user, pass)
	}
	return nil
}
