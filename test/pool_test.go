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

func poolDoc(name, path, more string) string {
	return fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: StoragePool\nmetadata: {name: %s}\nspec: {hosts: [kvm1], path: %q%s}\n", name, path, more)
}

// inPool is a machine with a disk in a pool.
func inPool(name, pool string) string {
	return strings.Replace(machineDoc(name, "", "16Mi", "root"), "volume: {", "volume: {pool: "+pool+", ", 1)
}

// TestPoolAndItsMachine makes a pool with its folder, keeps it while it is used, and never loses a file of it.
func TestPoolAndItsMachine(t *testing.T) {
	h := newHost(t)
	dir := filepath.Join(h.sandbox.Dir(), "more")
	web := []string{inPool("web", "more"), runDoc("web", "state: Paused")}
	pool := poolDoc("more", filepath.Join(dir, "images"), "")
	h.push("Pool", append([]string{pool}, web...)...)
	if code := h.once(); code != 1 || strings.Contains(h.virsh("pool-list", "--all", "--name"), "more") {
		t.Errorf("a pool was made in a folder that the policy does not allow: %d", code)
	}
	h.allow(fmt.Sprintf("hostPaths: [%q]", dir))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.converge()
	file := filepath.Join(dir, "images", "web.root.qcow2")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	if info := h.virsh("pool-info", "more"); !strings.Contains(info, "running") {
		t.Error(info)
	}

	// Somebody stops it: it is started again, and the machine's disk is there.
	h.virsh("pool-destroy", "more")
	h.virsh("pool-autostart", "--disable", "more")
	h.converge()
	if info := h.virsh("pool-info", "more"); !strings.Contains(info, "running") || strings.Contains(info, "no") && !strings.Contains(info, "Autostart:      yes") {
		t.Error(info)
	}

	// Another folder: not while the machine runs.
	moved := poolDoc("more", filepath.Join(dir, "other"), ", rollout: Restart")
	h.push("Move", append([]string{moved}, web...)...)
	h.converge()
	if xml := h.virsh("pool-dumpxml", "more"); !strings.Contains(xml, "more/images") {
		t.Errorf("the pool was moved below its machine: %s", xml)
	}
	if xml := h.virsh("pool-dumpxml", "--inactive", "more"); !strings.Contains(xml, "more/other") {
		t.Errorf("it is not staged: %s", xml)
	}
	h.push("Back", append([]string{pool}, web...)...)
	h.converge()

	// Its document goes: it stays while the machine is there, and its files stay in any case.
	h.push("No pool", web...)
	if code := h.once(); code != 1 || !strings.Contains(h.virsh("pool-list", "--name"), "more") {
		t.Errorf("a pool in use was removed: %d", code)
	}
	h.push("Nothing")
	for range 4 {
		h.once()
	}
	if strings.Contains(h.virsh("pool-list", "--all", "--name"), "more") {
		t.Error("the pool is there still")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file went with its pool: %v", err)
	}
}

// TestOthersResourcesAreLeftAlone: what gitvirt did not make is not changed, unless the document says so; and then it keeps its
// UUID, and is ours.
func TestOthersResourcesAreLeftAlone(t *testing.T) {
	h := newHost(t)
	h.allow(fmt.Sprintf("hostPaths: [%q]", h.sandbox.Dir()))
	before := h.virsh("pool-dumpxml", "default")
	id := h.virsh("pool-uuid", "default")
	h.push("Default", poolDoc("default", h.sandbox.PoolDir(), ", autostart: false"))
	if code := h.once(); code != 1 || h.virsh("pool-dumpxml", "default") != before {
		t.Errorf("another's pool was changed: %d", code)
	}
	h.push("Ours now", poolDoc("default", h.sandbox.PoolDir(), ", adopt: true"))
	h.converge()
	if h.virsh("pool-uuid", "default") != id {
		t.Error("it has another UUID")
	}
	// It has been taken over: adopt need not be said any more, and it goes with its document.
	h.push("Known", poolDoc("default", h.sandbox.PoolDir(), ""))
	h.converge()
	h.push("Nothing")
	h.converge()
	if list := h.virsh("pool-list", "--all", "--name"); strings.Contains(list, "default") {
		t.Errorf("left: %s", list)
	}
}

// TestRemovalsOfResourcesAreBudgeted, and shown.
func TestRemovalsOfResourcesAreBudgeted(t *testing.T) {
	h := newHost(t)
	h.allow(fmt.Sprintf("hostPaths: [%q]", h.sandbox.Dir()))
	var all []string
	for n := range 5 {
		name := fmt.Sprintf("p%d", n)
		all = append(all, poolDoc(name, filepath.Join(h.sandbox.Dir(), name), ""))
	}
	h.push("Five", all...)
	h.converge()
	h.agent()
	h.push("One", all[0])
	var list struct{ Items []status.Resource }
	sandboxtest.Wait(t, patience, func() bool {
		_, err := h.get("/api/v1alpha1/storagepools", &list)
		return err == nil && len(list.Items) == 5 && list.Items[4].Is(status.Blocked)
	}, "the removals are held")
	if got := strings.Count(h.virsh("pool-list", "--all", "--name"), "p"); got != 5 {
		t.Errorf("%d pools are left of 5", got)
	}
	commit := h.push("One, really\n\nGitvirt-Allow-Removals: 4\n", all[0])
	sandboxtest.Wait(t, patience, func() bool {
		var p plan.Plan
		_, err := h.get("/api/v1alpha1/plan", &p)
		return err == nil && p.Revision == commit && p.Empty()
	}, "they are gone")
	if got := strings.Fields(h.virsh("pool-list", "--all", "--name")); len(got) != 2 { // and the host's own
		t.Errorf("left: %v", got)
	}
}

// TestPoolsSecret: libvirt keeps what a pool logs in by, is given another one when that has changed, and forgets it with the pool.
func TestPoolsSecret(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	h.allow("storage: [san.example.org]")
	san := `apiVersion: gitvirt.io/v1alpha1
kind: StoragePool
metadata: {name: san}
spec:
  hosts: [kvm1]
  type: iscsi
  active: false
  autostart: false
  source:
    hosts: [{name: san.example.org}]
    devices: [iqn.2026-01.org.example:a]
    auth: {username: kvm1, secretRef: {name: chap}}
`
	h.seal(id.Recipient(), "chap.age", "one-two-three")
	h.push("SAN", san)
	h.converge()
	if list := h.virsh("secret-list"); !strings.Contains(list, "gitvirt-pool/san") {
		t.Errorf("libvirt does not keep the secret: %s", list)
	}
	if xml := h.virsh("pool-dumpxml", "san"); !strings.Contains(xml, "<secret uuid=") || strings.Contains(xml, "one-two-three") {
		t.Error(xml)
	}
	h.proxy.Reset()
	h.seal(id.Recipient(), "chap.age", "one-two-three") // the same, in other bytes
	h.push("Sealed anew", san)
	h.converge()
	if n := h.proxy.Counts()["SecretSetValue"]; n != 0 {
		t.Errorf("the same secret was given %d times again", n)
	}
	h.seal(id.Recipient(), "chap.age", "four-five-six")
	h.push("Another", san)
	h.converge()
	if n := h.proxy.Counts()["SecretSetValue"]; n != 1 {
		t.Errorf("the new secret was given %d times", n)
	}
	if strings.Contains(h.log.String(), "one-two-three") || strings.Contains(h.log.String(), "four-five-six") {
		t.Error("the secret is in the log")
	}
	h.push("Nothing")
	h.converge()
	if list := h.virsh("secret-list"); strings.Contains(list, "gitvirt-pool") {
		t.Errorf("libvirt keeps the secret still: %s", list)
	}
}
