package source

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshd is a real OpenSSH server on this machine.
type sshd struct {
	t      testing.TB
	dir    string
	port   int
	user   string
	host   ssh.PublicKey
	client string // private key file
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// newKey writes a key pair in OpenSSH's formats.
func newKey(t testing.TB, path string) ssh.PublicKey {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// startSSHD starts a server; the lines are added to its configuration.
func startSSHD(t testing.TB, lines ...string) *sshd {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	d := &sshd{t: t, dir: t.TempDir(), user: me.Username, port: freePort(t)}
	d.host = newKey(t, filepath.Join(d.dir, "host"))
	d.client = filepath.Join(d.dir, "client")
	pub := newKey(t, d.client)
	d.write("authorized", string(ssh.MarshalAuthorizedKey(pub)))
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write("conf", fmt.Sprintf(`ListenAddress 127.0.0.1
HostKey %s/host
AuthorizedKeysFile %s/authorized
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
SetEnv GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*
%s
`, d.dir, d.dir, strings.Join(lines, "\n")))
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *sshd) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *sshd) start() {
	d.t.Helper()
	d.cmd = exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(d.dir, "conf"), "-p", strconv.Itoa(d.port))
	d.cmd.Stderr = &d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when the test run is killed
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	for range 200 {
		if c, err := net.Dial("tcp", d.address()); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.stop()
	d.t.Fatalf("sshd does not listen:\n%s", d.log.String())
}

func (d *sshd) stop() {
	if d.cmd == nil {
		return
	}
	d.cmd.Process.Kill()
	d.cmd.Wait()
	d.cmd = nil
}

func (d *sshd) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

// knownHosts writes a file that pins the keys for the server.
func (d *sshd) knownHosts(keys ...ssh.PublicKey) string {
	return d.knownHostsFor(d.address(), keys...)
}

func (d *sshd) knownHostsFor(address string, keys ...ssh.PublicKey) string {
	var lines []string
	for _, k := range keys {
		lines = append(lines, knownhosts.Line([]string{address}, k))
	}
	return d.write("known_hosts", strings.Join(lines, "\n")+"\n")
}

func (d *sshd) url(path string) string {
	return fmt.Sprintf("ssh://%s@%s%s", d.user, d.address(), path)
}

func (d *sshd) auth() Auth {
	return Auth{SSHKeyFile: d.client, SSHKnownHostsFile: d.knownHosts(d.host), SSHAgentSocket: "/nonexistent"}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
