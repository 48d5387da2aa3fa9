package test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

// TestConfigPaper is the life of a machine as KubeVirt's config paper tells it, each step a push: defined, started, stopped,
// edited while it runs, started again.
func TestConfigPaper(t *testing.T) {
	h := newHost(t)
	one := func(memory string) string { return machineDoc("web", "", memory, "root") }
	h.push("Define web", one("32Mi"))
	h.agent()

	// A config is created: nothing runs.
	var configs struct{ Items []status.Config }
	h.settled(h.git(h.clone, "rev-parse", "HEAD"))
	if _, err := h.get("/api/v1alpha1/configs", &configs); err != nil || len(configs.Items) != 1 || len(configs.Items[0].RunStates) != 0 {
		t.Fatalf("configs = %+v, %v", configs, err)
	}
	if out := h.virsh("list", "--all", "--name"); strings.TrimSpace(out) != "" {
		t.Fatalf("there are domains: %s", out)
	}

	// Its run state says Running: instance 1.
	started := h.push("Start web", one("32Mi"), runDoc("web", "state: Running"))
	first := h.instance("web", "runs", phase(plan.PhaseRunning))
	owner := status.Owner{APIVersion: "gitvirt.io/v1alpha1", Kind: "VirtualMachineInstanceConfig", Name: "web", Controller: true}
	if !slices.Contains(first.Metadata.OwnerReferences, owner) || first.Metadata.UID == "" ||
		first.Metadata.Annotations["gitvirt.io/revision"] != started || first.Metadata.Annotations["gitvirt.io/run"] != "1" {
		t.Errorf("instance 1 = %+v", first.Metadata)
	}

	// Stopped: it is gone, and the config is listed by the same call.
	h.push("Stop web", one("32Mi"), runDoc("web", "state: Stopped"))
	h.instance("web", "is stopped", phase(plan.PhaseStopped))
	if _, err := h.get("/api/v1alpha1/configs", &configs); err != nil || len(configs.Items) != 1 || configs.Items[0].RunStates[0].State != "Stopped" {
		t.Errorf("configs = %+v, %v", configs, err)
	}

	// Started, and edited while it runs: the live XML is untouched, and the change is listed.
	h.push("Start web", one("32Mi"), runDoc("web", "state: Running, run: 2"))
	second := h.instance("web", "runs again", phase(plan.PhaseRunning))
	live := h.virsh("dumpxml", "web")
	h.proxy.Reset()
	edited := h.push("Give web more memory", one("48Mi"), runDoc("web", "state: Running, run: 2"))
	h.settled(edited)
	staged := h.instance("web", "has a staged change", func(i status.Instance) bool { return len(i.Status.Staged) > 0 })
	want := []plan.Staged{{Change: plan.Change{Path: "domain.memory.guest", From: "32Mi", To: "48Mi"}, Effect: plan.EffectNextStart, Restart: true}}
	if !slices.Equal(staged.Status.Staged, want) {
		t.Errorf("staged = %+v", staged.Status.Staged)
	}
	if now := h.virsh("dumpxml", "web"); now != live {
		t.Errorf("the live XML changed from\n%s\nto\n%s", live, now)
	}
	if staged.Status.Revision.Running == edited || staged.Status.Revision.NextStart != edited || staged.Metadata.UID != second.Metadata.UID {
		t.Errorf("revisions = %+v, uid %s", staged.Status.Revision, staged.Metadata.UID)
	}
	// A domain is redefined in place.
	for _, c := range h.proxy.Calls() {
		if strings.HasPrefix(c.Procedure, "DomainUndefine") {
			t.Errorf("an edit called %s", c.Procedure)
		}
	}

	// Started again: another run, with the new spec.
	h.push("Restart web", one("48Mi"), runDoc("web", "state: Running, run: 3"))
	third := h.instance("web", "runs as run 3", func(i status.Instance) bool {
		return i.Status.Phase == plan.PhaseRunning && i.Metadata.Annotations["gitvirt.io/run"] == "3"
	})
	if third.Metadata.UID == second.Metadata.UID || !strings.Contains(h.virsh("dumpxml", "web"), "<memory unit='KiB'>49152</memory>") {
		t.Errorf("run 3 = %+v", third.Metadata)
	}

	// What an earlier revision made of it can still be asked.
	var old status.Instance
	if code, err := h.get("/api/v1alpha1/configs/web/runtime?revision="+started, &old); err != nil || code != http.StatusOK || old.Metadata.Annotations["gitvirt.io/revision"] != started {
		t.Errorf("runtime = %d, %v, %+v", code, err, old.Metadata)
	}
	if code, err := h.get("/api/v1alpha1/configs/web/runtime?revision=0123456789", nil); err != nil || code != http.StatusNotFound {
		t.Errorf("an unknown revision gives %d, %v", code, err)
	}
	h.push("Stop web", one("48Mi"), runDoc("web", "state: Stopped, run: 3"))
	h.instance("web", "is stopped", phase(plan.PhaseStopped))
}
