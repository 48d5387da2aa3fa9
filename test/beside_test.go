package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// noted waits until an instance's Synced condition gives a reason.
func (h *host) noted(name, reason string) {
	h.t.Helper()
	h.instance(name, "says "+reason, func(i status.Instance) bool {
		for _, c := range i.Status.Conditions {
			if c.Reason == reason {
				return true
			}
		}
		return false
	})
}

// TestPeopleBesideUs: what somebody does with virsh to things that no document declares stays; what is declared is put back,
// live where the config says so and never by a restart; and a machine at which somebody has a job under way is left alone.
func TestPeopleBesideUs(t *testing.T) {
	h := newHost(t)
	h.flags = []string{"--interval", "1s"} // much of what people do with virsh makes no event
	image := sandboxtest.Guest(t)
	d := liveDoc{rollout: "Live", guest: "192Mi", sockets: 1, disks: []string{"root:8Mi"}, nics: []string{"lan"}, seed: "#cloud-config\n"}
	first := h.push("Run web", d.docs(h, image, "web")...)
	h.agent()
	h.boots("web", 1)
	h.settled(first)
	before := h.instance("web", "runs", phase(plan.PhaseRunning)).Status.Domain.ID

	// Undeclared: a disk of their own, in the running machine and in the definition.
	own := filepath.Join(h.sandbox.PoolDir(), "own.raw")
	h.virsh("vol-create-as", "default", "own.raw", "1M", "--format", "raw")
	h.virsh("attach-disk", "web", own, "vdx", "--persistent", "--targetbus", "virtio")
	// Declared: the link, and its definition too.
	mac := domxml.Named(h.liveXML("web"), "interface", "lan").Child("mac").Attr("address")
	h.virsh("domif-setlink", "web", mac, "down")
	d.nics = []string{"lan:up"}
	second := h.push("Say that the link is up", d.docs(h, image, "web")...)
	h.settled(second)
	h.virsh("domif-setlink", "web", mac, "down", "--config")
	h.virsh("domif-setlink", "web", mac, "down")
	sandboxtest.Wait(t, patience, func() bool {
		for _, e := range []*domxml.Element{h.liveXML("web"), h.inactiveXML("web")} {
			if domxml.Named(e, "interface", "lan").Child("link").Attr("state") != "up" {
				return false
			}
		}
		return true
	}, "the link is up again")
	for what, e := range map[string]*domxml.Element{"the machine": h.liveXML("web"), "the definition": h.inactiveXML("web")} {
		if !strings.Contains(e.String(), "own.raw") {
			t.Errorf("%s has lost the disk that nobody declared", what)
		}
	}

	// A job: the disk is copied, and meanwhile nothing is done.
	h.virsh("blockcopy", "web", "vdx", filepath.Join(h.sandbox.PoolDir(), "copy.raw"), "--transient-job", "--format", "raw")
	h.noted("web", "JobRunning")
	d.title = "<title>Later</title>"
	third := h.push("A title", d.docs(h, image, "web")...)
	h.noted("web", "JobRunning")
	h.instance("web", "has nothing changed", func(i status.Instance) bool { return i.Status.Revision.Desired == third })
	if h.liveXML("web").Child("title") != nil || h.inactiveXML("web").Child("title") != nil {
		t.Error("it was changed while somebody copied its disk")
	}
	h.virsh("blockjob", "web", "vdx", "--abort")
	sandboxtest.Wait(t, patience, func() bool { return h.liveXML("web").Child("title") != nil }, "it is changed once the copy has ended")
	h.settled(third)
	// A backup that somebody reads at leisure.
	job := filepath.Join(t.TempDir(), "backup.xml")
	text := "<domainbackup mode='pull'><server transport='unix' socket='" + filepath.Join(h.sandbox.PoolDir(), "nbd") + "'/><disks><disk name='vda' backup='yes' type='file'>" +
		"<scratch file='" + filepath.Join(h.sandbox.PoolDir(), "scratch.qcow2") + "'/></disk></disks></domainbackup>"
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.virsh("backup-begin", "web", job)
	d.title = ""
	fourth := h.push("No title", d.docs(h, image, "web")...)
	h.instance("web", "is being backed up", func(i status.Instance) bool {
		return strings.Contains(condition(i, status.Synced).Message, "backup") && i.Status.Revision.Desired == fourth
	})
	if h.liveXML("web").Child("title") == nil {
		t.Error("it was changed while somebody backed it up")
	}
	h.virsh("domjobabort", "web")
	sandboxtest.Wait(t, patience, func() bool { return h.liveXML("web").Child("title") == nil }, "it is changed once the backup has ended")
	h.settled(fourth)

	if now := h.instance("web", "runs", phase(plan.PhaseRunning)).Status.Domain.ID; now != before {
		t.Error("it was restarted")
	}
}
