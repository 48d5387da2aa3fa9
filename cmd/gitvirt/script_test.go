package main

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the goldens of the scripts anew")

// TestMain lets scripts call gitvirt: the test binary is the program then.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gitvirt": main})
}

// TestScripts runs each script in a folder of its own. $EXAMPLES are this project's examples, $AGENT is the address of
// something that answers as an agent with nothing in it. "code N COMMAND…" wants that exit code.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(http.HandlerFunc(emptyAgent))
	t.Cleanup(agent.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("AGENT", agent.URL)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "A Tester")
				e.Setenv("GIT_"+who+"_EMAIL", "tester@example.org")
			}
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("TMPDIR", e.Getenv("WORK"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": wantCode, "head": head},
	})
}

// emptyAgent answers as an agent that knows nothing, and badly where it is asked for configs.
func emptyAgent(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v1alpha1/instances":
		_, _ = w.Write([]byte(`{"kind": "VirtualMachineInstanceList", "items": []}` + "\n"))
	case "/api/v1alpha1/volumes":
		_, _ = w.Write([]byte(`{"kind": "VolumeList", "items": []}` + "\n"))
	case "/api/v1alpha1/configs":
		_, _ = w.Write([]byte("<html>"))
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"message": "there is no such thing"}`))
	}
}

// wantCode runs gitvirt through a shell that writes its exit code, as scripts know only success and failure.
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	err := ts.Exec("sh", append([]string{"-c", `"$@"; echo $? >"$WORK/.code"`, "sh"}, args[1:]...)...)
	ts.Check(err)
	if got := strings.TrimSpace(ts.ReadFile(ts.Getenv("WORK") + "/.code")); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// head sets $COMMIT to the newest commit of the repository in a folder.
func head(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("git", "-C", ts.MkAbs(args[0]), "rev-parse", "HEAD"))
	ts.Setenv("COMMIT", strings.TrimSpace(ts.ReadFile("stdout")))
}

// TestNothingIsLeftInTheTemporaryFolder is beside the scripts: what reads a repository cleans up.
func TestNothingIsLeftInTheTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"check", "--repo", filepath.Join(dir, "none")}, &out, &errs); code != exitFailed {
		t.Errorf("exit code %d, want %d: %s", code, exitFailed, errs.String())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
