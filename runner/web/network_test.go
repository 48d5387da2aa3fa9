package web_test

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProxy takes the proxy that the environment names.
func TestProxy(t *testing.T) {
	t.Parallel()
	content := []byte("an image")
	s := newSite(t)
	s.put("/it", content, `"one"`)
	to := filepath.Join(t.TempDir(), "a", "disk")
	c := helper("http://files.example/it", digest(content), to, "0")
	c.Env = append(c.Env, "HTTP_PROXY="+s.URL, "NO_PROXY=")
	if out, err := c.CombinedOutput(); err != nil || !bytes.Equal(read(t, to), content) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTLS trusts the system's certificates and no others.
func TestTLS(t *testing.T) {
	t.Parallel()
	content := []byte("an image")
	s := &site{files: map[string][]byte{"/it": content}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, trusted := range []bool{false, true} {
		to := filepath.Join(t.TempDir(), "a", "disk")
		c := helper(s.URL+"/it", digest(content), to, "0")
		if trusted {
			c.Env = append(c.Env, "SSL_CERT_FILE="+roots)
		}
		out, err := c.CombinedOutput()
		if (err == nil) != trusted || !trusted && !strings.Contains(string(out), "certificate signed by unknown authority") {
			t.Errorf("trusted (%v): %v: %s", trusted, err, out)
		}
	}
}
