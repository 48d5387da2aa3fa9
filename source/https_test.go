package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// authority is a private CA.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// issue makes a certificate for this machine.
func (a *authority) issue() *tls.Certificate {
	a.t.Helper()
	key := a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestHTTPS: a server with a certificate of a private authority, which is then replaced by another, under a source that
// goes on.
func TestHTTPS(t *testing.T) {
	r := newRepo(t)
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(one.issue())
	server := httptest.NewUnstartedServer(gitHTTP(t, filepath.Dir(r.bare)))
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*shown.Load()}}, nil
	}}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(ca, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSource(t, Options{URL: server.URL + "/repo.git", Auth: Auth{CAFile: ca}})
	fails := func(s *Source, want string) {
		t.Helper()
		if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	fails(s, "cannot read the CA file")
	write([]byte("none"))
	fails(s, "it holds no PEM certificate")
	write(two.pem)
	fails(s, "certificate")
	write(one.pem)
	checkWhole(t, r, fetch(t, s), r.head())
	fails(newSource(t, Options{URL: server.URL + "/repo.git"}), "certificate")

	// Whom the file trusts no longer is not trusted, on a connection that is open either.
	write(two.pem)
	fails(s, "certificate")
	shown.Store(two.issue())
	fetch(t, s)
	write(append(append([]byte{}, one.pem...), two.pem...))
	fetch(t, s)
	os.Remove(ca)
	fails(s, "cannot read the CA file")
	write(two.pem)
	r.write("web.yaml", "second\n")
	second := r.commit("Second")
	checkWhole(t, r, fetch(t, s), second)
}

// TestBusy: a server that asks for rest says for how long.
func TestBusy(t *testing.T) {
	r := newRepo(t)
	var status atomic.Int32
	var after atomic.Value
	backend := gitHTTP(t, filepath.Dir(r.bare))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if code := int(status.Load()); code != 0 {
			w.Header().Set("Retry-After", after.Load().(string))
			w.WriteHeader(code)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	s := newSource(t, Options{URL: server.URL + "/repo.git"})
	last := fetch(t, s)
	for _, tt := range []struct {
		code        int
		after       string
		least, most time.Duration // 0: it does not say
	}{
		{http.StatusTooManyRequests, "120", 2 * time.Minute, 2 * time.Minute},
		{http.StatusServiceUnavailable, time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat), 4 * time.Minute, 5 * time.Minute},
		{http.StatusServiceUnavailable, "999999", time.Hour, time.Hour},
		{http.StatusServiceUnavailable, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{http.StatusTooManyRequests, "soon", 0, 0},
		{http.StatusTooManyRequests, "-5", 0, 0},
		{http.StatusTooManyRequests, "", 0, 0},
		{http.StatusBadGateway, "120", 0, 0},
	} {
		status.Store(int32(tt.code))
		after.Store(tt.after)
		_, err := s.Fetch(context.Background())
		var busy *BusyError
		if errors.As(err, &busy) != (tt.most > 0) || err == nil || !strings.Contains(err.Error(), http.StatusText(tt.code)) {
			t.Errorf("%d %q: %v", tt.code, tt.after, err)
			continue
		}
		if busy != nil && (busy.Wait < tt.least || busy.Wait > tt.most) {
			t.Errorf("%d %q: wait %v, want %v to %v", tt.code, tt.after, busy.Wait, tt.least, tt.most)
		}
	}
	status.Store(0)
	if fetch(t, s) != last {
		t.Error("another snapshot though nothing changed")
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "", "-1", "0x10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if d := retryAfter(value, time.Now()); d < 0 || d > maxRetryAfter {
			t.Errorf("%q: %v", value, d)
		}
	})
}
