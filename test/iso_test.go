package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestAnISOIsInTheDrive: a guest sees the images of CDs, one a file of the host and one a volume that somebody put into a pool, and
// neither is touched when the machine goes with all that is its own.
func TestAnISOIsInTheDrive(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	file, volume := filepath.Join(t.TempDir(), "one.iso"), filepath.Join(h.sandbox.PoolDir(), "two.iso")
	sizes := map[string]int64{file: 3 << 20, volume: 5 << 20}
	for path, size := range sizes {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doc := strings.NewReplacer(
		"{name: init, cdrom: {bus: scsi}}", "{name: init, cdrom: {bus: scsi}}, {name: one, cdrom: {bus: scsi}}, {name: two, cdrom: {bus: scsi}}",
		"volumes:\n", fmt.Sprintf("volumes:\n      - {name: one, iso: {path: %s}}\n      - {name: two, iso: {name: two.iso}}\n", file),
	).Replace(h.guestDoc(image, "web", "deletionPolicy: Delete", "x", ""))
	h.allow(fmt.Sprintf("hostPaths: [%q, %q, %q], pools: [default, default/two.iso]", h.sandbox.PoolDir(), filepath.Dir(image.Kernel), filepath.Dir(file)))
	h.virsh("pool-refresh", "default")
	h.push("Run", doc, runDoc("web", ""))
	h.agent()
	h.boots("web", 1)
	report, _ := guest.Ready(h.read("web"))
	for path, size := range sizes {
		if !slices.ContainsFunc(report.Disks, func(d guest.Disk) bool { return strings.HasPrefix(d.Name, "sr") && d.Bytes == size }) {
			t.Errorf("the guest does not see %s: %+v", path, report.Disks)
		}
	}
	h.settled(h.push("Take all away"))
	for path, size := range sizes {
		if info, err := os.Stat(path); err != nil || info.Size() != size {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(h.sandbox.PoolDir(), "web.[ri]*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
