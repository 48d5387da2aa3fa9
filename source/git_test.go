package source

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// repo is a real repository, written with the git command.
type repo struct {
	t    testing.TB
	dir  string // with a work tree
	bare string // where it pushes to
}

// newRepo makes a bare repository with one commit on main, and a clone to work in.
func newRepo(t testing.TB) *repo {
	t.Helper()
	root := t.TempDir()
	r := &repo{t, filepath.Join(root, "work"), filepath.Join(root, "repo.git")}
	git(t, root, "init", "-q", "--bare", "-b", "main", r.bare)
	git(t, r.bare, "config", "receive.denyDeleteCurrent", "ignore")
	git(t, root, "init", "-q", "-b", "main", r.dir)
	r.git("remote", "add", "origin", r.bare)
	r.write("web.yaml", "name: web\n", "hosts/kvm1/a.yaml", "name: a\n", "hosts/kvm2/b.yaml", "name: b\n", "README.md", "hello\n")
	r.commit("First")
	return r
}

func (r *repo) git(args ...string) string { r.t.Helper(); return git(r.t, r.dir, args...) }

// write writes pairs of path and content.
func (r *repo) write(pairs ...string) {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(r.dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// commit commits everything, pushes it by force, and returns the commit.
func (r *repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.push()
}

func (r *repo) push() string {
	r.t.Helper()
	r.git("push", "-q", "--force", "origin", "HEAD:main")
	return r.head()
}

func (r *repo) head() string { return r.git("rev-parse", "HEAD") }

// tree is what git says is in a commit, path by path with the blob's hash.
func (r *repo) tree(commit string) string {
	var lines []string
	for _, line := range strings.Split(git(r.t, r.bare, "ls-tree", "-r", commit), "\n") {
		meta, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "blob" && f[0] != "120000" {
			lines = append(lines, path+" "+f[2])
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// importCommit makes a commit of pairs of path and content on main, straight in the bare repository: work trees of
// thousands of files take seconds to write.
func (r *repo) importCommit(message string, pairs ...string) string {
	r.t.Helper()
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata %d\n%s\nfrom refs/heads/main^0\n",
		time.Now().Unix(), len(message), message)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&in, "M 644 inline %s\ndata %d\n%s\n", pairs[i], len(pairs[i+1]), pairs[i+1])
	}
	return r.fastImport(in.String())
}

// fastImport runs git fast-import in the bare repository and returns main's new head.
func (r *repo) fastImport(stream string) string {
	r.t.Helper()
	cmd := gitCommand(context.Background(), r.bare, "fast-import", "--quiet", "--force")
	cmd.Stdin = strings.NewReader(stream)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	return git(r.t, r.bare, "rev-parse", "main")
}

func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnv()
	return cmd
}

func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org")
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := gitCommand(context.Background(), dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimSpace(out.String())
}

// newSource makes a source with a store of its own, closed at the end.
func newSource(t testing.TB, opt Options) *Source {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	if opt.Timeout == 0 {
		opt.Timeout = time.Minute
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func fetch(t testing.TB, s *Source) *Snapshot {
	t.Helper()
	snap, err := s.Fetch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// listing is a snapshot as repo.tree writes a commit.
func listing(s *Snapshot) string {
	var lines []string
	for _, e := range s.Entries {
		lines = append(lines, e.Path+" "+e.Hash)
	}
	return strings.Join(lines, "\n")
}

// checkWhole fails unless the snapshot has the commit's files and all can be read.
func checkWhole(t testing.TB, r *repo, s *Snapshot, commit string) {
	t.Helper()
	if s.Commit != commit {
		t.Fatalf("commit %s, want %s", s.Commit, commit)
	}
	if got, want := listing(s), r.tree(commit); got != want {
		t.Fatalf("tree of %.8s:\n%s\nwant:\n%s", commit, got, want)
	}
	checkReadable(t, s)
}

func checkReadable(t testing.TB, s *Snapshot) {
	t.Helper()
	for _, e := range s.Entries {
		data, err := s.Read(e)
		if err != nil {
			t.Fatal(err)
		}
		if h := plumbing.ComputeHash(plumbing.BlobObject, data).String(); h != e.Hash || int64(len(data)) != e.Size {
			t.Fatalf("%s: read %d bytes with hash %s, want %d with %s", e.Path, len(data), h, e.Size, e.Hash)
		}
	}
}

func paths(s *Snapshot) string {
	var list []string
	for _, e := range s.Entries {
		list = append(list, e.Path)
	}
	return strings.Join(list, " ")
}

func numbered(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}
