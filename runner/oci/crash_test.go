package oci_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
)

// helperVariable has the test binary be a process for a test instead.
const helperVariable = "GITVIRT_TEST_HELPER"

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperVariable); helper != "" {
		os.Exit(help(strings.Split(helper, " ")))
	}
	os.Exit(m.Run())
}

func help(args []string) int {
	var err error
	switch args[0] {
	case "full":
		// The signal for files that are too large is ignored, so that writing fails as on a full disk.
		signal.Ignore(syscall.SIGXFSZ)
		if err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100_000, Max: 100_000}); err == nil {
			_, err = newFetcher(download.Options{}).Fetch(context.Background(), args[1], "", args[2])
		}
	}
	if err != nil {
		println(err.Error())
		return 1
	}
	return 0
}

func helper(args ...string) (string, error) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"="+strings.Join(args, " "))
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestFullDisk: what cannot be written is not there.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	img, _ := h.push("disks/it", disk(t, noise(mib)))
	dir := t.TempDir()
	out, err := helper("full", img, filepath.Join(dir, "disk"))
	if err == nil || !strings.Contains(out, "cannot write the file") {
		t.Errorf("it says %s, %v", out, err)
	}
	nothing(t, dir)
}

// TestAuth takes what docker login wrote.
func TestAuth(t *testing.T) {
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
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	to := filepath.Join(t.TempDir(), "disk")
	f := fetcher(t, download.Options{})
	if _, err := f.Fetch(t.Context(), img, "", to); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a password it gives %v", err)
	}
	for _, password := range []string{"falsch", "geheim"} { // once it is fetched, nobody is asked any more
		works := password == "geheim"
		auth := base64.StdEncoding.EncodeToString([]byte("me:" + password))
		text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, h.addr, auth)
		if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := f.Fetch(t.Context(), img, "", to)
		if (err == nil) != works || strings.Contains(fmt.Sprint(err), password) {
			t.Errorf("with the password %s it gives %v", password, err)
		}
		if works {
			continue
		}
		nothing(t, filepath.Dir(to))
	}
}
