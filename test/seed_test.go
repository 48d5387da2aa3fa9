package test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// put writes a file of the clone.
func (h *host) put(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.clone, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func sha(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// TestAGuestReadsWhatItIsSetUpWith: a member of a group reads a NoCloud seed, a config drive and a configuration for Ignition,
// from files of the repository and from words of the document, each with what is its own in the places of placeholders.
func TestAGuestReadsWhatItIsSetUpWith(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	doc := strings.NewReplacer(
		`userData: "PLAIN"`, `userDataFrom: user-data, networkData: "# $(gitvirt.host)", metaData: "local-hostname: web$(gitvirt.ordinal).example.org\npublic-keys: [A]"`,
		"{name: init, cdrom: {bus: scsi}}", "{name: init, cdrom: {bus: scsi}}, {name: drive, cdrom: {bus: scsi}}",
		"volumes:\n", "volumes:\n      - {name: drive, cloudInitConfigDrive: {userData: 'I am $(gitvirt.name)', metaData: 'tags: [a]'}}\n      - {name: first, ignition: {configFrom: web.ign}}\n",
	).Replace(h.guestDoc(image, "web", "", "PLAIN", ""))
	h.put("user-data", "#cloud-config\nfqdn: $(gitvirt.hostname)\nbootcmd: [echo $(hostname) $$(gitvirt.name) {{ v1.local_hostname }}]\n")
	h.put("web.ign", `{"ignition": {"version": "3.3.0"}, "passwd": {"users": [{"name": "core$(gitvirt.ordinal)"}]}}`)
	h.push("A group", doc, "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineGroup\nmetadata: {name: webs}\nspec: {config: web, replicas: 1, hosts: [kvm1]}\n")
	h.agent()
	var seed guest.Seed
	sandboxtest.Wait(t, patience, func() (ok bool) { seed, ok = guest.SeedOf(h.read("web")); return ok }, "it has read its seed")
	uuid := strings.TrimSpace(h.virsh("domuuid", "webs-0"))
	want := guest.Seed{
		InstanceID: uuid, LocalHostname: "web0.example.org", NetworkDataSHA256: sha("# kvm1"),
		UserDataSHA256: sha("#cloud-config\nfqdn: web0.example.org\nbootcmd: [echo $(hostname) $(gitvirt.name) {{ v1.local_hostname }}]\n"),
		MetaDataSHA256: sha("instance-id: " + uuid + "\nlocal-hostname: web0.example.org\npublic-keys:\n- A\n"),
	}
	if seed != want {
		t.Errorf("the seed is\n%+v, want\n%+v", seed, want)
	}
	drive, ok := guest.DriveOf(h.read("web"))
	if !ok || drive.InstanceID != uuid || drive.LocalHostname != "webs-0" || drive.UserDataSHA256 != sha("I am webs-0") {
		t.Errorf("the config drive is %+v", drive)
	}
	want.MetaDataSHA256 = sha(fmt.Sprintf(`{"hostname":"webs-0","instance_id":%q,"local-hostname":"webs-0","name":"webs-0","tags":["a"],"uuid":%[1]q}`, uuid))
	if drive.MetaDataSHA256 != want.MetaDataSHA256 {
		t.Errorf("the config drive's meta data have the digest %s", drive.MetaDataSHA256)
	}
	config, ok := guest.IgnitionOf(h.read("web"))
	if !ok || config != sha(`{"ignition": {"version": "3.3.0"}, "passwd": {"users": [{"name": "core0"}]}}`) {
		t.Errorf("the configuration for Ignition has the digest %q", config)
	}
	files, err := filepath.Glob(filepath.Join(h.state, "cache", "ignition", "webs-0.first-*.ign"))
	if err != nil || len(files) != 1 || !private(files[0]) {
		t.Fatalf("the configurations for Ignition are %q, %v, or others can read them", files, err)
	}

	// An edit is another file, and the old one goes with the run that has it; all go with the machine.
	h.put("web.ign", `{"ignition": {"version": "3.4.0"}}`)
	group := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineGroup\nmetadata: {name: webs}\nspec: {config: web, replicas: 1, hosts: [kvm1]}\n"
	h.settled(h.push("Edit", doc, group))
	h.instance("webs-0", "waits with its configuration", func(i status.Instance) bool {
		return len(i.Status.Staged) == 1 && i.Status.Staged[0].Path == "volumes[first]" && i.Status.Staged[0].Effect == plan.EffectRebuild && !i.Status.Staged[0].Restart
	})
	h.push("Take it away", doc)
	sandboxtest.Wait(t, patience, func() bool {
		left, err := filepath.Glob(filepath.Join(h.state, "cache", "ignition", "*"))
		return err == nil && len(left) == 0
	}, "nothing of it is left")
}

// TestCloudInitPolicy: what an edit of the user data is to a guest, before it starts again, and after.
func TestCloudInitPolicy(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	doc := func(policy string) string {
		return strings.Replace(h.guestDoc(image, "web", "cloudInitPolicy: "+policy, "PLAIN", ""), `userData: "PLAIN"`, "userDataFrom: user-data", 1)
	}
	read := func(boots int) guest.Seed {
		t.Helper()
		h.boots("web", boots)
		var seed guest.Seed
		sandboxtest.Wait(t, patience, func() bool {
			text := h.read("web")
			text = text[:strings.LastIndexByte(text, '\n')+1] // the guest may be in the middle of a line
			var ok bool
			seed, ok = guest.SeedOf(text)
			return ok && strings.Count(text, "SEED instance-id") == boots
		}, "it has read its seed")
		return seed
	}
	staged := func(effect plan.Effect) func(status.Instance) bool {
		return func(i status.Instance) bool {
			return len(i.Status.Staged) == 1 && i.Status.Staged[0].Path == "volumes[init]" && i.Status.Staged[0].Effect == effect && !i.Status.Staged[0].Restart
		}
	}
	h.put("user-data", "one")
	h.push("One", doc("Once"), runDoc("web", ""))
	h.agent()
	first := read(1)
	if uuid := strings.TrimSpace(h.virsh("domuuid", "web")); first.InstanceID != uuid || first.UserDataSHA256 != sha("one") {
		t.Errorf("the first seed is %+v, and the machine %s", first, uuid)
	}

	h.put("user-data", "two")
	h.settled(h.push("Two", doc("Once"), runDoc("web", "")))
	i := h.instance("web", "waits for a rebuild", staged(plan.EffectRebuild))
	if !strings.Contains(i.Status.Staged[0].Why, "made anew") {
		t.Errorf("it does not say what that is: %+v", i.Status.Staged)
	}
	h.settled(h.push("Another run", doc("Once"), runDoc("web", "run: 2")))
	second := read(2)
	if second.InstanceID != first.InstanceID || second.UserDataSHA256 != sha("two") {
		t.Errorf("the second run reads %+v", second)
	}
	h.instance("web", "waits still: the guest is set up with the first", staged(plan.EffectRebuild))

	h.put("user-data", "three")
	h.settled(h.push("Three", doc("EveryRun"), runDoc("web", "run: 2")))
	h.instance("web", "waits for the next start", staged(plan.EffectNextStart))
	h.settled(h.push("A third run", doc("EveryRun"), runDoc("web", "run: 3")))
	third := read(3)
	if third.InstanceID == first.InstanceID || third.UserDataSHA256 != sha("three") {
		t.Errorf("the third run reads %+v", third)
	}
	h.instance("web", "waits for nothing", func(i status.Instance) bool { return len(i.Status.Staged) == 0 })
	h.settled(h.push("A fourth run", doc("EveryRun"), runDoc("web", "run: 4")))
	if fourth := read(4); fourth.InstanceID == third.InstanceID || fourth.UserDataSHA256 != sha("three") {
		t.Errorf("the fourth run reads %+v", fourth)
	}
}
