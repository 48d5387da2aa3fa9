package web_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/download"
)

// BenchmarkFetch fetches a file of 256 MiB, half of it holes, from a server on this host, verified and put on the disk; beside it the
// least that does the same by hand: cp --sparse=always, sha256sum and sync, in turns.
func BenchmarkFetch(b *testing.B) {
	content := append(make([]byte, 128*mib), noise(128*mib)...)
	dir := b.TempDir()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, content, 0o600); err != nil {
		b.Fatal(err)
	}
	s := newSite(b)
	src := source(s.put("/it", content, `"one"`), content)
	var ours, theirs time.Duration
	b.SetBytes(int64(len(content)))
	for n := range b.N {
		begun := time.Now()
		to := filepath.Join(dir, fmt.Sprint(n), "disk")
		if err := fetch(b, fetcher(b, download.Options{}), src, to); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begun)
		begun = time.Now()
		by := to + ".cp"
		if out, err := exec.Command("sh", "-c", `cp --sparse=always "$1" "$2" && sha256sum "$2" && sync "$2"`, "sh", from, by).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs += time.Since(begun)
		for _, name := range []string{to, by} {
			if err := os.Remove(name); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/fetch")
	b.ReportMetric(theirs.Seconds()/float64(b.N), "s/cp+sum")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}
