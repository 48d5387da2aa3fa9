package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestRule10WhoWritesToTheRepositoryGetsMachinesNotTheHost, on a real libvirtd: each of these would give a guest something of
// its host. None comes to libvirt, the machine that ran goes on as it was, and so does the one beside it.
func TestRule10WhoWritesToTheRepositoryGetsMachinesNotTheHost(t *testing.T) {
	h := newHost(t)
	h.allow("")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A link in a place that is allowed later leads out of it.
	link := filepath.Join(h.sandbox.PoolDir(), "link.img")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	web, run := machineDoc("web", "", "16Mi", "root"), runDoc("web", "state: Paused")
	commit := h.push("Good", web, run)
	h.agent()
	h.settled(commit)
	before, pid := h.virsh("dumpxml", "--inactive", "web"), h.virsh("domid", "web")
	blocked := func(words ...string) func(status.Instance) bool {
		return func(i status.Instance) bool {
			for _, c := range i.Status.Conditions {
				if c.Type == status.Blocked && c.Status == "True" && c.Reason == "Policy" {
					for _, w := range words {
						if !strings.Contains(c.Message, w) {
							return false
						}
					}
					return true
				}
			}
			return false
		}
	}
	xml := func(text string) string {
		return web + fmt.Sprintf("      domainXML: %q\n", "<domain>"+text+"</domain>")
	}
	disk := func(volume string) string { return strings.Replace(web, "volume: {size: 1Mi}", volume, 1) }
	for n, tt := range []struct{ document, rule string }{
		{xml("<devices><emulator>/bin/sh</emulator></devices>"), "emulator"},
		{xml("<commandline xmlns='http://libvirt.org/schemas/domain/qemu/1.0'><arg value='-version'/></commandline>"), "element"},
		{xml("<devices><serial type='file'><source path='" + secret + "'/></serial></devices>"), "char-device-file"},
		{xml("<os><kernel>" + secret + "</kernel></os>"), "kernel"},
		{xml("<seclabel type='none'/>"), "seclabel"},
		{disk("hostDisk: {path: " + secret + ", type: Disk}"), "host-path"},
		{disk("hostDisk: {path: " + link + ", type: Disk}"), "host-path"},
		{disk("volume: {image: {path: " + secret + ", format: raw}}"), "image"},
		{disk("block: {path: /dev/null}"), "host-device"},
	} {
		other := fmt.Sprintf("other%d", n)
		h.push(tt.rule, tt.document, run, machineDoc(other, "", "16Mi"), runDoc(other, "state: Paused"))
		h.instance("web", "is refused by "+tt.rule, blocked(tt.rule+": ", "0.yaml:"))
		h.instance(other, "runs beside it", phase(plan.PhasePaused))
		if after := h.virsh("dumpxml", "--inactive", "web"); after != before || h.virsh("domid", "web") != pid {
			t.Fatalf("%s: what is refused changed the machine:\n%s", tt.rule, after)
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "of the host" {
		t.Errorf("the host's file is %q, %v", text, err)
	}
	// The agent reads its file again, and lets through what it allows; where a link leads to counts.
	h.push("A link", disk("hostDisk: {path: "+link+", type: Disk}"), run)
	h.allow(fmt.Sprintf("hostPaths: [%q]", h.sandbox.PoolDir()))
	h.instance("web", "is refused for where the link leads", blocked("host-path: ", "leads to", secret))
	h.allow(fmt.Sprintf("hostPaths: [%q, %q]", h.sandbox.PoolDir(), secret))
	sandboxtest.Wait(t, patience, func() bool { return strings.Contains(h.virsh("dumpxml", "--inactive", "web"), link) }, "the disk is defined")
}
