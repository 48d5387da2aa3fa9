package test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// condition is one of an instance's.
func condition(i status.Instance, kind string) status.Condition {
	for _, c := range i.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return status.Condition{}
}

// TestRollbackOfAGuest: a guest that boots and answers by its agent gets a revision whose guest goes down before it answers,
// then one whose guest never answers. Each time it goes back to the revision that it ran well on, though the agent is killed
// on the way.
func TestRollbackOfAGuest(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	web := func(memory, userData, words string, seconds int) string {
		doc := h.guestDoc(image, "web", "rollout: Restart\n  rollback: OnFailure", userData, words)
		doc = strings.Replace(doc, "guest: 128Mi", "guest: "+memory, 1)
		return strings.Replace(doc, "terminationGracePeriodSeconds: 60",
			fmt.Sprintf("terminationGracePeriodSeconds: 60\n      readinessProbe: {guestAgentPing: {}, periodSeconds: 1, failureThreshold: %d}", seconds), 1)
	}
	good := h.push("Good", web("128Mi", guest.Agent, "", 60), runDoc("web", ""))
	a := h.agent()
	isUp := func(revision string) func(status.Instance) bool {
		return func(i status.Instance) bool {
			return condition(i, status.Ready).Status == "True" && i.Status.Revision.Running == revision
		}
	}
	h.instance("web", "is up", isUp(good))
	h.settled(good)
	record := h.virsh("dumpxml", "--inactive", "web")
	if !strings.Contains(record, fmt.Sprintf("<gitvirt:good revision=%q", good)) {
		t.Errorf("what it runs well on is not recorded:\n%s", record)
	}

	bad := h.push("A guest that goes down", web("124Mi", "#cloud-config\n", guest.PoweroffAfter+"1", 60), runDoc("web", ""))
	back := h.instance("web", "is back", func(i status.Instance) bool {
		return isUp(good)(i) && condition(i, status.Blocked).Reason == "RolledBack"
	})
	message := condition(back, status.Blocked).Message
	for _, want := range []string{bad[:12], good[:12], "went down before it was ready (shutdown)"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message %q does not say %q", message, want)
		}
	}
	if back.Status.Revision.Desired != bad || back.Status.Revision.NextStart != good {
		t.Errorf("revisions = %+v", back.Status.Revision)
	}

	silent := h.push("A guest that never answers", web("120Mi", "#cloud-config\n", "", 8), runDoc("web", ""))
	h.instance("web", "runs the silent revision", func(i status.Instance) bool {
		return i.Status.Revision.Running == silent && condition(i, status.Ready).Reason == "NotReady"
	})
	a.kill()
	a = h.agent() // its clock begins anew
	h.instance("web", "is rolled back", func(i status.Instance) bool { return condition(i, status.Blocked).Reason == "RolledBack" })
	a.kill()
	h.agent()
	back = h.instance("web", "is back again", func(i status.Instance) bool {
		return isUp(good)(i) && condition(i, status.Blocked).Reason == "RolledBack"
	})
	if m := condition(back, status.Blocked).Message; !strings.Contains(m, "it is not up after 8s: its guest agent does not answer") {
		t.Errorf("the message is %q", m)
	}
	if n := guest.Boots(h.read("web")); n < 4 {
		t.Errorf("it has booted %d times", n)
	}
}
