package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// times is how much of what takes long is done: GITVIRT_TIMES as much as usually.
func times(t testing.TB) int {
	t.Helper()
	n := 1
	if s := os.Getenv("GITVIRT_TIMES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil || n < 1 {
			t.Fatalf("GITVIRT_TIMES=%s: %v", s, err)
		}
	}
	return n
}

// usage is the space that a folder takes on the disk, in bytes, and its number of files.
func usage(t testing.TB, dir string) (size int64, files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		size += (info.Size() + 4095) &^ 4095
		files++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size, files
}

// heapInUse is the memory that is in use, in bytes.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyRevisions follows a branch of 1,000 documents over many revisions, one by one. The store stays within a few times
// what git makes of the same history, its files within the limit at which it is compacted, and the memory within what the first
// revision took. GITVIRT_TIMES=67 makes that 10,050 revisions, with the limit as it is by default.
func TestManyRevisions(t *testing.T) {
	n := 150 * times(t)
	r := newRepo(t)
	r.branchOfMany(n)
	opt := Options{URL: serveHTTP(t, filepath.Dir(r.bare)) + "/repo.git", CompactAfter: 150}
	if times(t) > 1 {
		opt.CompactAfter = DefaultCompactAfter
	}
	s := newSource(t, opt)
	commits := strings.Fields(git(t, r.bare, "rev-list", "--reverse", "all"))
	follow := func(commit string) {
		t.Helper()
		if err := replaceFile(filepath.Join(r.bare, "refs/heads/main"), commit+"\n", false); err != nil {
			t.Fatal(err)
		}
		if snap := fetch(t, s); snap.Commit != commit || len(snap.Entries) != 1000 {
			t.Fatalf("%s with %d files, want %s", snap.Commit, len(snap.Entries), commit)
		}
	}
	follow(commits[0])
	base, begun := heapInUse(), time.Now()
	var mostSize, mostHeap int64
	var mostFiles, compacted int
	loose := 0
	for i, c := range commits[1:] {
		follow(c)
		if s.store.loose < loose {
			compacted++
		}
		loose = s.store.loose
		if i%50 == 0 || i == n-2 {
			size, files := usage(t, s.opt.Dir)
			mostSize, mostFiles, mostHeap = max(mostSize, size), max(mostFiles, files), max(mostHeap, heapInUse())
			if i%1000 == 0 {
				t.Logf("%5d revisions: %d KiB in %d files, heap %d KiB, compacted %d times, %v", i+2, size>>10, files, heapInUse()>>10, compacted, time.Since(begun))
			}
		}
	}
	clone := filepath.Join(t.TempDir(), "clone.git")
	git(t, r.dir, "clone", "-q", "--bare", "--no-local", r.bare, clone)
	floor, _ := usage(t, clone)
	t.Logf("%d revisions in %v, compacted %d times: at most %d KiB (git: %d KiB) in %d files; heap %d KiB, at first %d KiB",
		n, time.Since(begun), compacted, mostSize>>10, floor>>10, mostFiles, mostHeap>>10, base>>10)
	if limit := 4*floor + int64(4*opt.CompactAfter)*4096; mostSize > limit {
		t.Errorf("the store took %d bytes, want at most %d", mostSize, limit)
	}
	if limit := 4*opt.CompactAfter + 100; mostFiles > limit {
		t.Errorf("the store has %d files, want at most %d", mostFiles, limit)
	}
	if mostHeap > base+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", base, mostHeap)
	}
	if compacted == 0 {
		t.Error("the store was never compacted, so that this test shows little")
	}
	git(t, s.path(storeDir), "fsck", "--strict")
}

// branchOfMany makes a branch named all: a commit with 1,000 documents of 100 hosts, and further ones that each change
// one of them.
func (r *repo) branchOfMany(n int) {
	r.t.Helper()
	var in strings.Builder
	file := func(i, text int) {
		doc := fmt.Sprintf("name: vm%d\n# revision %d\n%s", i, text, strings.Repeat(fmt.Sprintf("key%d: value\n", i), 40))
		fmt.Fprintf(&in, "M 644 inline hosts/kvm%d/vm%d.yaml\ndata %d\n%s\n", i%100, i, len(doc), doc)
	}
	for i := range n {
		fmt.Fprintf(&in, "commit refs/heads/all\ncommitter C <c@example.org> %d +0000\ndata 6\nChange\n", 1_700_000_000+i)
		if i > 0 {
			file(i*7919%1000, i)
			continue
		}
		for doc := range 1000 {
			file(doc, 0)
		}
	}
	r.fastImport(in.String())
	git(r.t, r.bare, "repack", "-q", "-a", "-d")
}
