package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestPoolThatVanishes stops one pool, and takes its folder's file system away: its machine says so, nothing is made in its
// place, the other machine goes on, and with the pool the machine comes, with its disk as it was.
func TestPoolThatVanishes(t *testing.T) {
	h := newHost(t)
	dir := filepath.Join(t.TempDir(), "extra")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.virsh("pool-define-as", "extra", "dir", "--target", dir)
	h.virsh("pool-start", "extra")
	h.allow(`pools: ["*"]`)
	h.agent()
	web := volumeDoc("web", "pool: extra, size: 1Mi, format: raw")
	web[1] = strings.Replace(web[1], "Paused", "Stopped", 1)
	h.settled(h.push("Make it", web...))
	disk := filepath.Join(dir, "web.root.img")
	precious := bytes.Repeat([]byte("precious"), 1<<17)
	if err := os.WriteFile(disk, precious, 0o600); err != nil {
		t.Fatal(err)
	}
	fails := func(why string) {
		t.Helper()
		h.instance("web", "says why", func(i status.Instance) bool {
			return i.Status.Failure != nil && strings.Contains(i.Status.Failure.Message, why)
		})
		h.instance("db", "goes on", phase(plan.PhasePaused))
	}
	h.virsh("pool-destroy", "extra") // virsh's word for stopping it
	h.push("Run both", append(volumeDoc("web", "pool: extra, size: 1Mi, format: raw"), volumeDoc("db", "size: 1Mi")...)...)
	fails(`the storage pool "extra" is not active; start it`)
	h.virsh("pool-start", "extra")
	h.instance("web", "has its pool again", phase(plan.PhasePaused))

	stopped := append(append([]string{}, web...), volumeDoc("db", "size: 1Mi")...)
	h.settled(h.push("Stop it", stopped...))
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.push("Run it", append(volumeDoc("web", "pool: extra, size: 1Mi, format: raw"), volumeDoc("db", "size: 1Mi")...)...)
	fails("is empty, and not the one that volumes were made in before")
	if err := os.Remove(dir); err != nil { // only an empty one can be
		t.Fatal(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	h.instance("web", "has its folder again", phase(plan.PhasePaused))
	if got, err := os.ReadFile(disk); err != nil || !bytes.Equal(got, precious) {
		t.Errorf("its disk is another: %v", err)
	}
}

// TestKilledInACopy kills the agent in the midst of copying an image: nobody takes the half for a volume, and the next agent
// makes it whole and leaves nothing behind.
func TestKilledInACopy(t *testing.T) {
	h := newHost(t)
	image := filepath.Join(t.TempDir(), "image.img")
	if err := os.WriteFile(image, bytes.Repeat([]byte("an image"), 192<<17), 0o600); err != nil {
		t.Fatal(err)
	}
	h.allow(fmt.Sprintf("images: [%q]", filepath.Dir(image)))
	h.push("Run", volumeDoc("web", fmt.Sprintf("format: raw, image: {path: %s, format: raw}", image))...)
	agent := h.agent()
	disk := filepath.Join(h.sandbox.PoolDir(), "web.root.img")
	temporary := func() []string {
		left, err := filepath.Glob(filepath.Join(h.sandbox.PoolDir(), ".gitvirt-*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	sandboxtest.Wait(t, patience, func() bool {
		_, err := os.Stat(disk)
		return err == nil || len(temporary()) > 0
	}, "the copy has begun")
	agent.kill()
	if info, err := os.Stat(disk); err == nil && info.Size() != 192<<20 || err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of it has its name: %v, %v", info, err)
	}
	h.agent()
	h.instance("web", "runs", phase(plan.PhasePaused))
	want, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(disk); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the disk is not the image: %v", err)
	}
	if left := temporary(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
