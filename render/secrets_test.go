package render_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// keyring opens with one key, and has the host's files.
type keyring struct {
	id   *age.X25519Identity
	host map[string]string
}

func (k keyring) Open(file []byte) (secret.Value, error) {
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(file)), k.id)
	if err != nil {
		return secret.Value{}, errors.New("no key opens it")
	}
	plain, err := io.ReadAll(r)
	return secret.NewValue(plain), err
}

func (k keyring) Host(name string) (secret.Value, error) {
	text, ok := k.host[name]
	if !ok {
		return secret.Value{}, errors.New("there is no such file")
	}
	return secret.NewValue([]byte(text)), nil
}

func (k keyring) Token(v secret.Value) string { return secret.Token([]byte("key"), v.Bytes()) }
func (k keyring) Epoch() uint64               { return 0 }

func (k keyring) seal(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, k.id.Recipient())
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = errors.Join(w.Close(), a.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newKeyring(t *testing.T) keyring {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return keyring{id: id, host: map[string]string{"net.yaml": "# canary-net\n"}}
}

// completed completes the machine web of an archive's documents; what an archive holds in a file sealed/NAME is encrypted
// to NAME.
func (k keyring) completed(t *testing.T, archive string, open bool) (*render.Instance, []manifest.Problem) {
	t.Helper()
	texts := map[string][]byte{}
	var files []manifest.File
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if name, ok := strings.CutPrefix(f.Name, "sealed/"); ok {
			texts[name] = k.seal(t, string(f.Data))
			continue
		}
		texts[f.Name] = f.Data
		if manifest.IsDocumentFile(f.Name) {
			files = append(files, manifest.Read(f.Name, f.Data))
		}
	}
	set := manifest.Collect(files, func(path string) ([]byte, bool) { b, ok := texts[path]; return b, ok })
	if len(set.Problems) > 0 {
		return nil, set.Problems
	}
	o := render.Options{Fleet: "test", Revision: "0123abc"}
	if open {
		o.Secrets = k
	}
	placement := render.Place(set, "kvm1").Sealed(func(path string) ([]byte, bool) { b, ok := texts[path]; return b, ok })
	if m, ok := placement.Find("web"); ok {
		return placement.Of(m, o)
	}
	return placement.Unplaced("web", o)
}

const ourMachine = `-- team/web.yaml --
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  presets: [seeded]
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root}, {name: init, cdrom: {}}]}}
      volumes:
      - {name: root, volume: {size: 1Gi, encryption: {secretRef: {file: ../secrets/luks.age}}}}
      secrets:
      - {name: chap, secretRef: {file: ../secrets/chap.age}}
      - {name: rbd, secretRef: {file: ../secrets/rbd.age}}
      - {name: screen, secretRef: {file: ../secrets/all.age, key: screen}}
      - {name: tpm, secretRef: {file: ../secrets/all.age, key: tpm}}
      domainXML: |
        <domain><devices>
          <disk type='network'><auth username='u'><secret type='iscsi' usage='secret:chap'/></auth><source protocol='iscsi' name='i'/><target dev='vdy' bus='virtio'/></disk>
          <disk type='network'><auth username='u'><secret type='ceph' usage='secret:rbd'/></auth><source protocol='rbd' name='p/i'/><target dev='vdz' bus='virtio'/></disk>
          <tpm model='tpm-crb'><backend type='emulator' version='2.0'><encryption secret='secret:tpm'/></backend></tpm>
          <graphics type='vnc' passwd='secret:screen'/><graphics type='spice' passwd='said'/>
        </devices></domain>
-- presets/seeded.yaml --
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachinePreset
metadata: {name: seeded}
spec:
  volumes:
  - name: init
    cloudInitNoCloud: {secretRef: {name: web-init}, networkDataSecretRef: {hostFile: net.yaml}}
-- sealed/secrets/luks.age --
canary-luks
-- sealed/secrets/chap.age --
canary-chap
-- sealed/secrets/rbd.age --
Y2FuYXJ5LXJiZA==
-- sealed/secrets/all.age --
apiVersion: v1
kind: Secret
stringData: {screen: canary-s, tpm: canary-tpm}
-- sealed/presets/web-init.age --
apiVersion: v1
kind: Secret
metadata: {name: web-init}
data: {userdata: IyBjYW5hcnktdXNlcgo=}
`

func TestSecretsBecomeTokens(t *testing.T) {
	k := newKeyring(t)
	i, problems := k.completed(t, ourMachine, true)
	if i == nil {
		t.Fatal(problems)
	}
	token := func(text string) string { return k.Token(secret.NewValue([]byte(text))) }
	want := map[string]render.Secret{
		"chap": {Kind: "iscsi", Token: token("canary-chap")}, "rbd": {Kind: "ceph", Token: token("canary-rbd")},
		"tpm": {Kind: "vtpm", Token: token("canary-tpm")}, "volumes/root": {Kind: "volume", Token: token("canary-luks")},
	}
	xml := i.Domain.String()
	for _, s := range i.Secrets {
		if w := want[s.Name]; w.Kind != s.Kind || w.Token != s.Token || s.UUID == "" || strings.Count(xml, "'"+s.UUID+"'") != 1 {
			t.Errorf("%+v, want %+v, in\n%s", s, w, xml)
		}
		if s.Usage("web") != "gitvirt/web/"+s.Name {
			t.Errorf("its usage is %s", s.Usage("web"))
		}
	}
	if len(i.Secrets) != len(want) || strings.Contains(xml, "secret:") || strings.Contains(xml, "said") ||
		!strings.Contains(xml, "passwd='"+token("canary-s")+"'") || !strings.Contains(xml, "passwd='"+token("said")+"'") {
		t.Errorf("%d secrets, and\n%s", len(i.Secrets), xml)
	}
	n := slices.IndexFunc(i.Volumes, func(v render.Volume) bool { return v.Name == "init" })
	if seed := i.Volumes[n].Seed; string(seed["user-data"]) != "# canary-user\n" || string(seed["network-config"]) != "# canary-net\n" {
		t.Errorf("the seed is %q", map[string][]byte(seed))
	}
	shown := fmt.Sprintf("%+v %#v %+v %s", *i, i.Volumes, i.Public(), domxml.Redact(i.Domain))
	for _, v := range i.Volumes {
		shown += fmt.Sprintf("%+v", v)
	}
	if strings.Contains(shown, "canary") || strings.Contains(shown, "63616e617279") || strings.Contains(shown, "99 97 110 97") {
		t.Errorf("a secret is shown:\n%s", shown)
	}

	again, _ := k.completed(t, ourMachine, true) // encrypted anew
	if again.Digest != i.Digest || again.Volumes[n].File != i.Volumes[n].File {
		t.Error("the same secrets, encrypted anew, make another machine")
	}
	for _, old := range []string{"canary-luks", "canary-chap", "Y2FuYXJ5LXJiZA==", "screen: canary-s", "IyBjYW5hcnktdXNlcgo="} {
		changed := strings.NewReplacer("canary-luks", "x-luks", "canary-chap", "x-chap", "Y2FuYXJ5LXJiZA==", "eHh4eA==", "screen: canary-s", "screen: x", "IyBjYW5hcnktdXNlcgo=", "eHh4eA==").Replace(old)
		other, problems := k.completed(t, strings.Replace(ourMachine, old, changed, 1), true)
		if other == nil || other.Digest == i.Digest {
			t.Errorf("%s instead of %s is no change: %v", changed, old, problems)
		}
	}
	k.host["net.yaml"] = "# other\n"
	if other, _ := k.completed(t, ourMachine, true); other.Digest == i.Digest {
		t.Error("another file of the host is no change")
	}

	// Without the keys, the forms are checked, and there is something to show.
	sealed, problems := k.completed(t, ourMachine, false)
	if sealed == nil || len(sealed.Secrets) != len(want) {
		t.Fatalf("without keys: %v", problems)
	}
	stranger := newKeyring(t)
	stranger.host = nil
	files := strings.ReplaceAll(ourMachine, "sealed/", "")
	if _, problems := stranger.completed(t, files, true); len(problems) != 7 || !strings.Contains(fmt.Sprint(problems), "is not encrypted with age") || problems[0].Locked {
		t.Errorf("plain files: %v", problems)
	}
}

// TestKubeVirtsSecretRef takes KubeVirt's manifest as it is, with its Secret encrypted beside it.
func TestKubeVirtsSecretRef(t *testing.T) {
	i, problems := newKeyring(t).completed(t, `-- vms/vm.yaml --
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {disks: [{name: init, disk: {bus: virtio}}]}}
      volumes:
      - {name: init, cloudInitConfigDrive: {secretRef: {name: web-init}, networkDataSecretRef: {name: web-init}}}
-- sealed/vms/web-init.age --
apiVersion: v1
kind: Secret
metadata: {name: web-init}
stringData: {userdata: user, networkdata: network}
`, true)
	if i == nil {
		t.Fatal(problems)
	}
	if seed := i.Volumes[0].Seed; string(seed["openstack/latest/user_data"]) != "user" || string(seed["openstack/latest/network_data.json"]) != "network" {
		t.Errorf("the seed is %q", map[string][]byte(seed))
	}
}

func TestSecretProblems(t *testing.T) {
	k := newKeyring(t)
	k.host["two"], k.host["binary"] = "a\nb", "a\xff"
	spec := func(secrets, xml string) string {
		return "-- a/web.yaml --\napiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: web}\nspec: {template: {spec: {domain: {memory: {guest: 1Gi}},\n" +
			"  secrets: [" + secrets + "], domainXML: \"<domain><devices>" + xml + "</devices></domain>\"}}}\n-- sealed/a/good.age --\ntext\n-- a/plain.txt --\nhunter2\n"
	}
	const screen = "<graphics type='vnc' passwd='secret:s'/>"
	auth := func(kind string) string {
		return "<disk><auth username='u'><secret type='" + kind + "' usage='secret:s'/></auth></disk>"
	}
	for name, tt := range map[string]struct {
		archive string
		want    string
		locked  bool
	}{
		"missing":           {spec("{name: s, secretRef: {file: nowhere.age}}", screen), "there is no file a/nowhere.age in the repository", false},
		"a name's":          {spec("{name: s, secretRef: {name: nowhere}}", screen), "there is no file a/nowhere.age in the repository", false},
		"plain":             {spec("{name: s, secretRef: {file: plain.txt}}", screen), "a/plain.txt is not encrypted with age", false},
		"out":               {spec("{name: s, secretRef: {file: ../../x.age}}", screen), "file: leads out of the repository", false},
		"absolute":          {spec("{name: s, secretRef: {file: /etc/x.age}}", screen), "is an absolute path", false},
		"a path for a name": {spec("{name: s, secretRef: {name: ../x}}", screen), "is not the name of a Secret", false},
		"a host's out":      {spec("{name: s, secretRef: {hostFile: ../x}}", screen), "shortest form of a path below", false},
		"a host's absolute": {spec("{name: s, secretRef: {hostFile: /etc/shadow}}", screen), "is an absolute path", false},
		"nothing":           {spec("{name: s, secretRef: {}}", screen), "say one of file, hostFile, name", false},
		"no ref":            {spec("{name: s}", screen), "secretRef", false},
		"two":               {spec("{name: s, secretRef: {file: good.age, hostFile: x}}", screen), "file and hostFile", false},
		"twice":             {spec("{name: s, secretRef: {file: good.age}}, {name: s, secretRef: {file: good.age}}", screen), "duplicate secret", false},
		"undeclared":        {spec("", screen), "secrets has none of that name", false},
		"unused":            {spec("{name: s, secretRef: {file: good.age}}", ""), "nothing refers to it", false},
		"a wrong type":      {spec("{name: s, secretRef: {file: good.age}}", auth("tls")), "say iscsi or ceph", false},
		"a wrong place":     {spec("{name: s, secretRef: {file: good.age}}", "<x><secret usage='secret:s'/></x>"), "is in a <x>", false},
		"two uses":          {spec("{name: s, secretRef: {file: good.age}}", auth("iscsi")+screen), "declare it twice", false},
		"no key of Ceph's":  {spec("{name: s, secretRef: {hostFile: two}}", auth("ceph")), "no key of Ceph's", false},
		"no passphrase":     {spec("{name: s, secretRef: {hostFile: binary}}", "<disk><encryption format='luks'><secret type='passphrase' usage='secret:s'/></encryption></disk>"), "a passphrase is one, in UTF-8", false},
		"a record":          {strings.ReplaceAll(spec("{name: s, secretRef: {file: good.age}}", screen), "<domain>", "<domain><metadata><x:y xmlns:x='urn:x' passwd='secret:s'/></metadata>"), "<x:y> has a passwd", false},
		"no screen":         {strings.ReplaceAll(spec("{name: s, secretRef: {file: good.age}}", screen), "<domain>", "<domain><metadata><devices><graphics passwd='a'/></devices></metadata>"), "only <graphics> in <devices>", false},
		"two lines":         {spec("{name: s, secretRef: {hostFile: two}}", screen), "a password is one line", false},
		"not on the host":   {spec("{name: s, secretRef: {hostFile: nowhere}}", screen), "nowhere cannot be read by this host", true},
		"no keys":           {spec("{name: s, secretRef: {file: good.age, key: a}}", screen), "holds no Secret manifest", true},
	} {
		i, problems := k.completed(t, tt.archive, true)
		said := fmt.Sprint(problems)
		if i != nil || !strings.Contains(said, tt.want) || len(problems) == 0 || problems[0].Locked != tt.locked {
			t.Errorf("%s: %v, want %q", name, problems, tt.want)
		}
		if strings.Contains(said, "hunter2") {
			t.Errorf("%s: the problem tells the secret: %v", name, problems)
		}
	}
	other := newKeyring(t)
	sealed := spec("{name: s, secretRef: {file: good.age}}", screen)
	sealed = strings.Replace(sealed, "-- sealed/a/good.age --\ntext\n", "-- a/good.age --\n"+string(other.seal(t, "text")), 1)
	if i, problems := k.completed(t, sealed, true); i != nil || len(problems) != 1 || !problems[0].Locked || !strings.Contains(problems[0].Message, "encrypted to: X25519") {
		t.Errorf("another host's: %v", problems)
	}
}

// TestATokenIsNoPassword: who sees a token on a page cannot have another machine's password with it.
func TestATokenIsNoPassword(t *testing.T) {
	k := newKeyring(t)
	token := k.Token(secret.NewValue([]byte("theirs")))
	i, problems := k.completed(t, "-- a.yaml --\napiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: web}\n"+
		"spec: {template: {spec: {domain: {memory: {guest: 1Gi}}, domainXML: \"<domain><devices><graphics type='vnc' passwd='"+token+"'/></devices></domain>\"}}}\n", true)
	if i == nil {
		t.Fatal(problems)
	}
	if strings.Contains(i.Domain.String(), token) {
		t.Errorf("the token is taken for what it stands for:\n%s", i.Domain)
	}
}

// FuzzSecretRef: no secretRef makes a document that is read and cannot be completed or refused.
func FuzzSecretRef(f *testing.F) {
	for _, ref := range []string{"{file: a.age}", "{name: x}", "{hostFile: a/b, key: c}", "{file: ../x, name: ''}", "[]", "null"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if strings.Contains(ref, "\n--") {
			return
		}
		k := keyring{host: map[string]string{}}
		archive := "-- d/a.yaml --\napiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: web}\n" +
			"spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: i, cdrom: {}}]}}, volumes: [{name: i, cloudInitNoCloud: {secretRef: " + ref + "}}]}}}\n"
		if i, problems := k.completed(t, archive, true); i != nil {
			for _, s := range i.Spec.SecretRefs() {
				t.Errorf("%+v is found where nothing is: %v", s.Ref, problems)
			}
		}
	})
}
