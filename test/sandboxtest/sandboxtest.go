// Package sandboxtest gives tests a private libvirtd that ends with the test.
package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
)

// Start starts a sandbox with a default pool, which the test's end closes. The options are changed by each of the
// functions. If the test failed, it shows the daemon's log.
func Start(t testing.TB, change ...func(*sandbox.Options)) *sandbox.Sandbox {
	t.Helper()
	opts := sandbox.Options{CapabilityCache: CapabilityCache(t), DefaultPool: true}
	for _, f := range change {
		f(&opts)
	}
	s, err := sandbox.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if log, err := s.Log(); t.Failed() && err == nil {
			t.Logf("the private libvirtd's log:\n%s", log)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// CapabilityCache returns the folder where this checkout's sandboxes share what libvirt knows of the installed QEMU.
func CapabilityCache(t testing.TB) string {
	t.Helper()
	return filepath.Join(CacheDir(t), "capabilities")
}

// CacheDir returns the checkout's folder for what is costly to make and safe to lose.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd() // a test runs in its package's folder
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("cannot find the module's root: no go.mod in any folder above the test's")
		}
		dir = filepath.Dir(dir)
	}
}

// Wait asks every few milliseconds until ok, and fails the test when that takes longer than the timeout. The last
// argument says what was waited for.
func Wait(t testing.TB, timeout time.Duration, ok func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", timeout, what)
		}
	}
}

// Guest returns the image of a guest that boots, and builds it if this checkout has none yet.
func Guest(t testing.TB) guest.Image {
	t.Helper()
	image, err := guest.Build(t.Context(), CacheDir(t))
	if err != nil {
		t.Fatal(err)
	}
	return image
}
