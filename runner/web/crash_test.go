package web_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/runner/web"
)

// helperVariable has the test binary be a process for a test instead: URL, checksum, place, and how large files may be.
const helperVariable = "GITVIRT_TEST_HELPER"

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperVariable); helper != "" {
		if err := help(strings.Split(helper, " ")); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func help(args []string) error {
	if limit, err := strconv.ParseUint(args[3], 10, 64); err == nil && limit > 0 {
		// The signal for files that are too large is ignored, so that writing fails as on a full disk.
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	f := download.New(download.Options{Logger: slog.New(slog.DiscardHandler), Bandwidth: 32 * mib})
	defer f.Close()
	_, err := f.Fetch(context.Background(), web.Source{URL: args[0], Sum: args[1], Convert: image.Maker{}.FromVMDK}, args[2], "web")
	return err
}

func helper(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"="+strings.Join(args, " "))
	return c
}

// TestKilled has processes killed at any moment of a fetch, one after another: none leaves a file that is not whole, and the last
// makes it whole and leaves nothing else.
func TestKilled(t *testing.T) {
	t.Parallel()
	raw := append(noise(mib), disk(t, "-O", "raw")...)
	vmdk := disk(t, "-O", "vmdk", "-o", "subformat=streamOptimized")
	for name, content := range map[string][]byte{"plain": raw, "packed": run(t, raw, "gzip", "-c"), "vmdk": run(t, vmdk, "xz", "-c")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			at := s.put("/it", content, `"one"`)
			to := filepath.Join(t.TempDir(), "a", "disk")
			for n := range 25 {
				c := helper(at, digest(content), to, "0")
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(10+rand.IntN(30)+4*n) * time.Millisecond)
				_ = c.Process.Kill() // it may have ended
				_ = c.Wait()
				if _, err := os.Stat(to); err == nil {
					if format, err := image.Content(to); err != nil || format == "vmdk" {
						t.Fatalf("after kill %d it is %s, %v", n, format, err)
					}
					if name != "vmdk" && !bytes.Equal(read(t, to), raw) {
						t.Fatalf("after kill %d it is not whole", n)
					}
				}
			}
			if err := fetch(t, fetcher(t, download.Options{}), source(at, content), to); err != nil {
				t.Fatal(err)
			}
			if name != "vmdk" && !bytes.Equal(read(t, to), raw) {
				t.Error("at last it is not whole")
			}
			left := strings.Fields(names(t, filepath.Dir(to)))
			for _, file := range left {
				if file != "disk" && file != "disk.digest" && file != "disk.part" && !strings.HasPrefix(file, ".gitvirt-") {
					t.Errorf("there are %q", left)
				}
			}
		})
	}
}

// TestFullDisk: what cannot be written is not there, and for want of room nothing is thrown away that need not be fetched again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	raw := append(noise(100_000), disk(t, "-O", "raw")...)
	vmdk := disk(t, "-O", "vmdk", "-o", "subformat=streamOptimized")
	for name, test := range map[string]struct {
		content []byte
		limit   string
		err     string
	}{
		"as it is received":  {raw, "100000", "cannot write the file"},
		"as it is unpacked":  {run(t, raw, "gzip", "-c"), "150000", "cannot write the file"},
		"as it is converted": {vmdk, strconv.Itoa(len(vmdk) + 5000), "qemu-img convert"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			at := s.put("/it", test.content, `"one"`)
			to := filepath.Join(t.TempDir(), "a", "disk")
			out, err := helper(at, digest(test.content), to, test.limit).CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.err) {
				t.Errorf("it says %s, %v", out, err)
			}
			if got := names(t, filepath.Dir(to)); got != "disk.part disk.part.of" {
				t.Errorf("there are %s", got)
			}
			s.with(nil)
			if err := fetch(t, fetcher(t, download.Options{}), source(at, test.content), to); err != nil || names(t, filepath.Dir(to)) != "disk disk.digest" {
				t.Errorf("with room it gives %v, and there are %s", err, names(t, filepath.Dir(to)))
			}
			if sent := s.sent.Load(); sent >= int64(len(test.content)) {
				t.Errorf("%d of %d bytes were fetched again", sent, len(test.content))
			}
			err = fetch(t, fetcher(t, download.Options{Reserve: 1 << 60}), source(at, test.content), to+"2")
			if err == nil || errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "is full: it has") {
				t.Errorf("a full disk gives %v", err)
			}
		})
	}
}
