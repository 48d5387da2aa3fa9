package source

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func benchRepo(b *testing.B) *repo {
	r := newRepo(b)
	for i, path := range numbered("hosts/kvm%d/vm.yaml", 200) {
		r.write(path, fmt.Sprintf("name: vm%d\n", i))
	}
	r.commit("Many")
	return r
}

// benchKinds are the ways to reach the repository; git takes the same way, by the URL and the command that it uses for SSH.
var benchKinds = []struct {
	name  string
	reach func(b *testing.B, r *repo) (opt Options, env []string)
}{
	{"local", func(_ *testing.B, r *repo) (Options, []string) { return Options{URL: r.bare}, nil }},
	{"http", func(b *testing.B, r *repo) (Options, []string) {
		return Options{URL: serveHTTP(b, filepath.Dir(r.bare)) + "/repo.git"}, nil
	}},
	{"git", func(b *testing.B, r *repo) (Options, []string) {
		return Options{URL: "git://" + startDaemon(b, filepath.Dir(r.bare)) + "/repo.git"}, nil
	}},
	{"ssh", func(b *testing.B, r *repo) (Options, []string) {
		d := startSSHD(b, "AcceptEnv GIT_PROTOCOL")
		opt := Options{URL: d.url(r.bare), Auth: d.auth()}
		return opt, []string{"GIT_SSH_COMMAND=ssh -F none -i " + d.client + " -o UserKnownHostsFile=" + opt.Auth.SSHKnownHostsFile}
	}},
}

// overBenchKinds runs a benchmark over each of them, on a repository with 10,000 references.
func overBenchKinds(b *testing.B, run func(b *testing.B, r *repo, s *Source, url string)) {
	for _, kind := range benchKinds {
		b.Run(kind.name, func(b *testing.B) {
			r := benchRepo(b)
			manyRefs(b, r, 10_000)
			opt, env := kind.reach(b, r)
			for _, e := range env {
				name, value, _ := strings.Cut(e, "=")
				b.Setenv(name, value)
			}
			s := newSource(b, opt)
			fetch(b, s)
			run(b, r, s, opt.URL)
		})
	}
}

// BenchmarkUnchanged polls, and lets the git command ask the same, in turns.
func BenchmarkUnchanged(b *testing.B) {
	overBenchKinds(b, func(b *testing.B, r *repo, s *Source, url string) {
		var ours, floor time.Duration
		for b.Loop() {
			start := time.Now()
			fetch(b, s)
			ours += time.Since(start)
			start = time.Now()
			git(b, r.dir, "ls-remote", "-q", url, "refs/heads/main")
			floor += time.Since(start)
		}
		report(b, ours, floor)
	})
}

// BenchmarkOneCommit takes over one new commit, and lets the git command fetch the same into a clone, in turns.
func BenchmarkOneCommit(b *testing.B) {
	overBenchKinds(b, func(b *testing.B, r *repo, s *Source, url string) {
		clone := filepath.Join(b.TempDir(), "clone.git")
		git(b, r.dir, "clone", "-q", "--bare", "--single-branch", "--no-local", url, clone)
		var ours, floor time.Duration
		n := 0
		for b.Loop() {
			n++
			hash := r.importCommit("Change", "hosts/kvm7/vm.yaml", fmt.Sprintf("name: changed%d\n", n))
			start := time.Now()
			if snap := fetch(b, s); snap.Commit != hash {
				b.Fatalf("got %s, want %s", snap.Commit, hash)
			}
			ours += time.Since(start)
			start = time.Now()
			git(b, clone, "fetch", "-q", "origin", "+main:main")
			floor += time.Since(start)
		}
		report(b, ours, floor)
	})
}

// BenchmarkPush measures, in a watched local repository, from just before the branch moves to the snapshot, beside a
// fetch of the commit into a clone by the git command. That git update-ref is started in between counts against us.
func BenchmarkPush(b *testing.B) {
	r := benchRepo(b)
	s := newSource(b, Options{URL: r.bare})
	fetch(b, s)
	clone := filepath.Join(b.TempDir(), "clone.git")
	git(b, r.dir, "clone", "-q", "--bare", r.bare, clone)

	ctx, cancel := context.WithCancel(context.Background())
	type seen struct {
		at   time.Time
		snap *Snapshot
	}
	news, ended := make(chan seen, 1), make(chan error)
	go func() {
		ended <- s.Watch(ctx, func() {
			snap := fetch(b, s)
			news <- seen{time.Now(), snap}
		})
	}()
	time.Sleep(50 * time.Millisecond)
	var ours, floor time.Duration
	n := 0
	for b.Loop() {
		n++
		r.write("hosts/kvm7/vm.yaml", fmt.Sprintf("name: changed%d\n", n))
		r.git("add", "-A")
		r.git("commit", "-q", "-m", "Change")
		hash := r.head()
		r.git("push", "-q", "origin", "HEAD:refs/heads/staging") // the objects
		start := time.Now()
		git(b, r.bare, "update-ref", "refs/heads/main", hash)
		got := <-news
		if got.snap.Commit != hash {
			b.Fatalf("got %s, want %s", got.snap.Commit, hash)
		}
		ours += got.at.Sub(start)
		start = time.Now()
		git(b, clone, "fetch", "-q", "origin", "+main:main")
		floor += time.Since(start)
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	report(b, ours, floor)
}

// BenchmarkLarge takes over a commit that changes 1 of 100,000 documents, beside git fetch and git diff --name-only.
func BenchmarkLarge(b *testing.B) {
	r := newRepo(b)
	var files []string
	for host := range 1000 {
		for doc := range 100 {
			path := fmt.Sprintf("hosts/kvm%d/vm%d.yaml", host, doc)
			files = append(files, path, strings.Repeat("# "+path+"\n", 40))
		}
	}
	r.importCommit("Many", files...)
	for _, kind := range []string{"local", "http"} {
		b.Run(kind, func(b *testing.B) {
			url := r.bare
			if kind == "http" {
				url = serveHTTP(b, filepath.Dir(r.bare)) + "/repo.git"
			}
			s := newSource(b, Options{URL: url})
			start := time.Now()
			fetch(b, s)
			first := time.Since(start)
			clone := filepath.Join(b.TempDir(), "clone.git")
			start = time.Now()
			git(b, r.dir, "clone", "-q", "--bare", "--no-local", url, clone)
			firstFloor := time.Since(start)
			var ours, floor time.Duration
			n := 0
			for b.Loop() {
				n++
				hash := r.importCommit("Change", "hosts/kvm77/vm7.yaml", fmt.Sprintf("name: %d %s\n", n, time.Now()))
				start := time.Now()
				if snap := fetch(b, s); snap.Commit != hash || len(snap.Entries) != 100_004 {
					b.Fatalf("%s, %d files", snap.Commit, len(snap.Entries))
				}
				ours += time.Since(start)
				start = time.Now()
				git(b, clone, "fetch", "-q", "origin", "+main:main")
				git(b, clone, "diff", "--name-only", hash+"^", hash)
				floor += time.Since(start)
			}
			report(b, ours, floor)
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(m.Sys)/(1<<20), "peak-MiB")
			b.ReportMetric(float64(first)/float64(firstFloor), "first-ratio")
			b.ReportMetric(first.Seconds(), "first-s")
		})
	}
}

func report(b *testing.B, ours, floor time.Duration) {
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "ours-µs/op")
	b.ReportMetric(float64(floor.Microseconds())/float64(b.N), "git-µs/op")
	b.ReportMetric(float64(ours)/float64(floor), "ratio")
	b.ReportMetric(0, "ns/op")
}
