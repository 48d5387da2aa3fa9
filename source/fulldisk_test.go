package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// fullDiskEnv names the small file system, in the process that has one.
const fullDiskEnv = "GITVIRT_TEST_FULL_DISK"

// TestFullDisk fills the store's disk so that every write fails in its turn, of the first fetch, of a later one and of
// compacting. There is an error, the last revision stays, and the next fetch with room is whole. A file system of 4 MiB is
// mounted for it, where an ordinary user may: in a namespace of its own.
func TestFullDisk(t *testing.T) {
	dir := os.Getenv(fullDiskEnv)
	if dir == "" {
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
			`mount -t tmpfs -o size=4m none "$`+fullDiskEnv+`" && exec "$0" -test.run='^TestFullDisk$' -test.v`, os.Args[0])
		cmd.Env = append(os.Environ(), fullDiskEnv+"="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, kind := range []string{"path", "http"} {
		t.Run(kind, func(t *testing.T) {
			r := newRepo(t)
			r.importCommit("Some", "data.bin", noise(20_000))
			first := git(t, r.bare, "rev-parse", "main")
			opt := Options{URL: r.bare, Dir: filepath.Join(dir, kind)}
			if kind == "http" {
				opt.URL = serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git"
			}
			fillUp(t, dir, func() *Source {
				os.RemoveAll(opt.Dir)
				return newSource(t, opt)
			}, func(s *Source) { checkWhole(t, r, fetch(t, s), first) })

			prepared := filepath.Join(t.TempDir(), "prepared")
			if err := os.CopyFS(prepared, os.DirFS(opt.Dir)); err != nil {
				t.Fatal(err)
			}
			second := r.importCommit("More", "data2.bin", noise(15_000), "web.yaml", "changed\n")
			for _, limit := range []int{0, 1} { // or compacts right after
				opt.CompactAfter = limit
				fillUp(t, dir, func() *Source {
					os.RemoveAll(opt.Dir)
					if err := os.CopyFS(opt.Dir, os.DirFS(prepared)); err != nil {
						t.Fatal(err)
					}
					s := newSource(t, opt)
					if _, err := s.Load(context.Background()); err != nil {
						t.Fatal(err)
					}
					return s
				}, func(s *Source) {
					checkWhole(t, r, fetch(t, s), second)
					git(t, s.path(storeDir), "fsck", "--strict")
				})
			}
		})
	}
}

// fillUp fetches with ever more room until nothing is in the way.
func fillUp(t *testing.T, disk string, begin func() *Source, check func(*Source)) {
	t.Helper()
	filler := filepath.Join(disk, "filler")
	failed := 0
	for room := 0; room < 1<<20; room += 4096 {
		s := begin()
		last := s.Last()
		var free unix.Statfs_t
		if err := unix.Statfs(disk, &free); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filler, make([]byte, max(0, int(free.Bavail)*int(free.Bsize)-room)), 0o600); err != nil {
			t.Fatal(err)
		}
		snap, err := s.Fetch(context.Background())
		if err != nil && (snap != nil || s.Last() != last || !errors.Is(err, unix.ENOSPC)) {
			t.Fatalf("%d bytes free: a snapshot, or another error than that the disk is full: %v", room, err)
		}
		if last != nil {
			checkReadable(t, last)
		}
		// Another process finds what was in force, on the full disk too.
		s.Close()
		again := newSource(t, s.opt)
		if last != nil {
			if l, e := again.Load(context.Background()); e != nil || err != nil && l.Commit != last.Commit {
				t.Fatalf("%d bytes free: a new process loads %v, %v", room, l, e)
			}
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		check(again)
		again.Close()
		if err == nil {
			if failed < 3 {
				t.Fatalf("only %d fetches failed", failed)
			}
			t.Logf("%d fetches failed, and %d bytes were enough", failed, room)
			return
		}
		failed++
	}
	t.Fatal("a mebibyte was not enough")
}
