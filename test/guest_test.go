package test

import (
	"crypto/sha256"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// guestDoc is a config of a guest that boots.
func (h *host) guestDoc(image guest.Image, name, more, userData, words string) string {
	h.allowGuest(image.Kernel)
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  %s
  template:
    spec:
      terminationGracePeriodSeconds: 60
      domain: {memory: {guest: 128Mi}, devices: {disks: [{name: root}, {name: init, cdrom: {bus: scsi}}]}}
      volumes:
      - {name: root, volume: {size: 8Mi}}
      - {name: init, cloudInitNoCloud: {userData: %q}}
      domainXML: |
        <domain><os><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
        <devices><serial type='file'><source path='%s' append='on'/><target port='0'/></serial>
        <console type='file'><source path='%s' append='on'/><target type='serial' port='0'/></console></devices></domain>
`, name, more, userData, html.EscapeString(image.Kernel), html.EscapeString(image.Initrd), html.EscapeString(image.Cmdline+" "+words), h.console(name), h.console(name))
}

func (h *host) console(name string) string {
	return filepath.Join(h.sandbox.PoolDir(), name+".console")
}

func (h *host) read(name string) string {
	text, err := os.ReadFile(h.console(name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *host) boots(name string, times int) {
	h.t.Helper()
	sandboxtest.Wait(h.t, patience, func() bool {
		_, ok := guest.Ready(h.read(name))
		return ok && guest.Boots(h.read(name)) >= times
	}, fmt.Sprintf("%s has booted %d times", name, times))
}

// TestGuestBootsAndObeys: a guest that boots, gets its seed, shuts down when it is asked to, and comes back or not as its
// restart policy says; by events, for the repository is polled once an hour.
func TestGuestBootsAndObeys(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	userData := "#cloud-config\nhostname: web\n"
	web := h.guestDoc(image, "web", "restartPolicy: Always", userData, "")
	// The job powers off by itself.
	job := h.guestDoc(image, "job", "restartPolicy: OnFailure", "#cloud-config\n", guest.PoweroffAfter+"1")
	h.push("Run both", web, job, runDoc("web", ""), runDoc("job", ""))
	a := h.agent()
	h.boots("web", 1)
	var seed guest.Seed
	sandboxtest.Wait(t, patience, func() (ok bool) { seed, ok = guest.SeedOf(h.read("web")); return ok }, "web has read its seed")
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(userData))); seed.UserDataSHA256 != want || seed.LocalHostname != "web" {
		t.Errorf("seed = %+v, want the digest %s", seed, want)
	}
	h.instance("job", "has succeeded", phase(plan.PhaseSucceeded))

	// The decision outlives the agent.
	a.kill()
	h.agent()
	h.instance("job", "has succeeded still", phase(plan.PhaseSucceeded))
	if n := guest.Boots(h.read("job")); n != 1 {
		t.Errorf("the job has booted %d times", n)
	}

	// Somebody pulls the plug: it comes back, on the event.
	before := h.instance("web", "runs", phase(plan.PhaseRunning))
	h.virsh("destroy", "web")
	after := h.instance("web", "runs again", func(i status.Instance) bool {
		return i.Status.Phase == plan.PhaseRunning && i.Status.Domain.ID != before.Status.Domain.ID && i.Status.Restarts == 1
	})
	if after.Metadata.UID != before.Metadata.UID {
		t.Errorf("restarted as %s, it was %s", after.Metadata.UID, before.Metadata.UID)
	}
	h.boots("web", 2)

	// Stopped: the guest is asked, and goes.
	h.push("Stop web", web, job, runDoc("web", "state: Stopped"), runDoc("job", ""))
	h.instance("web", "is stopped", phase(plan.PhaseStopped))
	for _, c := range h.proxy.Calls() {
		if c.Procedure == "DomainDestroyFlags" || c.Procedure == "DomainDestroy" {
			t.Errorf("the plug was pulled")
		}
	}
}
