package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshKind runs git-upload-pack on an SSH server. What authenticates us and the server is read at each use.
type sshKind struct {
	at    location
	auth  Auth
	agent time.Duration // how long ssh-agent may take to list its keys
}

func newSSHRemote(at location, auth Auth) (sshKind, error) {
	switch {
	case auth.SSHKnownHostsFile == "":
		return sshKind{}, fmt.Errorf("no known_hosts file is given for %s: SSH servers are recognised by pinned keys only; write the server's keys (ssh-keyscan, compared with what its owner publishes) to a file and name it in auth.sshKnownHostsFile", at)
	case auth.SSHKeyFile == "" && auth.SSHAgentSocket == "":
		return sshKind{}, fmt.Errorf("no SSH key is given for %s: name a key file in auth.sshKeyFile, or run ssh-agent (SSH_AUTH_SOCK)", at)
	case auth.SSHKeyFile == "" && auth.SSHKeyPassphraseFile != "":
		return sshKind{}, fmt.Errorf("a passphrase is given for %s, and no key: name the key file in auth.sshKeyFile", at)
	case at.pass != "":
		return sshKind{}, fmt.Errorf("the URL of %s holds a password, which SSH does not use here: name a key file in auth.sshKeyFile", at)
	}
	return sshKind{at, auth, agentTimeout}, nil
}

// agentTimeout is sshKind's agent.
const agentTimeout = 5 * time.Second

// address is what an SSH connection is made to.
func (r sshKind) address() string {
	port := r.at.port
	if port == "" {
		port = "22"
	}
	return net.JoinHostPort(r.at.host, port)
}

// uploadPack is git-upload-pack running on the server.
type uploadPack struct {
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	said    limitedBuffer
	done    func()
}

// gitProtocol is the request for version 2. A server that does not take it from the environment (sshd_config(5), AcceptEnv) says
// nothing and speaks version 0.
func gitProtocol() []byte {
	return ssh.Marshal(struct{ Name, Value string }{"GIT_PROTOCOL", "version=2"})
}

func (r sshKind) start(conn net.Conn) (_ *stream, err error) {
	run := &uploadPack{done: func() {}}
	defer func() {
		if err != nil {
			run.close()
		}
	}()
	hosts, err := readHostKeys(r.auth.SSHKnownHostsFile, r.address())
	if err != nil {
		return nil, err
	}
	signers, done, err := r.signers()
	run.done = done
	if err != nil {
		return nil, err
	}
	user := r.at.user
	if user == "" {
		user = "git"
	}
	c, chans, reqs, err := ssh.NewClientConn(conn, r.address(), &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signers...)},
		HostKeyCallback: hosts.check, HostKeyAlgorithms: hosts.algorithms(),
	})
	if err != nil {
		if hosts.seen != nil && hosts.err == nil && strings.Contains(err.Error(), "unable to authenticate") {
			return nil, fmt.Errorf("the server takes none of our keys for the user %s (%s): add the public key there, as one that may read the repository: %w", user, r.shown(len(signers)), err)
		}
		return nil, hosts.explain(err)
	}
	run.client = ssh.NewClient(c, chans, reqs)
	if run.session, err = run.client.NewSession(); err != nil {
		return nil, err
	}
	if run.in, err = run.session.StdinPipe(); err != nil {
		return nil, err
	}
	if run.out, err = run.session.StdoutPipe(); err != nil {
		return nil, err
	}
	run.session.Stderr = &run.said
	if _, err = run.session.SendRequest("env", false, gitProtocol()); err != nil {
		return nil, err
	}
	if err = run.session.Start("git-upload-pack " + quote(r.at.path)); err != nil {
		return nil, err
	}
	return &stream{in: run.in, out: run.out, explain: run.explain, close: run.close}, nil
}

func (u *uploadPack) close() {
	if u.client != nil {
		u.client.Close()
		u.client.Wait()
	}
	u.done()
}

// explain adds what the server wrote for people.
func (u *uploadPack) explain(err error) error {
	u.client.Close()
	u.session.Wait() // the server's last words have arrived
	if said := spoken(u.said.String()); said != "" {
		return fmt.Errorf("the server says: %s (%w)", said, err)
	}
	return err
}

// shown says which keys the server was shown.
func (r sshKind) shown(n int) string {
	var list []string
	if r.auth.SSHKeyFile != "" {
		list, n = append(list, "the one in "+r.auth.SSHKeyFile), n-1
	}
	if n > 0 || len(list) == 0 {
		list = append(list, fmt.Sprintf("%d of ssh-agent", n))
	}
	return strings.Join(list, " and ")
}

// signers are the key file's and the agent's keys, until done is called.
func (r sshKind) signers() (signers []ssh.Signer, done func(), err error) {
	done = func() {}
	if r.auth.SSHKeyFile != "" {
		signer, err := readKey(r.auth.SSHKeyFile, r.auth.SSHKeyPassphraseFile)
		if err != nil {
			return nil, done, err
		}
		signers = append(signers, signer)
	}
	if r.auth.SSHAgentSocket == "" {
		return signers, done, nil
	}
	sock, err := net.DialTimeout("unix", r.auth.SSHAgentSocket, r.agent)
	if err != nil && len(signers) == 0 {
		return nil, done, fmt.Errorf("cannot reach ssh-agent: %w", err)
	}
	if err == nil {
		done = func() { sock.Close() }
		// An agent that fails, or hangs, must not hide the key file.
		sock.SetDeadline(time.Now().Add(r.agent))
		more, err := agent.NewClient(sock).Signers()
		if err != nil && len(signers) == 0 {
			return nil, done, fmt.Errorf("cannot read the keys of ssh-agent at %s: %w", r.auth.SSHAgentSocket, err)
		}
		if err == nil {
			signers = append(signers, more...)
		}
		sock.SetDeadline(time.Now().Add(pollTimeout)) // some ask a person before they sign
	}
	return signers, done, nil
}

func readKey(path, passphraseFile string) (ssh.Signer, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the SSH key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		if passphraseFile == "" {
			return nil, fmt.Errorf("cannot use SSH key %s: it has a passphrase; name the file with it in auth.sshKeyPassphraseFile, or use ssh-agent", path)
		}
		passphrase, err := readSecret(passphraseFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the SSH key's passphrase: %w", err)
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase)); err != nil {
			return nil, fmt.Errorf("cannot use SSH key %s with the passphrase in %s: %w", path, passphraseFile, err)
		}
		return signer, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use SSH key %s: %w", path, err)
	}
	return signer, nil
}

// readSecret reads a file of one line.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(data), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", fmt.Errorf("%s does not hold one line", path)
	}
	return secret, nil
}

// quote makes one word of a path for the shell on the server, as git does.
func quote(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// limitedBuffer keeps the first words of what may be a long speech.
type limitedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:max(0, min(len(p), 1000-l.b.Len()))])
	return len(p), nil
}

func (l *limitedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
