package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gitvirt/gitvirt/test/proxy"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestRule9UnverifiedCommitsChangeNothing: what no listed key signed is not applied, and says so.
func TestRule9UnverifiedCommitsChangeNothing(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	allowed := ""
	allow := func(name string) {
		key := filepath.Join(dir, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
		public, err := os.ReadFile(key + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		allowed += name + "@example.org " + string(public)
	}
	push := func(key string, documents ...string) string {
		h.commit("Change", documents...)
		if key != "" {
			h.git(h.clone, "-c", "gpg.format=ssh", "-c", "user.signingkey="+filepath.Join(dir, key), "commit", "--quiet", "--amend", "--no-edit", "-S")
		}
		h.git(h.clone, "push", "--quiet", "origin", "HEAD:main")
		return h.git(h.clone, "rev-parse", "HEAD")
	}
	allow("alice")
	signers := file("signers", allowed)
	allow("bob") // and not listed yet
	h.flags = []string{"--config", file("agent.yaml", "verify: {mode: All, sshAllowedSigners: "+signers+"}\n")}

	web, db := machineDoc("web", "", "16Mi", "root"), machineDoc("db", "", "16Mi", "root")
	good := push("alice", web, runDoc("web", "state: Paused"))
	agent := h.agent()
	h.settled(good)
	h.proxy.Reset()
	stays := func(commit, why string, refused string) {
		t.Helper()
		var metrics, page string
		sandboxtest.Wait(t, patience, func() bool {
			_, err := h.get("/metrics", &metrics)
			return err == nil && strings.Contains(metrics, "gitvirt_source_unverified_total "+refused)
		}, commit+" is counted as refused")
		sandboxtest.Wait(t, patience, func() bool {
			_, err := h.get("/", &page)
			return err == nil && strings.Contains(page, commit) && strings.Contains(page, why)
		}, commit+" is on the page: "+why)
		if !strings.Contains(metrics, `gitvirt_revision_info{branch="main",revision="`+good) {
			t.Errorf("another revision is in force:\n%s", metrics)
		}
		if w := h.proxy.Writes(); len(w) != 0 {
			t.Errorf("an unverified commit wrote %v", proxy.Names(w))
		}
		out, err := h.command("plan").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), commit) || !strings.Contains(string(out), why) {
			t.Errorf("plan: %v: %s", err, out)
		}
	}
	bad := push("", runDoc("web", "state: Stopped"), db, runDoc("db", "state: Paused"))
	stays(bad, "is not verified: it is not signed", "1")
	// A signature on top does not cover what lies below it: every commit must carry its own.
	top := push("alice", db, runDoc("db", "state: Paused"))
	stays(top, "with it comes commit "+bad, "2")
	h.git(h.clone, "reset", "--quiet", "--hard", good)
	h.git(h.clone, "push", "--quiet", "--force", "origin", "HEAD:main")
	byBob := push("bob", web, runDoc("web", "state: Paused"), db, runDoc("db", "state: Paused"))
	stays(byBob, "is signed by SSH key SHA256:", "3")

	// A key that is listed now counts without a restart.
	file("signers", allowed)
	if err := agent.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.settled(byBob)
	if !strings.Contains(h.virsh("list", "--all", "--name"), "db") {
		t.Error("what was signed is not there")
	}
}
