package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestPickTag(t *testing.T) {
	for _, tt := range []struct{ name, pattern, semver, tags, want string }{
		{"numbers are numbers", "v*", "", "v1.9 v1.10 v1.2", "v1.10"},
		{"days", "deploy-*", "", "deploy-2026-09-30 deploy-2026-10-01 v9", "deploy-2026-10-01"},
		{"leading zeros", "r*", "", "r9 r010 r0009", "r010"},
		{"long numbers", "r*", "", "r99999999999999999999999 r100000000000000000000000", "r100000000000000000000000"},
		{"one name", "stable", "", "stable stable2", "stable"},
		{"none", "v*", "", "w1", ""},
		{"no slash in a star", "v*", "", "v1 v2/x", "v1"},
		{"folders", "prod/v*", "", "v9 prod/v1 prod/v2", "prod/v2"},
		{"semver: in the range", "v*", ">=1.2 <2", "v1.1.9 v1.2.0 v1.10.0 v2.0.0", "v1.10.0"},
		{"semver: no pre-releases", "v*", ">=1.2 <2", "v1.2.0 v1.3.0-rc.1", "v1.2.0"},
		{"semver: pre-releases if asked for", "v*", ">=1.2-0 <2", "v1.2.0 v1.3.0-rc.2 v1.3.0-rc.10", "v1.3.0-rc.10"},
		{"semver: a release is above its candidates", "v*", ">=1.2-0", "v1.3.0-rc.1 v1.3.0", "v1.3.0"},
		{"semver: short versions", "v*", "1.x", "v1 v1.2 v1.2.1", "v1.2.1"},
		{"semver: no version", "*", "*", "latest v1.0.0 v1.0.0.0", "v1.0.0"},
		{"semver: with a prefix", "vms-v*", "^1.0", "vms-v1.1.0 vms-v1.0.0 v1.9.0", "vms-v1.1.0"},
		{"semver: with a prefix without v", "vms-*", "^1.0", "vms-1.1.0 vms-v1.2.0", "vms-v1.2.0"},
		{"semver: the same version twice", "*", "*", "1.0.0 v1.0.0", "v1.0.0"},
		{"semver: metadata does not order, names do", "v*", "*", "v1.0.0+2 v1.0.0+10", "v1.0.0+10"},
		{"names that git refuses", "v*", "", "v1 v9..9 v9.lock", "v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := newFollowed("main", Tags{Pattern: tt.pattern, Semver: tt.semver})
			if err != nil {
				t.Fatal(err)
			}
			refs := map[string]plumbing.Hash{"refs/heads/v99": {}, "HEAD": {}, "refs/tags/v1^{}": {}}
			for tag := range strings.FieldsSeq(tt.tags) {
				refs["refs/tags/"+tag] = plumbing.ComputeHash(plumbing.BlobObject, []byte(tag))
			}
			hash, err := f.pick(refs)
			if tt.want == "" {
				if !errors.Is(err, ErrNoTag) {
					t.Errorf("%s, %v", f.picked, err)
				}
				return
			}
			if err != nil || f.tag() != tt.want || hash != refs["refs/tags/"+tt.want] {
				t.Errorf("%s, %v; want %s", f.picked, err, tt.want)
			}
		})
	}
}

// TestFollowTags follows tags from release to release, and when one is moved or removed.
func TestFollowTags(t *testing.T) {
	overTransports(t, func(t *testing.T, r *repo, opt Options) {
		opt.Tags = Tags{Pattern: "v*", Semver: ">=1.2 <2"}
		opt.CompactAfter = 8
		s := newSource(t, opt)
		if _, err := s.Fetch(context.Background()); !errors.Is(err, ErrNoTag) {
			t.Fatalf("no tags yet: %v", err)
		}
		tag := func(name string, options ...string) string {
			r.git("add", "-A")
			r.git("commit", "-q", "--allow-empty", "-m", "For "+name)
			r.git(append(append([]string{"tag", "-f"}, options...), name)...)
			r.git("push", "-q", "--force", "origin", "refs/tags/"+name)
			return r.head()
		}
		expect := func(name, commit string, forced bool) {
			t.Helper()
			snap := fetch(t, s)
			checkWhole(t, r, snap, commit)
			if snap.Branch != "tags/"+name || snap.Forced != forced {
				t.Errorf("%s, forced %v; want %s, %v", snap.Branch, snap.Forced, name, forced)
			}
			if again := fetch(t, s); again != snap {
				t.Error("another snapshot though nothing changed")
			}
		}
		one := tag("v1.2.0", "-a", "-m", "Release")
		tag("v2.0.0")
		tag("w1.5.0")
		expect("v1.2.0", one, false)
		r.write("web.yaml", "ten\n")
		ten := tag("v1.10.0") // a lightweight one
		expect("v1.10.0", ten, false)
		for i := range 6 {
			r.write("web.yaml", strings.Repeat("x", i))
			r.git("commit", "-q", "-a", "-m", "Many objects")
		}
		eleven := tag("v1.11.0", "-a", "-m", "Release")
		expect("v1.11.0", eleven, false)
		if s.store.loose > 8 {
			t.Errorf("%d loose objects: it was not compacted", s.store.loose)
		}
		// A newer release of an older line does not follow from the one before, which is no rewriting.
		r.git("checkout", "-q", "--detach", one)
		r.write("line.yaml", "another\n")
		twelve := tag("v1.12.0", "-a", "-m", "Another line")
		expect("v1.12.0", twelve, false)
		r.write("line.yaml", "moved\n")
		moved := tag("v1.12.0", "-a", "-m", "Moved")
		expect("v1.12.0", moved, true)
		if _, err := s.At(context.Background(), eleven); err != nil {
			t.Errorf("a former release: %v", err)
		}
		s.Close()
		s = newSource(t, opt)
		if snap, err := s.Load(context.Background()); err != nil || snap.Branch != "tags/v1.12.0" || snap.Commit != moved {
			t.Errorf("loaded %+v, %v", snap, err)
		}
		git(t, r.bare, "pack-refs", "--all")
		r.git("push", "-q", "origin", ":refs/tags/v1.12.0")
		expect("v1.11.0", eleven, true)
		git(t, s.path(storeDir), "fsck", "--strict", "--connectivity-only")
		if got := git(t, s.path(storeDir), "rev-parse", "HEAD"); got != eleven {
			t.Errorf("the store's HEAD is %s", got)
		}
	}, "path", "http", "http version 0", "ssh", "git")
}

func TestVerifyTags(t *testing.T) {
	overTwo(t, func(t *testing.T, r *repo, opt Options) {
		keys := newSigners(t, "alice", "eve")
		opt.Tags = Tags{Pattern: "v*"}
		opt.CompactAfter = 2
		opt.Verify = Verify{Mode: VerifyHead, SSHAllowedSigners: keys.allow("alice")}
		s := newSource(t, opt)
		tag := func(by, name string) string {
			r.write("web.yaml", name)
			commit := r.commit("Not signed itself")
			r.git(append(keys.as(by), "tag", "-s", "-m", "Release", name)...)
			r.git("push", "-q", "--force", "origin", "refs/tags/"+name)
			return commit
		}
		one := tag("alice", "v1")
		checkWhole(t, r, fetch(t, s), one)

		two := tag("eve", "v2")
		refuses(t, s, two, "tag v2 (commit "+two+") is not verified: it is signed by SSH key SHA256:")
		r.git("tag", "v3")
		r.git("push", "-q", "origin", "v3")
		refuses(t, s, two, "lightweight tag")
		r.git("tag", "-a", "-m", "No signature", "v4")
		r.git("push", "-q", "origin", "v4")
		refuses(t, s, two, "it is not signed")
		six := tag("alice", "v6")
		checkWhole(t, r, fetch(t, s), six)
		// An old release under a new name.
		git(t, r.bare, "update-ref", "refs/tags/v6.1", r.git("rev-parse", "v1"))
		refuses(t, s, one, `it was signed as tag "v1", and not under the name that it has now`)
		git(t, r.bare, "update-ref", "-d", "refs/tags/v6.1")
		s.Close()

		// The tag's object is kept: what it stands for can be verified again, and by other keys.
		s = newSource(t, opt)
		if snap, err := s.Load(context.Background()); err != nil || snap.Commit != six {
			t.Fatalf("loaded: %v", err)
		}
		if _, err := s.At(context.Background(), one); err != nil {
			t.Errorf("a pin to the history: %v", err)
		}
		keys.allow("eve")
		refuses(t, s, six, "does not list")
		s.Close()

		keys.allow("alice")
		opt.Verify.Mode = VerifyAll
		s = newSource(t, opt)
		seven := tag("alice", "v7")
		refuses(t, s, seven, "with it comes commit")
		r.git("reset", "-q", "--hard", six)
		r.sign(keys, "alice", "Signed")
		r.git(append(keys.as("alice"), "tag", "-s", "-m", "Release", "v8")...)
		r.git("push", "-q", "origin", "v8")
		if snap := fetch(t, s); snap.Commit != r.head() {
			t.Errorf("%+v", snap)
		}
	})
}

func TestTagsHeld(t *testing.T) {
	r := newRepo(t)
	opt := Options{URL: r.bare, Dir: t.TempDir(), Tags: Tags{Pattern: "v*"}, ForcedPush: Hold}
	s := newSource(t, opt)
	tag := func(name string) string {
		commit := r.commit(name)
		r.git("tag", "-f", "-a", "-m", name, name)
		r.git("push", "-q", "--force", "origin", "refs/tags/"+name)
		return commit
	}
	tag("v1")
	fetch(t, s)
	r.git("checkout", "-q", "--orphan", "other")
	two := tag("v2")
	if snap := fetch(t, s); snap.Commit != two {
		t.Fatal("a new tag is held")
	}
	moved := tag("v2")
	for range 2 {
		_, err := s.Fetch(context.Background())
		var held *HeldError
		if !errors.As(err, &held) || held.Commit != moved || held.InForce != two {
			t.Fatalf("a moved tag: %v", err)
		}
	}
	if _, err := Accept(opt.Dir, moved); err != nil {
		t.Fatal(err)
	}
	if snap := fetch(t, s); snap.Commit != moved || !snap.Forced {
		t.Errorf("accepted: %+v", snap)
	}
}

// TestWatchTags: a new tag of a repository on this machine is noticed at once, in a folder of tags too.
func TestWatchTags(t *testing.T) {
	r := newRepo(t)
	s := newSource(t, Options{URL: r.bare, Tags: Tags{Pattern: "prod/v*"}})
	ctx, cancel := context.WithCancel(context.Background())
	news, ended := make(chan struct{}, 16), make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func() { news <- struct{}{} }) }()
	for _, name := range []string{"prod/v1", "prod/v2"} {
		for file := filepath.Join(r.bare, "refs"); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
		git(t, r.bare, "tag", "-a", "-m", name, name, "main")
		select {
		case <-news:
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatalf("%s was not noticed", name)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
