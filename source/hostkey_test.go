package source

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// keygen runs the real ssh-keygen.
func keygen(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %v: %v\n%s", args, err, out)
	}
}

// lockKey gives a key file a passphrase, which no process's arguments show.
func lockKey(t *testing.T, path, passphrase string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
}

// publish writes the public half beside a key that newKey made.
func publish(t *testing.T, path string, key ssh.PublicKey) {
	t.Helper()
	if err := os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(key), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hostLine is a line of a known_hosts file for the server.
func (d *sshd) hostLine(marker string, key ssh.PublicKey) string {
	host, port, _ := net.SplitHostPort(d.address())
	return strings.TrimSpace(marker+" ["+host+"]:"+port) + " " + string(ssh.MarshalAuthorizedKey(key))
}

// TestHostKeyMessages: what a server shows is refused with what was expected and what was seen.
func TestHostKeyMessages(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	one, two := newKey(t, filepath.Join(d.dir, "one")), newKey(t, filepath.Join(d.dir, "two"))
	priv, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ssh.NewPublicKey(&priv.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	seen, print := "shows ssh-ed25519 "+ssh.FingerprintSHA256(d.host), ssh.FingerprintSHA256
	for name, tt := range map[string]struct {
		file string
		want []string
	}{
		"changed":                 {d.hostLine("", one), []string{"pins for " + d.address() + ": ssh-ed25519 " + print(one) + ";", seen}},
		"changed, several pinned": {d.hostLine("", one) + d.hostLine("", two), []string{print(one) + " or ssh-ed25519 " + print(two), seen}},
		"changed in kind":         {d.hostLine("", other), []string{"pins for " + d.address() + ": ssh-rsa " + print(other) + ";", seen}},
		"unknown":                 {"", []string{"has no key for " + d.address(), seen, "the server's owner publishes"}},
		"revoked":                 {d.hostLine("", d.host) + d.hostLine("@revoked", d.host), []string{"ssh-ed25519 " + print(d.host), "is revoked"}},
		"revoked everywhere":      {d.hostLine("", d.host) + "@revoked * " + string(ssh.MarshalAuthorizedKey(d.host)), []string{"is revoked"}},
		"an authority, and no certificate": {d.hostLine("@cert-authority", one), []string{
			"a certificate by ssh-ed25519 " + print(one), seen}},
		"garbled": {"[127.0.0.1]:22 ssh-ed25519 !!!\n", []string{"cannot read the known_hosts file"}},
	} {
		t.Run(name, func(t *testing.T) {
			auth := d.auth()
			auth.SSHKnownHostsFile = d.write("known_hosts", tt.file)
			snap, err := newSource(t, Options{URL: d.url(r.bare), Auth: auth}).Fetch(context.Background())
			if snap != nil || err == nil || name != "garbled" && !errors.Is(err, ErrHostKey) {
				t.Fatalf("%v, %v", snap, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
			if after, _ := os.ReadFile(auth.SSHKnownHostsFile); string(after) != tt.file {
				t.Error("the known_hosts file was changed")
			}
		})
	}
}

// TestHashedHosts: the names are hashed by ssh-keygen.
func TestHashedHosts(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	other := newKey(t, filepath.Join(d.dir, "other"))
	for _, tt := range []struct {
		name string
		key  ssh.PublicKey
		want error
	}{{"pinned", d.host, nil}, {"another", other, ErrHostKey}} {
		auth := d.auth()
		file := d.write("known_hosts", d.hostLine("", tt.key))
		keygen(t, "-q", "-H", "-f", file)
		if text, _ := os.ReadFile(file); strings.Contains(string(text), "127.0.0.1") {
			t.Fatalf("not hashed: %s", text)
		}
		auth.SSHKnownHostsFile = file
		_, err := newSource(t, Options{URL: d.url(r.bare), Auth: auth}).Fetch(context.Background())
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), ssh.FingerprintSHA256(other)) {
			t.Errorf("%s: the expected key is not named: %v", tt.name, err)
		}
	}
}

// TestHostCertificates: a real sshd shows a certificate that ssh-keygen made.
func TestHostCertificates(t *testing.T) {
	r := newRepo(t)
	dir := t.TempDir()
	authority, stranger := filepath.Join(dir, "ca"), filepath.Join(dir, "stranger")
	ca := newKey(t, authority)
	publish(t, authority, ca)
	other := newKey(t, stranger)
	publish(t, stranger, other)
	for name, tt := range map[string]struct {
		principal, validity string
		pin                 func(d *sshd) string
		want                string // empty: it is trusted
	}{
		"good": {"127.0.0.1", "always:forever", func(d *sshd) string { return d.hostLine("@cert-authority", ca) }, ""},
		"any host of the authority's": {"127.0.0.1", "always:forever", func(d *sshd) string {
			return "@cert-authority * " + string(ssh.MarshalAuthorizedKey(ca))
		}, ""},
		"two authorities": {"127.0.0.1", "always:forever", func(d *sshd) string {
			return d.hostLine("@cert-authority", other) + d.hostLine("@cert-authority", ca)
		}, ""},
		"the plain key is pinned": {"127.0.0.1", "always:forever", func(d *sshd) string { return d.hostLine("", d.host) }, ""},
		"for another host":        {"192.0.2.1", "always:forever", func(d *sshd) string { return d.hostLine("@cert-authority", ca) }, "principal"},
		"expired":                 {"127.0.0.1", "20200101:20210101", func(d *sshd) string { return d.hostLine("@cert-authority", ca) }, "expired"},
		"by another authority": {"127.0.0.1", "always:forever", func(d *sshd) string { return d.hostLine("@cert-authority", other) },
			"expected, by " + ssh.FingerprintSHA256(ca)},
		"authority revoked": {"127.0.0.1", "always:forever", func(d *sshd) string {
			return d.hostLine("@cert-authority", ca) + "@revoked * " + string(ssh.MarshalAuthorizedKey(ca))
		}, "revoked"},
		"authority of other hosts": {"127.0.0.1", "always:forever", func(d *sshd) string {
			return "@cert-authority *.example.org " + string(ssh.MarshalAuthorizedKey(ca))
		}, "has no key for"},
	} {
		t.Run(name, func(t *testing.T) {
			d := startSSHD(t)
			d.stop()
			host := filepath.Join(d.dir, "host")
			publish(t, host, d.host)
			keygen(t, "-q", "-s", authority, "-h", "-I", "the server", "-n", tt.principal, "-V", tt.validity, host+".pub")
			conf, _ := os.ReadFile(filepath.Join(d.dir, "conf"))
			d.write("conf", string(conf)+"HostCertificate "+host+"-cert.pub\n")
			d.start()
			auth := d.auth()
			auth.SSHKnownHostsFile = d.write("known_hosts", tt.pin(d))
			snap, err := newSource(t, Options{URL: d.url(r.bare), Auth: auth}).Fetch(context.Background())
			switch {
			case tt.want == "":
				if err != nil {
					t.Fatal(err)
				}
				checkWhole(t, r, snap, r.head())
			case !errors.Is(err, ErrHostKey):
				t.Errorf("%v", err)
			case strings.HasPrefix(tt.want, "expected, by "):
				for _, want := range []string{"a certificate by ssh-ed25519 " + ssh.FingerprintSHA256(other), `a certificate "the server" for ssh-ed25519 ` +
					ssh.FingerprintSHA256(d.host) + " by ssh-ed25519 " + strings.TrimPrefix(tt.want, "expected, by ")} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v\ndoes not say %q", err, want)
					}
				}
			case !strings.Contains(err.Error(), tt.want):
				t.Errorf("%v\ndoes not say %q", err, tt.want)
			}
		})
	}
}

// TestSSHRotation: keys, passphrase and known_hosts are replaced under a source that goes on.
func TestSSHRotation(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	d.knownHosts(d.host)
	key, passphrase := filepath.Join(d.dir, "rotated"), filepath.Join(d.dir, "passphrase")
	auth := Auth{SSHKeyFile: key, SSHKeyPassphraseFile: passphrase, SSHKnownHostsFile: filepath.Join(d.dir, "known_hosts"), SSHAgentSocket: "/nonexistent"}
	s := newSource(t, Options{URL: d.url(r.bare), Auth: auth})
	fails := func(want string) {
		t.Helper()
		_, err := s.Fetch(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "first-secret") || strings.Contains(err.Error(), "second-secret")) {
			t.Errorf("the passphrase is told: %v", err)
		}
	}
	locked := func(secret string) {
		t.Helper()
		os.Remove(key)
		keygen(t, "-q", "-t", "ed25519", "-N", secret, "-f", key)
		pub, err := os.ReadFile(key + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		d.write("authorized", string(pub))
	}
	locked("first-secret")
	fails("cannot read the SSH key's passphrase")
	d.write("passphrase", "wrong-secret\n")
	fails("cannot use SSH key " + key + " with the passphrase in " + passphrase)
	d.write("passphrase", "two\nlines\n")
	fails("does not hold one line")
	d.write("passphrase", "first-secret\n")
	fetch(t, s)
	locked("second-secret")
	fails("with the passphrase in")
	d.write("passphrase", "second-secret")
	fetch(t, s)
	// A key without a passphrase needs none, whatever is in the file.
	priv, err := os.ReadFile(d.client)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	d.write("authorized", string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	d.write("rotated", string(priv))
	os.Remove(passphrase)
	fetch(t, s)
	os.Remove(key)
	fails("cannot read the SSH key")
	d.write("rotated", string(priv))
	d.knownHosts()
	fails("has no key for")
	d.knownHosts(d.host)
	fetch(t, s)
}

// TestRealAgent: ssh-agent holds the key, and loses it.
func TestRealAgent(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	dir, err := os.MkdirTemp("/tmp", "agent") // a short path: UNIX sockets' names are
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { agent.Process.Kill(); agent.Wait() }()
	for range 200 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	add := func(args ...string) {
		t.Helper()
		cmd := exec.Command("ssh-add", args...)
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v\n%s", err, out)
		}
	}
	auth := d.auth()
	auth.SSHKeyFile, auth.SSHAgentSocket = "", socket
	s := newSource(t, Options{URL: d.url(r.bare), Auth: auth})
	add("-q", d.client)
	fetch(t, s)
	add("-q", "-D")
	if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "unable to authenticate") {
		t.Errorf("an empty agent: %v", err)
	}
	add("-q", d.client)
	fetch(t, s)
}
