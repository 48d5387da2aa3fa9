package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshRemote runs git-upload-pack on the server, one connection for each poll.
type sshRemote struct {
	at   location
	ref  plumbing.ReferenceName
	auth Auth
	poll time.Duration
}

func newSSHRemote(at location, ref plumbing.ReferenceName, auth Auth) (*sshRemote, error) {
	if auth.SSHKnownHostsFile == "" {
		return nil, fmt.Errorf("no known_hosts file is given for %s: SSH servers are recognised by pinned keys only; write the server's keys (ssh-keyscan, compared with what its owner publishes) to a file and name it in auth.sshKnownHostsFile", at)
	}
	if auth.SSHKeyFile == "" && auth.SSHAgentSocket == "" {
		return nil, fmt.Errorf("no SSH key is given for %s: name a key file in auth.sshKeyFile, or run ssh-agent (SSH_AUTH_SOCK)", at)
	}
	if at.pass != "" {
		return nil, fmt.Errorf("the URL of %s holds a password, which SSH does not use here: name a key file in auth.sshKeyFile", at)
	}
	return &sshRemote{at, ref, auth, pollTimeout}, nil
}

func (r *sshRemote) close() {}

func (r *sshRemote) fetch(ctx context.Context, skip func(plumbing.Hash) bool, into *store, heads []plumbing.Hash) (head plumbing.Hash, err error) {
	poll, cancel := context.WithTimeoutCause(ctx, r.poll, fmt.Errorf("no answer within %v", r.poll))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(poll, "tcp", r.at.address())
	if err != nil {
		return head, cause(poll, err)
	}
	defer conn.Close()
	// Closing the connection is the only way to end a call that waits for the server.
	hangUp := func() { conn.Close() }
	defer context.AfterFunc(ctx, hangUp)()
	inTime := context.AfterFunc(poll, hangUp)
	defer inTime()

	run, err := r.start(conn)
	if err != nil {
		return head, cause(poll, err)
	}
	defer run.close()
	head, caps, err := readAdvertised(run.out, r.ref)
	if err != nil {
		return head, cause(poll, run.explain(err))
	}
	if !inTime() {
		return head, context.Cause(poll)
	}
	if skip(head) {
		run.in.Write(pktline.FlushPkt) // nothing wanted: the server ends in peace
		return head, nil
	}
	body, err := uploadRequest(caps, head, haves(into.objects, heads...))
	if err != nil {
		return head, err
	}
	if _, err := run.in.Write(body); err != nil {
		return head, cause(ctx, run.explain(err))
	}
	pack, err := readUpload(run.out)
	if err != nil {
		return head, cause(ctx, run.explain(err))
	}
	return head, cause(ctx, into.receive(ctx, pack))
}

// cause returns why the context ended instead of the error that its end brought about.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// uploadPack is git-upload-pack running on the server.
type uploadPack struct {
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	said    limitedBuffer
	done    []func()
}

func (r *sshRemote) start(conn net.Conn) (_ *uploadPack, err error) {
	run := &uploadPack{}
	defer func() {
		if err != nil {
			run.close()
		}
	}()
	config, done, err := r.config()
	run.done = append(run.done, done)
	if err != nil {
		return nil, err
	}
	c, chans, reqs, err := ssh.NewClientConn(conn, r.at.address(), config)
	if err != nil {
		return nil, r.explainHandshake(err)
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
	if err = run.session.Start("git-upload-pack " + quote(r.at.path)); err != nil {
		return nil, err
	}
	return run, nil
}

func (u *uploadPack) close() {
	if u.client != nil {
		u.client.Close()
		u.client.Wait()
	}
	for _, f := range u.done {
		f()
	}
}

// explain adds what the server wrote for people.
func (u *uploadPack) explain(err error) error {
	u.client.Close()
	u.session.Wait() // the server's last words have arrived
	if said := strings.TrimSpace(u.said.String()); said != "" {
		return fmt.Errorf("the server says: %s (%w)", said, err)
	}
	return err
}

// config reads the keys, which may have been replaced since the last time.
func (r *sshRemote) config() (*ssh.ClientConfig, func(), error) {
	done := func() {}
	hosts, err := knownhosts.NewDB(r.auth.SSHKnownHostsFile)
	if err != nil {
		return nil, done, fmt.Errorf("cannot read the known_hosts file: %w", err)
	}
	var methods []ssh.AuthMethod
	var signers []ssh.Signer
	if r.auth.SSHKeyFile != "" {
		signer, err := readKey(r.auth.SSHKeyFile)
		if err != nil {
			return nil, done, err
		}
		signers = append(signers, signer)
	}
	if r.auth.SSHAgentSocket != "" {
		sock, err := net.DialTimeout("unix", r.auth.SSHAgentSocket, 5*time.Second)
		if err != nil && len(signers) == 0 {
			return nil, done, fmt.Errorf("cannot reach ssh-agent: %w", err)
		}
		if err == nil {
			done = func() { sock.Close() }
			sock.SetDeadline(time.Now().Add(pollTimeout))
			// An agent that fails must not hide the key file.
			if more, err := agent.NewClient(sock).Signers(); err == nil {
				signers = append(signers, more...)
			}
		}
	}
	methods = append(methods, ssh.PublicKeys(signers...))
	user := r.at.user
	if user == "" {
		user = "git"
	}
	return &ssh.ClientConfig{
		User:            user,
		Auth:            methods,
		HostKeyCallback: hosts.HostKeyCallback(),
		// Only kinds of keys that are pinned: the server may have others.
		HostKeyAlgorithms: hosts.HostKeyAlgorithms(r.at.address()),
	}, done, nil
}

func readKey(path string) (ssh.Signer, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the SSH key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("cannot use SSH key %s: it has a passphrase; use one without, or ssh-agent", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use SSH key %s: %w", path, err)
	}
	return signer, nil
}

func (r *sshRemote) explainHandshake(err error) error {
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return fmt.Errorf("%w: %s has other keys for %s; if the server's owner confirms the new key, write it there", ErrHostKey, r.auth.SSHKnownHostsFile, r.at.address())
	case knownhosts.IsHostUnknown(err):
		return fmt.Errorf("%w: %s has no key for %s; write the key that the server's owner publishes there", ErrHostKey, r.auth.SSHKnownHostsFile, r.at.address())
	}
	return err
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
