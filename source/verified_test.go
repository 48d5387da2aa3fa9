package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// signers make keys and sign with them.
type signers struct {
	t   testing.TB
	dir string
}

func newSigners(t testing.TB, names ...string) signers {
	t.Helper()
	s := signers{t, t.TempDir()}
	for _, name := range names {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", s.path(name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	return s
}

func (s signers) path(name string) string { return filepath.Join(s.dir, name) }

// allow writes a file of allowed signers.
func (s signers) allow(names ...string) string {
	s.t.Helper()
	text := "# who may sign\n"
	for _, name := range names {
		public, err := os.ReadFile(s.path(name + ".pub"))
		if err != nil {
			s.t.Fatal(err)
		}
		text += name + "@example.org " + string(public)
	}
	return s.write("signers", text)
}

func (s signers) write(name, text string) string {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

// as are the options with which git signs.
func (s signers) as(name string) []string {
	return []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + s.path(name)}
}

// overTwo runs a test with a repository on this machine and with one behind a server: how it is spoken to does not matter.
func overTwo(t *testing.T, test func(t *testing.T, r *repo, opt Options)) {
	overTransports(t, test, "path", "http")
}

// sign commits everything, signed, pushes it by force, and returns the commit.
func (r *repo) sign(s signers, name, message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git(append(s.as(name), "commit", "-q", "-S", "--allow-empty", "-m", message)...)
	return r.push()
}

// refuses wants a fetch to fail because of a commit, twice with the same words, and the snapshot to stay.
func refuses(t *testing.T, s *Source, commit, why string) {
	t.Helper()
	last := s.Last()
	var first string
	for range 2 {
		snap, err := s.Fetch(context.Background())
		var refused *UnverifiedError
		if !errors.As(err, &refused) || !errors.Is(err, ErrUnverified) || refused.Commit != commit || snap != nil {
			t.Fatalf("%v, %v; want %s refused", snap, err, commit)
		}
		if !strings.Contains(err.Error(), commit) || !strings.Contains(err.Error(), why) || first != "" && first != err.Error() {
			t.Fatalf("it says %q first and then %q, want %q", first, err, why)
		}
		first = err.Error()
	}
	if last != nil && s.Last() != last {
		t.Fatal("the revision in force went")
	}
}

func TestVerifyHead(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		ctx := context.Background()
		keys := newSigners(t, "alice", "bob", "eve")
		opt.Verify = Verify{Mode: VerifyHead, SSHAllowedSigners: keys.allow("alice", "bob")}
		s := newSource(t, opt)
		unsigned := r.head()
		refuses(t, s, unsigned, "is not verified: it is not signed")
		if s.Last() != nil {
			t.Fatal("it is in force")
		}
		r.write("web.yaml", "two\n")
		one := r.sign(keys, "alice", "One")
		first := fetch(t, s)
		checkWhole(t, r, first, one)

		r.write("web.yaml", "three\n")
		hidden := r.commit("Not signed\n\nGitvirt-Allow-Removals: 9")
		refuses(t, s, hidden, "it is not signed")
		loose := s.store.loose
		refuses(t, s, hidden, "it is not signed")
		if s.store.loose != loose {
			t.Error("what was refused was fetched again")
		}
		if _, err := s.At(ctx, hidden); !errors.Is(err, ErrUnverified) {
			t.Errorf("a pin to what was refused: %v", err)
		}
		checkReadable(t, first)
		r.write("web.yaml", "four\n")
		foreign := r.sign(keys, "eve", "Foreign")
		refuses(t, s, foreign, "which "+keys.path("signers")+" does not list")

		r.write("web.yaml", "five\n")
		two := r.sign(keys, "bob", "Two, which vouches for what came before")
		second := fetch(t, s)
		checkWhole(t, r, second, two)
		if second.Allowed != 9 || second.Forced {
			t.Errorf("allowed %d, forced %v", second.Allowed, second.Forced)
		}
		for _, old := range []string{unsigned, one, hidden, foreign, two} {
			if snap, err := s.At(ctx, old); err != nil || snap.Commit != old {
				t.Errorf("a pin to the history of what was verified: %v", err)
			}
		}

		// A rewritten branch: its old head was accepted, and may be pinned to.
		r.git("reset", "-q", "--hard", one)
		three := r.sign(keys, "alice", "Instead")
		if snap := fetch(t, s); snap.Commit != three || !snap.Forced {
			t.Errorf("rewritten: %+v", snap)
		}
		if _, err := s.At(ctx, two); err != nil {
			t.Errorf("a pin to what was accepted before: %v", err)
		}
		keys.allow("alice")
		if _, err := s.At(ctx, two); !errors.Is(err, ErrUnverified) {
			t.Errorf("a pin to what was accepted before, whose key is trusted no more: %v", err)
		}
		if _, err := s.At(ctx, unsigned); err != nil {
			t.Errorf("a pin to what is in the history still: %v", err)
		}
		r.git("reset", "-q", "--hard", unsigned)
		r.push()
		refuses(t, s, unsigned, "it is not signed")
	}, "path", "http", "http version 0", "ssh")
}

// TestKeyFiles: rotation needs no restart, and what cannot be read verifies nothing.
func TestKeyFiles(t *testing.T) {
	overTwo(t, func(t *testing.T, r *repo, opt Options) {
		ctx := context.Background()
		keys := newSigners(t, "alice", "bob")
		opt.Verify = Verify{Mode: VerifyHead, SSHAllowedSigners: keys.allow("alice"), SSHRevokedKeys: keys.write("revoked", "")}
		s := newSource(t, opt)
		r.sign(keys, "alice", "By alice")
		first := fetch(t, s)

		two := r.sign(keys, "bob", "By bob")
		refuses(t, s, two, "does not list")
		keys.write("signers", "alice\n")
		refuses(t, s, two, keys.path("signers")+":1: it has one field only")
		if err := os.Remove(keys.path("signers")); err != nil {
			t.Fatal(err)
		}
		refuses(t, s, two, "no such file")
		if s.Last() != first {
			t.Fatal("the last good revision went")
		}
		keys.allow("alice", "bob")
		second := fetch(t, s)
		checkWhole(t, r, second, two)

		// The key of what is in force is withdrawn: that is said, and the revision stays until a new process comes.
		public, err := os.ReadFile(keys.path("bob.pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys.write("revoked", string(public))
		refuses(t, s, two, "which "+keys.path("revoked")+" lists as revoked")
		s.Close()
		s = newSource(t, opt)
		if snap, err := s.Load(ctx); !errors.Is(err, ErrUnverified) {
			t.Fatalf("loaded %v, %v", snap, err)
		}
		refuses(t, s, two, "revoked")
		keys.write("revoked", "# nobody\n")
		if snap := fetch(t, s); snap.Commit != two {
			t.Errorf("the key is good again: %v", snap.Commit)
		}
		s.Close()

		keys.write("revoked", string(public))
		s = newSource(t, opt)
		refuses(t, s, two, "revoked")
		three := r.sign(keys, "alice", "By alice again")
		if snap := fetch(t, s); snap.Commit != three || snap.Forced {
			t.Errorf("%+v", snap)
		}
		s.Close()

		// Without verify an unsigned revision is taken; to set verify then is not to take it over.
		four := r.commit("Not signed")
		with := opt.Verify
		opt.Verify = Verify{}
		s = newSource(t, opt)
		if snap := fetch(t, s); snap.Commit != four {
			t.Fatal(snap.Commit)
		}
		s.Close()
		opt.Verify = with
		s = newSource(t, opt)
		if _, err := s.Load(ctx); !errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), four) {
			t.Errorf("loaded: %v", err)
		}
		refuses(t, s, four, "it is not signed")
	})
}

func TestVerifyAll(t *testing.T) {
	overTwo(t, func(t *testing.T, r *repo, opt Options) {
		keys := newSigners(t, "alice", "bob")
		opt.Verify = Verify{Mode: VerifyAll, SSHAllowedSigners: keys.allow("alice", "bob")}
		s := newSource(t, opt)
		first := r.sign(keys, "alice", "Where trust begins: the commit before is not signed")
		checkWhole(t, r, fetch(t, s), first)

		branch := func(from string, commits ...func()) {
			r.git("checkout", "-q", "-B", "side", from)
			for _, c := range commits {
				c()
			}
			r.git("checkout", "-q", "main")
		}
		signed := func() { r.git(append(keys.as("bob"), "commit", "-q", "-S", "--allow-empty", "-m", "Signed")...) }
		unsigned := func() { r.git("commit", "-q", "--allow-empty", "-m", "Not signed") }
		merge := func() string {
			r.git(append(keys.as("alice"), "merge", "-q", "-S", "--no-ff", "--no-edit", "side")...)
			return r.push()
		}
		branch(first, signed, unsigned, signed)
		hidden := r.git("rev-parse", "side~1")
		refuses(t, s, merge(), "with it comes commit "+hidden+": it is not signed")
		second := r.sign(keys, "alice", "A signature on top changes nothing")
		refuses(t, s, second, hidden)

		r.git("reset", "-q", "--hard", first)
		branch(first, signed, signed)
		third := merge()
		snap := fetch(t, s)
		checkWhole(t, r, snap, third)
		if snap.Forced {
			t.Error("it follows from the first")
		}

		// Rewritten: what the revision in force does not lead to must be signed.
		r.git("reset", "-q", "--hard", first)
		unsigned()
		signed()
		refuses(t, s, r.push(), "with it comes commit")
		r.git("reset", "-q", "--hard", first)
		signed()
		fourth := r.push()
		if snap := fetch(t, s); snap.Commit != fourth || !snap.Forced {
			t.Errorf("rewritten: %+v", snap)
		}
		r.git("reset", "-q", "--hard", first+"~1")
		refuses(t, s, r.push(), "it is not signed")
		r.git("reset", "-q", "--hard", first)
		if r.push(); fetch(t, s).Commit != first {
			t.Error("rewound")
		}

		// A new process goes on from what the former accepted.
		unsigned()
		signed()
		s.Close()
		s = newSource(t, opt)
		refuses(t, s, r.push(), "with it comes commit")
		if s.Last() == nil || s.Last().Commit != first {
			t.Errorf("in force: %v", s.Last())
		}
	})
}

// TestVerifyBrokenStore: a store that breaks is fetched again, and lets nothing in.
func TestVerifyBrokenStore(t *testing.T) {
	r := newRepo(t)
	keys := newSigners(t, "alice")
	opt := Options{URL: r.bare, Dir: t.TempDir(), Verify: Verify{Mode: VerifyAll, SSHAllowedSigners: keys.allow("alice")}}
	s := newSource(t, opt)
	one := r.sign(keys, "alice", "One")
	fetch(t, s)
	hidden := r.commit("Not signed")
	two := r.sign(keys, "alice", "Two")
	packs, err := filepath.Glob(filepath.Join(s.path(storeDir), "objects", "pack", "*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("%v, %v", packs, err)
	}
	for _, p := range packs {
		if err := os.Chmod(p, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(p, 100); err != nil {
			t.Fatal(err)
		}
	}
	refuses(t, s, two, hidden)
	checkReadable(t, s.Last()) // it was mended by the way
	s.Close()
	if err := os.RemoveAll(s.path(storeDir)); err != nil {
		t.Fatal(err)
	}
	// Which revision was in force is known beside the store too.
	s = newSource(t, opt)
	refuses(t, s, two, hidden)
	if s.Last() == nil || s.Last().Commit != one {
		t.Errorf("in force: %+v", s.Last())
	}
}

func TestVerifyOptions(t *testing.T) {
	for _, tt := range []struct {
		verify Verify
		tags   Tags
		says   string
	}{
		{Verify{Mode: "Some", SSHAllowedSigners: "x"}, Tags{}, "say Head or All"},
		{Verify{SSHAllowedSigners: "x"}, Tags{}, "say Head or All"},
		{Verify{Mode: VerifyHead}, Tags{}, "name a file"},
		{Verify{Mode: VerifyHead, OpenPGPKeyring: "x", SSHRevokedKeys: "y"}, Tags{}, "none does"},
		{Verify{}, Tags{Semver: "1.x"}, "ref.tagPattern is not"},
		{Verify{}, Tags{Pattern: "v["}, "is no pattern"},
		{Verify{}, Tags{Pattern: "v*", Semver: "new"}, "no range"},
	} {
		if _, err := New(Options{URL: "/x", Dir: "/y", Verify: tt.verify, Tags: tt.tags}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want %q", tt, err, tt.says)
		}
	}
}
