package oci_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/oci"
)

// TestLogin takes a password from a secret, in every form that people have it, and tells nobody.
func TestLogin(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // nobody's
	h := newHub(t)
	img, _ := h.push("disks/it", disk(t, "content"))
	h.meddle(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "geheim" {
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			w.WriteHeader(http.StatusUnauthorized)
			return nil
		}
		return w
	})
	auth := base64.StdEncoding.EncodeToString([]byte("me:geheim"))
	for name, test := range map[string]struct{ login, err string }{
		"a user and a password":     {"me:geheim", ""},
		"with a line end":           {"me:geheim\n", ""},
		"a docker configuration":    {fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, h.addr, auth), ""},
		"with its words apart":      {fmt.Sprintf(`{"auths": {%q: {"username": "me", "password": "geheim"}}}`, h.addr), ""},
		"of another registry":       {fmt.Sprintf(`{"auths": {"registry.example": {"auth": %q}}}`, auth), "401"},
		"wrong":                     {"me:geheim2", "401"},
		"a program for passwords":   {`{"credsStore": "geheim", "credHelpers": {"` + h.addr + `": "geheim"}}`, "401"},
		"a broken configuration":    {`{"auths": {"geheim"`, "neither a docker configuration"},
		"a broken one of passwords": {fmt.Sprintf(`{"auths": {%q: {"auth": "geheim!"}}}`, h.addr), "neither a docker configuration"},
		"a word":                    {"geheim", "neither a docker configuration"},
		"lines":                     {"me:geheim\nmore", "neither a docker configuration"},
		"none":                      {"", "401"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := fetcher(t, download.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			to := filepath.Join(t.TempDir(), "a", "disk")
			_, err := f.Fetcher.Fetch(t.Context(), oci.Source{Image: img, Login: oci.Login(test.login)}, to, "web")
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("it gives %v", err)
			}
			if text := fmt.Sprint(err) + log.String(); strings.Contains(text, "geheim") || strings.Contains(text, auth) {
				t.Errorf("it tells: %s", text)
			}
		})
	}
}
