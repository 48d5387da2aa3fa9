package source

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startDaemon is a real git daemon for the repositories under root; its address is returned.
func startDaemon(t testing.TB, root string) string {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(freePort(t))
	// Without the git command in between, so that what is ended is the server.
	cmd := exec.Command(filepath.Join(strings.TrimSpace(string(path)), "git-daemon"),
		"--listen=127.0.0.1", "--port="+port, "--base-path="+root, "--export-all", "--reuseaddr", root)
	var log bytes.Buffer
	cmd.Env, cmd.Stderr = gitEnv(), &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when the test run is killed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address := net.JoinHostPort("127.0.0.1", port)
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("git daemon does not listen:\n%s", log.String())
	return ""
}
