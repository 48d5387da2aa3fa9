package source

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
)

// TestWhatServersSay: what a server says for people is repeated in part, on one line, and without what a terminal obeys.
func TestWhatServersSay(t *testing.T) {
	evil := "\x1b]0;title\x07\x1b[2Jgo\r\nto \u202eelsewhere \xff" + strings.Repeat("long ", 10000)
	greeting := pktLine("version 2\n") + pktLine("fetch\n") + "0000"
	head := pktLine("1111111111111111111111111111111111111111 refs/heads/main\n") + "0000"
	for name, answer := range map[string]struct{ info, refs, pack string }{
		"instead of a greeting": {info: pktLine("ERR " + evil)},
		"instead of refs":       {greeting, pktLine("ERR " + evil), ""},
		"instead of a pack":     {greeting, head, pktLine("ERR " + evil)},
		"beside the pack":       {greeting, head, pktLine("packfile\n") + pktLine("\x03"+evil)},
		"no channel":            {greeting, head, pktLine("packfile\n") + pktLine("\x07"+evil)},
		"no line":               {greeting, pktLine(evil), ""},
		"version 0":             {info: pktLine("1111111111111111111111111111111111111111 refs/heads/main\x00side-band-64k\n") + pktLine(evil)},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				switch {
				case req.Method == http.MethodGet:
					w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
					io.WriteString(w, answer.info)
				case strings.Contains(string(body), "ls-refs"):
					io.WriteString(w, answer.refs)
				default:
					io.WriteString(w, answer.pack)
				}
			}))
			t.Cleanup(server.Close)
			_, err := newSource(t, Options{URL: server.URL + "/x.git"}).Fetch(context.Background())
			tame(t, err)
		})
	}
	t.Run("status", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.ReadAtLeast(c, make([]byte, 4096), 10)
				io.WriteString(c, "HTTP/1.1 418 \x1b[2J"+strings.Repeat("long ", 10000)+"\r\nContent-Length: 0\r\n\r\n")
				c.Close()
			}
		}()
		_, err = newSource(t, Options{URL: "http://" + l.Addr().String() + "/x.git"}).Fetch(context.Background())
		tame(t, err)
	})
}

func tame(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if len(err.Error()) > 1200 {
		t.Errorf("%d bytes: %.300q", len(err.Error()), err)
	}
	if at := strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 {
		t.Errorf("not for people: %.300q", err)
	}
}

// TestHungAgent: an ssh-agent that takes connections and says nothing hides no key file.
func TestHungAgent(t *testing.T) {
	r := newRepo(t)
	d := startSSHD(t)
	auth := d.auth()
	auth.SSHAgentSocket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", auth.SSHAgentSocket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := newSource(t, Options{URL: d.url(r.bare), Auth: auth})
	s.remote.(*streamRemote).kind = withAgentTimeout(s.remote.(*streamRemote).kind.(sshKind), 100*time.Millisecond)
	checkWhole(t, r, fetch(t, s), r.head())

	auth.SSHKeyFile = ""
	s = newSource(t, Options{URL: d.url(r.bare), Auth: auth})
	s.remote.(*streamRemote).kind = withAgentTimeout(s.remote.(*streamRemote).kind.(sshKind), 100*time.Millisecond)
	if _, err := s.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), auth.SSHAgentSocket) {
		t.Errorf("%v, want the socket named", err)
	}
}

func withAgentTimeout(k sshKind, d time.Duration) sshKind { k.agent = d; return k }

// TestHeldAgainInTime: what is held for want of a signature is looked at again, ever more rarely, since clocks go wrong.
func TestHeldAgainInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h held
		head := plumbing.NewHash("1111111111111111111111111111111111111111")
		tries := 0
		for begin := time.Now(); time.Since(begin) < 24*time.Hour; time.Sleep(5 * time.Second) {
			if !h.holds(head) {
				tries++
				h.hold(t.Context(), head, &UnverifiedError{Err: errors.New("the key is not valid yet")})
			}
			if since := time.Since(begin); since == 5*time.Minute && tries < 4 {
				t.Errorf("%d tries within %v", tries, since)
			}
		}
		if tries > 20 {
			t.Errorf("%d tries in a day", tries)
		}
	})
}

// TestKeyValidLater: a host that begins in the past takes a revision once its clock is right, with no change of anything else.
func TestKeyValidLater(t *testing.T) {
	r := newRepo(t)
	keys := newSigners(t, "alice")
	opt := Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", Verify: Verify{Mode: VerifyHead, SSHAllowedSigners: keys.allow("alice")}}
	commit := r.sign(keys, "alice", "Signed")
	s := newSource(t, opt)
	_, mark, err := s.opt.Verify.keys()
	if err != nil {
		t.Fatal(err)
	}
	s.held.hold(t.Context(), plumbing.NewHash(commit), &UnverifiedError{Commit: commit, Err: errors.New("the key is not valid yet"), keys: mark})
	if _, err := s.Fetch(t.Context()); !errors.Is(err, ErrUnverified) {
		t.Fatal(err)
	}
	s.held.until = s.held.until.Add(-minHeld)
	checkWhole(t, r, fetch(t, s), commit)
}
