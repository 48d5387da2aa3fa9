package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// screened is a machine whose screen has a password from a file of the repository.
func screened(name, memory, file, more string) string {
	return machineDoc(name, "", memory) + "      secrets: [{name: screen, secretRef: {file: " + file + "}}]\n" +
		fmt.Sprintf("      domainXML: %q\n", "<domain>"+more+"<devices><graphics type='vnc' port='-1' autoport='yes' passwd='secret:screen'/></devices></domain>")
}

// password is that of a machine's screen in its definition; empty for none.
func (h *host) password(name string) string {
	m := regexp.MustCompile(`passwd='([^']*)'`).FindStringSubmatch(h.virsh("dumpxml", "--inactive", "--security-info", name))
	if m == nil {
		return ""
	}
	return m[1]
}

// TestSecretsOfEarlierRevisions: a machine that is pinned has the secret as it was then, and where a commit loses the file of a
// secret, the last good revision's stays in force, for an agent that begins then, too.
func TestSecretsOfEarlierRevisions(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	h.seal(id.Recipient(), "secrets/old.age", "first\n")
	first := h.push("First", screened("web", "16Mi", "secrets/old.age", ""), runDoc("web", "state: Stopped"))
	h.converge()
	if got := h.password("web"); got != "first" {
		t.Fatalf("the password is %q", got)
	}
	if err := os.Remove(filepath.Join(h.clone, "secrets/old.age")); err != nil {
		t.Fatal(err)
	}
	h.seal(id.Recipient(), "secrets/new.age", "second\n")
	second := screened("web", "20Mi", "secrets/new.age", "")
	h.push("Second", second, runDoc("web", "state: Stopped"))
	h.converge()
	if got := h.password("web"); got != "second" {
		t.Errorf("the password is %q", got)
	}
	h.push("Pin", second, runDoc("web", "state: Stopped, revision: "+first))
	h.converge()
	if got := h.password("web"); got != "first" {
		t.Errorf("pinned to the first revision, the password is %q", got)
	}
	h.push("Follow", second, runDoc("web", "state: Stopped"))
	h.converge()

	if err := os.Remove(filepath.Join(h.clone, "secrets/new.age")); err != nil {
		t.Fatal(err)
	}
	h.push("Lose the secret", second, runDoc("web", "state: Stopped"))
	h.virsh("undefine", "web")
	if code := h.once(); code == 2 {
		t.Errorf("a pass ended with %d", code)
	}
	if got := h.password("web"); got != "second" {
		t.Errorf("as of the last good revision, the password is %q", got)
	}
}

// TestAnEncryptedVolumeIsAttached: its secret is there while it is, and gone with it.
func TestAnEncryptedVolumeIsAttached(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	h.seal(id.Recipient(), "secrets/luks.age", "passphrase\n")
	doc := `apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  rollout: Live
  template:
    spec:
      domain: {memory: {guest: 16Mi}, devices: {disks: [{name: root, disk: {bus: scsi}}]}}
      volumes: [{name: root, volume: {size: 1Mi}}]
`
	h.push("One", doc, runDoc("web", "state: Paused"))
	h.agent()
	h.instance("web", "is paused", phase(plan.PhasePaused))
	two := h.push("Attach", doc, runDoc("web", "state: Paused, attach: {disks: [{name: spare, disk: {bus: scsi}}], "+
		"volumes: [{name: spare, volume: {size: 4Mi, encryption: {secretRef: {file: secrets/luks.age}}}}]}"))
	h.settled(two)
	if live := h.virsh("dumpxml", "web"); !strings.Contains(live, "ua-spare") || !strings.Contains(live, "<encryption format='luks'") {
		t.Errorf("the volume is not plugged in:\n%s", live)
	}
	if known := h.virsh("secret-list"); !strings.Contains(known, "gitvirt/web/volumes/spare") {
		t.Errorf("libvirt does not have the secret:\n%s", known)
	}
	three := h.push("Detach", doc, runDoc("web", "state: Paused"))
	h.settled(three)
	if live := h.virsh("dumpxml", "web"); strings.Contains(live, "ua-spare") {
		t.Errorf("the volume is still there:\n%s", live)
	}
	sandboxtest.Wait(t, patience, func() bool { return !strings.Contains(h.virsh("secret-list"), "gitvirt/web") }, "the secret is gone")
}

// TestNoMachineHasAnothersSecrets: neither the name of a secret nor what stands for it gives one machine what is another's.
func TestNoMachineHasAnothersSecrets(t *testing.T) {
	h := newHost(t)
	id, dir := h.keyed()
	h.seal(id.Recipient(), "secrets/chap.age", "Canary-chap\n")
	h.seal(id.Recipient(), "secrets/screen.age", "CanScr\n")
	h.seal(id.Recipient(), "secrets/init.age", "#cloud-config\n# Canary-seed\n")
	h.allow(remoteDisks + ", images: [" + h.sandbox.PoolDir() + "], hostPaths: [" + h.sandbox.PoolDir() + "], pools: ['*', 'default/*.iso']")
	web := strings.Replace(chapped("chap"), "disks: []", "disks: [{name: init, cdrom: {bus: scsi}}]", 1)
	web = strings.Replace(web, "volumes: []", "volumes: [{name: init, cloudInitNoCloud: {secretRef: {file: secrets/init.age}}}]", 1)
	stopped := runDoc("web", "state: Stopped")
	h.push("One", web, stopped)
	h.converge()
	xml := h.virsh("dumpxml", "--inactive", "web")
	uuid := regexp.MustCompile(`<secret type='iscsi' uuid='([^']*)'`).FindStringSubmatch(xml)
	seed := regexp.MustCompile(`volume='(web\.init-[^']*)'`).FindStringSubmatch(xml)
	tokens := regexp.MustCompile(`hmac:[0-9a-f]{32}`).FindAllString(xml, -1)
	if uuid == nil || seed == nil || len(tokens) == 0 {
		t.Fatalf("web is not what it is to be:\n%s", xml)
	}
	h.agent()
	refused := func(rule string) func(status.Instance) bool {
		return func(i status.Instance) bool { return strings.Contains(fmt.Sprint(i.Status.Conditions), rule+": ") }
	}
	disk := func(secret string) string {
		return "<devices><disk type='network' device='disk'><driver name='qemu' type='raw'/><source protocol='iscsi' name='iqn.2026-01.io.gitvirt:chap/1'>" +
			"<host name='127.0.0.1'/><auth username='u'><secret type='iscsi' " + secret + "/></auth></source><target dev='vdz' bus='virtio'/></disk></devices>"
	}
	evil := func(n int, more string) []string {
		name := fmt.Sprintf("evil%d", n)
		return []string{machineDoc(name, "", "16Mi") + more, runDoc(name, "state: Stopped")}
	}
	says := func(xml string) string { return fmt.Sprintf("      domainXML: %q\n", "<domain>"+xml+"</domain>") }
	volume := func(v string) func(int) []string {
		return func(n int) []string {
			name := fmt.Sprintf("evil%d", n)
			return []string{strings.Replace(machineDoc(name, "", "16Mi", "root"), "volume: {size: 1Mi}", v, 1), runDoc(name, "state: Stopped")}
		}
	}
	path := filepath.Join(h.sandbox.PoolDir(), seed[1])
	for n, tt := range []struct {
		rule      string
		documents func(n int) []string
	}{
		{"libvirt-secret", func(n int) []string { return evil(n, says(disk("uuid='"+uuid[1]+"'"))) }},
		{"libvirt-secret", func(n int) []string { return evil(n, says(disk("usage='gitvirt/web/chap'"))) }},
		{"seed", func(n int) []string {
			return evil(n, says("<devices><disk type='volume' device='cdrom'><driver name='qemu' type='raw'/><source pool='default' volume='"+seed[1]+"'/><target dev='sdz' bus='scsi'/></disk></devices>"))
		}},
		{"seed", volume("hostDisk: {path: " + path + ", type: Disk}")},
		{"seed", volume("volume: {image: {path: " + path + ", format: raw}}")},
	} {
		h.push(tt.rule, append(tt.documents(n), web, stopped)...)
		h.instance(fmt.Sprintf("evil%d", n), "is refused by "+tt.rule, refused(tt.rule))
	}
	// What stands for a secret is seen in plans and records. In no place does it become the secret.
	said := ""
	for _, token := range tokens {
		said += ` passwd="` + token + `" passwd='` + token + `' &lt;graphics passwd='` + token + `'/&gt;`
	}
	evils := evil(9, says(`<title>`+said+`</title><sysinfo type='smbios'><system><entry name='serial'>`+said+`</entry></system></sysinfo><os><smbios mode='sysinfo'/></os>`))
	last := h.push("Tokens", append(evils, web, stopped)...)
	h.settled(last)
	got := h.virsh("dumpxml", "--inactive", "--security-info", "evil9")
	if strings.Contains(got, "Canary") || strings.Contains(got, "CanScr") || !strings.Contains(got, tokens[0]) {
		t.Errorf("a token gives the secret that it stands for:\n%s", got)
	}
	// A repository's link, which age files could be too, leads nowhere.
	if err := os.WriteFile(filepath.Join(dir, "theirs"), []byte("Canary-host"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "theirs"), filepath.Join(h.clone, "secrets/link.age")); err != nil {
		t.Fatal(err)
	}
	h.push("A link", append([]string{}, screened("evil11", "16Mi", "secrets/link.age", ""), runDoc("evil11", "state: Stopped"), web, stopped)...)
	h.instance("evil11", "is broken", func(i status.Instance) bool {
		return strings.Contains(fmt.Sprint(i.Status.Conditions), "there is no file secrets/link.age")
	})
}

// TestAMachineThatSaysAnothersUUID: libvirt finds domains and secrets by their UUIDs, and those of secrets come from the
// machine's. Whoever says another machine's UUID gets nothing of it, and the other one runs on as it was.
func TestAMachineThatSaysAnothersUUID(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	h.allow(remoteDisks)
	h.seal(id.Recipient(), "secrets/chap.age", "Canary-web\n")
	h.seal(id.Recipient(), "secrets/screen.age", "screen\n")
	web, stopped := chapped("chap"), runDoc("web", "state: Stopped")
	h.push("One", web, stopped)
	h.converge()
	before, known := h.virsh("dumpxml", "--inactive", "--security-info", "web"), h.libvirtsSecrets()
	if known["gitvirt/web/chap"] != "Canary-web" {
		t.Fatalf("libvirt keeps %v", known)
	}
	same := strings.TrimSpace(h.virsh("domuuid", "web"))
	evil := strings.NewReplacer("name: web", "name: evil", "memory: {guest: 16Mi}", "memory: {guest: 16Mi}, firmware: {uuid: "+same+"}",
		"secrets/chap.age", "secrets/evil.age").Replace(web)
	h.seal(id.Recipient(), "secrets/evil.age", "Evil\n")
	for _, state := range []string{"Stopped", "Paused", "Running"} {
		h.push(state, web, stopped, evil, runDoc("evil", "state: "+state))
		if code := h.once(); code == 0 {
			t.Errorf("%s: all is in sync", state)
		}
		if got := h.virsh("dumpxml", "--inactive", "--security-info", "web"); got != before {
			t.Errorf("%s: web is another one now:\n%s", state, got)
		}
		if got := h.libvirtsSecrets(); fmt.Sprint(got) != fmt.Sprint(known) {
			t.Errorf("%s: libvirt keeps %v, want %v", state, got, known)
		}
		if got := strings.Fields(h.virsh("list", "--all", "--name")); len(got) != 1 {
			t.Errorf("%s: there are the domains %v", state, got)
		}
		if got := strings.TrimSpace(h.virsh("domstate", "web")); got != "shut off" {
			t.Errorf("%s: web is %s", state, got)
		}
	}
	// The run state of another name, and the config of that one: the name is the machine's, and what it has is its own.
	h.push("A name that is there", web, stopped, evil, runDoc("web", "config: evil, state: Stopped"))
	if code := h.once(); code == 0 {
		t.Error("all is in sync with a name that is there twice")
	}
	if got := h.virsh("dumpxml", "--inactive", "--security-info", "web"); got != before {
		t.Errorf("web is another one now:\n%s", got)
	}
	h.push("Without", web, stopped)
	h.converge()
	if got := h.libvirtsSecrets(); fmt.Sprint(got) != fmt.Sprint(known) {
		t.Errorf("at the end libvirt keeps %v, want %v", got, known)
	}
}
