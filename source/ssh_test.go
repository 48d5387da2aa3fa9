package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func TestSSHHostKey(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	other := newKey(t, filepath.Join(d.dir, "other"))
	for _, tt := range []struct {
		name string
		file func() string
		want error
	}{
		{"pinned", func() string { return d.knownHosts(d.host) }, nil},
		{"one of several", func() string { return d.knownHosts(other, d.host) }, nil},
		{"another key", func() string { return d.knownHosts(other) }, ErrHostKey},
		{"another host's", func() string { return d.knownHostsFor("127.0.0.1:1", d.host) }, ErrHostKey},
		{"none", func() string { return d.knownHosts() }, ErrHostKey},
		{"revoked", func() string {
			_, port, _ := net.SplitHostPort(d.address())
			line := "[127.0.0.1]:" + port + " " + string(ssh.MarshalAuthorizedKey(d.host))
			return d.write("known_hosts", "@revoked "+line+line)
		}, errAny},
		{"file missing", func() string { return filepath.Join(d.dir, "nothing") }, os.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			auth := d.auth()
			auth.SSHKnownHostsFile = tt.file()
			before, _ := os.ReadFile(auth.SSHKnownHostsFile)
			s := newSource(t, Options{URL: d.url(r.bare), Auth: auth})
			snap, err := s.Fetch(context.Background())
			switch {
			case tt.want == nil && err != nil, tt.want == errAny && err == nil, tt.want != nil && tt.want != errAny && !errors.Is(err, tt.want):
				t.Errorf("error %v, want %v", err, tt.want)
			case tt.want == nil:
				checkWhole(t, r, snap, r.head())
			}
			if after, _ := os.ReadFile(auth.SSHKnownHostsFile); string(after) != string(before) {
				t.Error("the known_hosts file was changed")
			}
		})
	}
}

var errAny = errors.New("any error")

// TestSSHHostKeyChanged: the server's key changes while we follow it. It is refused until its key is pinned.
func TestSSHHostKeyChanged(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	s := newSource(t, Options{URL: d.url(r.bare), Auth: d.auth()})
	last := fetch(t, s)
	d.stop()
	key := newKey(t, filepath.Join(d.dir, "host"))
	d.start()
	snap, err := s.Fetch(context.Background())
	if snap != nil || !errors.Is(err, ErrHostKey) {
		t.Fatalf("%v, %v", snap, err)
	}
	if s.Last() != last {
		t.Error("the last snapshot changed")
	}
	d.knownHosts(key)
	fetch(t, s)
}

// TestSSHKinds: the server has several keys, and the one that is pinned is not the one that it would rather show.
func TestSSHKinds(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	d.stop()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "")
	if err != nil {
		t.Fatal(err)
	}
	d.write("host2", string(pem.EncodeToMemory(block)))
	conf, _ := os.ReadFile(filepath.Join(d.dir, "conf"))
	d.write("conf", string(conf)+"HostKey "+d.dir+"/host2\n")
	d.start()
	pub, err := ssh.NewPublicKey(&priv.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []ssh.PublicKey{pub, d.host} {
		auth := d.auth()
		auth.SSHKnownHostsFile = d.knownHosts(key)
		fetch(t, newSource(t, Options{URL: d.url(r.bare), Auth: auth}))
	}
}

// TestSSHURLs: each way to write the same repository.
func TestSSHURLs(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	_, port, _ := net.SplitHostPort(d.address())
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	quoted := filepath.Join(filepath.Dir(r.bare), "it's! odd $(x).git")
	if err := os.CopyFS(quoted, os.DirFS(r.bare)); err != nil {
		t.Fatal(err)
	}
	home, err := filepath.Rel(me.HomeDir, r.bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"ssh://" + d.user + "@127.0.0.1:" + port + r.bare,
		d.user + "@[127.0.0.1:" + port + "]:" + r.bare,
		d.user + "@[127.0.0.1:" + port + "]:" + home,
		"ssh://" + d.user + "@127.0.0.1:" + port + strings.ReplaceAll(strings.ReplaceAll(quoted, " ", "%20"), "!", "%21"),
	} {
		snap := fetch(t, newSource(t, Options{URL: url, Auth: d.auth()}))
		checkWhole(t, r, snap, r.head())
	}
}

func TestSSHAuth(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	other := filepath.Join(d.dir, "other")
	newKey(t, other)
	priv, err := os.ReadFile(d.client)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ssh.ParseRawPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	lockedFile := d.write("locked", string(pem.EncodeToMemory(locked)))
	keyring := agent.NewKeyring()
	if err := keyring.Add(agent.AddedKey{PrivateKey: raw}); err != nil {
		t.Fatal(err)
	}
	good, empty := serveAgent(t, keyring), serveAgent(t, agent.NewKeyring())

	for _, tt := range []struct {
		name, key, agent, want string
	}{
		{"key file", d.client, "/nonexistent", ""},
		{"agent", "", good, ""},
		{"agent after a key that is not known there", other, good, ""},
		{"key file beside an empty agent", d.client, empty, ""},
		{"empty agent", "", empty, "(0 of ssh-agent)"},
		{"key that is not known there", other, "/nonexistent", "(the one in " + other + ")"},
		{"no agent at the socket", "", "/nonexistent", "cannot reach ssh-agent"},
		{"key with a passphrase", lockedFile, "/nonexistent", "it has a passphrase; name the file with it in auth.sshKeyPassphraseFile"},
		{"key that is none", d.write("none", "no key"), "/nonexistent", "cannot use SSH key"},
		{"key file missing", filepath.Join(d.dir, "nothing"), "/nonexistent", "cannot read the SSH key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			auth := Auth{SSHKeyFile: tt.key, SSHAgentSocket: tt.agent, SSHKnownHostsFile: d.knownHosts(d.host)}
			s := newSource(t, Options{URL: d.url(r.bare), Auth: auth})
			_, err := s.Fetch(context.Background())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			goroutinesSettle(t, before)
		})
	}

	t.Run("SSH_AUTH_SOCK", func(t *testing.T) {
		t.Setenv("SSH_AUTH_SOCK", good)
		fetch(t, newSource(t, Options{URL: d.url(r.bare), Auth: Auth{SSHKnownHostsFile: d.knownHosts(d.host)}}))
	})
	t.Run("no repository there", func(t *testing.T) {
		s := newSource(t, Options{URL: d.url("/nowhere/x.git"), Auth: d.auth()})
		_, err := s.Fetch(context.Background())
		if err == nil || !strings.Contains(err.Error(), "does not appear to be a git repository") {
			t.Errorf("the server's words are missing: %v", err)
		}
	})
}

// serveAgent is an ssh-agent; the path of its socket is returned.
func serveAgent(t *testing.T, keys agent.Agent) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "agent") // a short path: UNIX sockets' names are
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { agent.ServeAgent(keys, c); c.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); done.Wait(); os.RemoveAll(dir) })
	return path
}
