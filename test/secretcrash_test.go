package test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/test/proxy"
)

// chapped is a machine that names secrets of a disk and has a password.
func chapped(names ...string) string {
	var list, disks []string
	for n, name := range names {
		list = append(list, "{name: "+name+", secretRef: {file: secrets/"+name+".age}}")
		disks = append(disks, `<disk type='network' device='disk'><driver name='qemu' type='raw'/>`+
			`<source protocol='iscsi' name='iqn.2026-01.io.gitvirt:`+name+`/1'><host name='127.0.0.1' port='3260'/>`+
			`<auth username='u'><secret type='iscsi' usage='secret:`+name+`'/></auth></source><target dev='vd`+string(rune('k'+n))+`' bus='virtio'/></disk>`)
	}
	list = append(list, "{name: screen, secretRef: {file: secrets/screen.age}}")
	return machineDoc("web", "", "16Mi") + "      secrets: [" + strings.Join(list, ", ") + "]\n" +
		"      domainXML: \"<domain><devices>" + strings.Join(disks, "") + "<graphics type='vnc' port='-1' autoport='yes' passwd='secret:screen'/></devices></domain>\"\n"
}

// libvirtsSecrets are the values that libvirt keeps on its disk, by what they are for.
func (h *host) libvirtsSecrets() map[string]string {
	h.t.Helper()
	dir := filepath.Join(filepath.Dir(h.sandbox.ConfigDir()), "secrets")
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil {
		h.t.Fatal(err)
	}
	values := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			h.t.Fatal(err)
		}
		_, usage, _ := strings.Cut(string(text), "<target>")
		usage, _, _ = strings.Cut(usage, "</target>")
		encoded, _ := os.ReadFile(strings.TrimSuffix(file, ".xml") + ".base64")
		value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
		if err != nil {
			h.t.Fatal(err)
		}
		values[usage] = string(value)
	}
	return values
}

// TestKilledBesideSecrets kills the agent before and after each write of a plan that makes secrets, gives them other values,
// takes one away, and removes the machine. The next passes mend it; a secret that is somebody else's stays.
func TestKilledBesideSecrets(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	h.allow(remoteDisks)
	foreign := filepath.Join(t.TempDir(), "foreign.xml")
	if err := os.WriteFile(foreign, []byte("<secret ephemeral='no' private='no'><usage type='iscsi'><target>theirs</target></usage></secret>"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.virsh("secret-define", foreign)
	set := func(values ...string) {
		for n, name := range []string{"one", "two", "screen"} {
			h.seal(id.Recipient(), "secrets/"+name+".age", values[n]+"\n")
		}
	}
	const let = "\n\nGitvirt-Allow-Removals: 9\n"
	stopped := runDoc("web", "state: Stopped")
	states := []struct {
		name      string
		values    []string
		documents []string
		want      map[string]string
		password  string
	}{
		{"made", []string{"one-a", "two-a", "screen-a"}, []string{chapped("one", "two"), stopped},
			map[string]string{"gitvirt/web/one": "one-a", "gitvirt/web/two": "two-a"}, "screen-a"},
		{"changed", []string{"one-b", "two-a", "screen-b"}, []string{chapped("one", "two"), stopped},
			map[string]string{"gitvirt/web/one": "one-b", "gitvirt/web/two": "two-a"}, "screen-b"},
		{"one less", []string{"one-b", "two-a", "screen-b"}, []string{chapped("two"), stopped},
			map[string]string{"gitvirt/web/two": "two-a"}, "screen-b"},
		{"removed", []string{"one-b", "two-a", "screen-b"}, nil, map[string]string{}, ""},
	}
	kills := 0
	for n, to := range states {
		for at := 0; ; at++ {
			struck := false
			for _, when := range []proxy.Moment{proxy.Before, proxy.After} {
				from := states[(n+len(states)-1)%len(states)]
				set(from.values...)
				h.push("From"+let, from.documents...)
				h.converge()
				set(to.values...)
				h.push("To"+let, to.documents...)
				fault := h.cut(at, when, true)
				select {
				case <-fault.Fired():
					struck = true
					kills++
				default:
				}
				h.converge()
				got := h.libvirtsSecrets()
				if _, ok := got["theirs"]; !ok {
					t.Errorf("%s, killed at write %d: somebody else's secret is gone", to.name, at)
				}
				delete(got, "theirs")
				if len(got) != len(to.want) {
					t.Errorf("%s, killed at write %d: libvirt keeps %v, want %v", to.name, at, got, to.want)
				}
				for usage, value := range to.want {
					if got[usage] != value {
						t.Errorf("%s, killed at write %d: libvirt has %q for %s, want %q", to.name, at, got[usage], usage, value)
					}
				}
				if to.password != "" && !strings.Contains(h.virsh("dumpxml", "--inactive", "--security-info", "web"), "passwd='"+to.password+"'") {
					t.Errorf("%s, killed at write %d: the password is another one", to.name, at)
				}
				h.proxy.Reset()
				if code := h.once(); code != 0 || len(h.proxy.Writes()) != 0 {
					t.Errorf("%s, killed at write %d: another pass ended with %d and wrote %v", to.name, at, code, proxy.Names(h.proxy.Writes()))
				}
				if t.Failed() {
					return
				}
			}
			if !struck {
				break
			}
		}
	}
	if kills < 20 {
		t.Errorf("only %d kills: is the plan what it was?", kills)
	}
	// What libvirt has lost is put back.
	set(states[0].values...)
	h.push("Made"+let, states[0].documents...)
	h.converge()
	lines := strings.Split(h.virsh("secret-list"), "\n")
	n := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "gitvirt/web/one") })
	h.virsh("secret-undefine", strings.Fields(lines[n])[0])
	h.converge()
	if got := h.libvirtsSecrets(); got["gitvirt/web/one"] != "one-a" {
		t.Errorf("a lost secret is not put back: %v", got)
	}
	t.Logf("%d kills", kills)
}
