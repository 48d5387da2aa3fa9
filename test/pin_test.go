package test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/reconcile/status"
)

// TestPinnedRevision: a run state that names an earlier commit brings back the definition of that commit, to the byte, from a
// real repository; the machine that runs goes on, and what each of its definitions is from is shown.
func TestPinnedRevision(t *testing.T) {
	h := newHost(t)
	flavour := func(cores string) string {
		return "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineFlavour\nmetadata: {name: small}\nspec: {domain: {cpu: {cores: " + cores + "}}}\n"
	}
	web := func(memory string, disks ...string) string {
		return machineDoc("web", "flavour: small", memory, disks...)
	}
	first := h.push("First", web("16Mi", "root", "data"), flavour("1"), runDoc("web", "state: Paused"))
	h.agent()
	h.settled(first)
	xml := h.virsh("dumpxml", "--inactive", "web")
	second := h.push("Second", web("20Mi", "root", "more"), flavour("2"), runDoc("web", "state: Paused"))
	h.settled(second)
	if h.virsh("dumpxml", "--inactive", "web") == xml {
		t.Fatal("the second revision changed nothing")
	}
	third := h.push("Pin", web("20Mi", "root", "more"), flavour("2"), runDoc("web", "state: Paused, revision: '"+first[:9]+"'"))
	h.settled(third)
	if diff := cmp.Diff(xml, h.virsh("dumpxml", "--inactive", "web")); diff != "" {
		t.Errorf("the definition is not what it was (-first +pinned):\n%s", diff)
	}
	i := h.instance("web", "is pinned", func(i status.Instance) bool { return i.Status.Revision.Desired == first })
	if want := (status.Revisions{Desired: first, NextStart: first, Running: first}); i.Status.Revision != want || len(i.Status.Staged) > 0 {
		t.Errorf("revisions = %+v, want %+v; staged = %v", i.Status.Revision, want, i.Status.Staged)
	}
	out, err := h.command("plan").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing to do at revision "+third[:12]) {
		t.Errorf("plan: %v\n%s", err, out)
	}

	// Pinned to the second, it is staged; unpinned, it follows the newest.
	fourth := h.push("Pin to the second", web("24Mi", "root"), flavour("2"), runDoc("web", "state: Paused, revision: "+second))
	h.settled(fourth)
	h.instance("web", "is staged", func(i status.Instance) bool {
		return i.Status.Revision == status.Revisions{Desired: second, NextStart: second, Running: first} && len(i.Status.Staged) > 0
	})
	fifth := h.push("Follow", web("16Mi", "root", "data"), flavour("1"), runDoc("web", "state: Paused"))
	h.settled(fifth)
	h.instance("web", "follows", func(i status.Instance) bool { return i.Status.Revision.Desired == fifth && len(i.Status.Staged) == 0 })

	// A commit that there is not: it is left as it is, and nothing is removed.
	before := h.virsh("dumpxml", "--inactive", "web")
	h.push("Pin to nothing", web("24Mi", "root"), flavour("2"), runDoc("web", "state: Stopped, revision: '"+strings.Repeat("0", 40)+"'"))
	h.instance("web", "is held", func(i status.Instance) bool {
		return strings.Contains(i.Status.Conditions[3].Message, "2.yaml:4:") && strings.Contains(i.Status.Conditions[3].Message, "is not in the history of the branch")
	})
	if diff := cmp.Diff(before, h.virsh("dumpxml", "--inactive", "web")); diff != "" {
		t.Errorf("it was changed:\n%s", diff)
	}
}
