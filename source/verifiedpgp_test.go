package source

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// gpgHome is a GnuPG of the test's own, and the options with which git signs with it.
type gpgHome struct {
	t   testing.TB
	dir string
}

func newGPG(t testing.TB) gpgHome {
	t.Helper()
	dir, err := os.MkdirTemp("", "gv") // its socket needs a short path
	if err != nil {
		t.Fatal(err)
	}
	g := gpgHome{t, dir}
	t.Cleanup(func() {
		if out, err := exec.Command("gpgconf", "--homedir", dir, "--kill", "all").CombinedOutput(); err != nil {
			t.Errorf("gpgconf: %v: %s", err, out)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("GNUPGHOME", dir)
	return g
}

func (g gpgHome) run(args ...string) string {
	g.t.Helper()
	c := exec.Command("gpg", append([]string{"--batch", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
	out, err := c.Output()
	if err != nil {
		g.t.Fatalf("gpg %v: %v", args, err)
	}
	return string(out)
}

// key makes a key that signs.
func (g gpgHome) key(name string) []string {
	g.t.Helper()
	g.run("--quick-gen-key", name+"@example.org", "ed25519", "sign", "never")
	return []string{"-c", "user.signingkey=" + name + "@example.org"}
}

// TestVerifyOpenPGP takes commits and merges of signed tags that gpg signed, and keys of both kinds beside each other.
func TestVerifyOpenPGP(t *testing.T) {
	r := newRepo(t)
	g := newGPG(t)
	alice, eve := g.key("alice"), g.key("eve")
	ssh := newSigners(t, "bob")
	ring := ssh.write("keyring.asc", g.run("--armor", "--export", "alice@example.org"))
	s := newSource(t, Options{URL: r.bare, Verify: Verify{Mode: VerifyAll, OpenPGPKeyring: ring, SSHAllowedSigners: ssh.allow("bob")}})
	commit := func(as []string) string {
		r.git(append(as, "commit", "-q", "-S", "--allow-empty", "-m", "Change")...)
		return r.push()
	}
	if one := commit(alice); fetch(t, s).Commit != one {
		t.Error("signed with OpenPGP")
	}
	if two := commit(ssh.as("bob")); fetch(t, s).Commit != two {
		t.Error("signed with SSH")
	}
	r.git("checkout", "-q", "-b", "side")
	commit(alice)
	r.git(append(alice, "tag", "-s", "-m", "Tag", "t1")...)
	r.git("checkout", "-q", "main")
	r.git(append(alice, "merge", "-q", "-S", "--no-ff", "--no-edit", "t1")...)
	if merge := r.push(); fetch(t, s).Commit != merge || !strings.Contains(r.git("cat-file", "commit", merge), "mergetag") {
		t.Error("a merge of a signed tag")
	}
	three := commit(eve)
	refuses(t, s, three, "it is signed by OpenPGP key ")
	ssh.write("keyring.asc", g.run("--armor", "--export"))
	if fetch(t, s).Commit != three {
		t.Error("its key is listed now")
	}
	ssh.write("keyring.asc", "nothing")
	refuses(t, s, three, "cannot read keyring "+ring)
}

// TestManyNewCommits: what one push may bring is bounded.
func TestManyNewCommits(t *testing.T) {
	r := newRepo(t)
	base := r.head()
	s := newSource(t, Options{URL: r.bare})
	grow := func(n int) {
		var in strings.Builder
		for i := range n {
			from := ""
			if i == 0 {
				from = "from refs/heads/main^0\n"
			}
			fmt.Fprintf(&in, "commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata 1\nx\n%s", time.Now().Unix()+int64(i), from)
		}
		r.fastImport(in.String())
	}
	list := func() (int, error) {
		snap := fetch(t, s)
		all, err := newCommits(context.Background(), s.store.objects, s.rec.reference(), plumbing.NewHash(base))
		if snap.Commit != s.rec.Commit {
			t.Fatal(snap.Commit)
		}
		return len(all), err
	}
	grow(maxVerified)
	if n, err := list(); n != maxVerified || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	grow(1)
	if n, err := list(); err == nil || !strings.Contains(err.Error(), "it brings 10001 commits at once, and at most 10000 are verified") {
		t.Errorf("%d, %v", n, err)
	}
}
