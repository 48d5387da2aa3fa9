package test

import (
	"bytes"
	"crypto/des"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// keyed gives the host an age identity and a folder of secrets, and returns the identity's recipient and the folder.
func (h *host) keyed() (*age.X25519Identity, string) {
	h.t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		h.t.Fatal(err)
	}
	dir := h.t.TempDir()
	secrets := filepath.Join(dir, "secrets")
	if err := os.Mkdir(secrets, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "age.key"), []byte("# the host's\n"+id.String()+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.keys = "secrets: {ageIdentityFile: " + dir + "/age.key, hostDirs: [" + secrets + "]}\n"
	h.allow("")
	return id, secrets
}

// remoteDisks is a policy by which machines may have iSCSI disks.
const remoteDisks = "domainXML: {allow: [devices/disk@type=network, devices/disk/source@protocol=iscsi, devices/disk/source@name, devices/disk/source/host]}"

// seal puts a file into the clone, encrypted to a recipient.
func (h *host) seal(to age.Recipient, name, content string) {
	h.t.Helper()
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	path := filepath.Join(h.clone, name)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

// secretive is a machine that needs secrets of every kind. The port is that of an iSCSI target.
func secretive(iqn, port, vnc string) string {
	return `apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  rollout: Live
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 16Mi}
        devices: {disks: [{name: root}, {name: init, cdrom: {bus: scsi}}]}
      volumes:
      - {name: root, volume: {size: 4Mi, encryption: {secretRef: {file: secrets/luks.age}}}}
      - name: init
        cloudInitNoCloud:
          secretRef: {name: web-init}
          networkDataSecretRef: {hostFile: network.yaml}
      secrets:
      - {name: chap, secretRef: {file: secrets/chap.age}}
      - {name: screen, secretRef: {file: secrets/screen.age}}
      domainXML: |
        <domain><devices>
          <disk type='network' device='disk'><driver name='qemu' type='raw'/>
            <source protocol='iscsi' name='` + iqn + `/2'><host name='127.0.0.1' port='` + port + `'/>
              <auth username='gitvirt'><secret type='iscsi' usage='secret:chap'/></auth></source>
            <target dev='vdz' bus='virtio'/></disk>
          <graphics type='vnc' port='` + vnc + `' passwd='secret:screen'><listen type='address' address='127.0.0.1'/></graphics>
        </devices></domain>
`
}

// values are secrets by what they are for.
type values struct{ luks, chap, screen, user, network string }

func (v values) all() []string { return []string{v.luks, v.chap, v.screen, v.user, v.network} }

// write puts the secrets where the machine has them.
func (v values) write(h *host, to age.Recipient, dir string) {
	h.t.Helper()
	h.seal(to, "secrets/luks.age", v.luks+"\n")
	h.seal(to, "secrets/chap.age", v.chap+"\n")
	h.seal(to, "secrets/screen.age", v.screen+"\n")
	h.seal(to, "web-init.age", "apiVersion: v1\nkind: Secret\nmetadata: {name: web-init}\nstringData: {userdata: \"#cloud-config\\n# "+v.user+"\\n\"}\n")
	if err := os.WriteFile(filepath.Join(dir, "network.yaml"), []byte("# "+v.network+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// TestSecretsReachLibvirtAlone runs a machine that has a secret of every kind, changes all of them, and then looks for each in
// all that gitvirt writes and shows, and in all that it runs.
func TestSecretsReachLibvirtAlone(t *testing.T) {
	h := newHost(t)
	id, dir := h.keyed()
	h.allow(remoteDisks)
	disk := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	first := values{"CanaryLuksA/+&%", "CanaryChapA1234", "CanScrA1", "CanaryUserA <&> x", "CanaryNetA"}
	const iqn = "iqn.2026-01.io.gitvirt:chap"
	port, admin := startTargetWithAccount(t, iqn, disk, "gitvirt", first.chap)
	vnc := freePort(t)
	first.write(h, id.Recipient(), dir)
	seen := watchProcesses(t, "Canary", "CanScr")

	one := h.push("One", secretive(iqn, port, vnc), runDoc("web", "state: Paused"))
	h.agent()
	h.settled(one)
	h.instance("web", "is paused", phase(plan.PhasePaused))
	if err := vncLogin("127.0.0.1:"+vnc, first.screen); err != nil {
		t.Errorf("with the password: %v", err)
	}
	if err := vncLogin("127.0.0.1:"+vnc, "wrong"); err == nil {
		t.Error("the screen takes another password")
	}
	if info := h.qemuImg("info", h.volume("web.root.qcow2")); !strings.Contains(info, "luks") {
		t.Errorf("the volume is not encrypted:\n%s", info)
	}
	h.findsSeed(first.user, first.network)
	known := h.virsh("secret-list")
	for _, usage := range []string{"gitvirt/web/chap", "gitvirt/web/volumes/root"} {
		if !strings.Contains(known, usage) {
			t.Errorf("libvirt does not have %s:\n%s", usage, known)
		}
	}

	// All but the passphrase, which the volume does not know, are changed. The screen's password is changed at once.
	second := values{first.luks, "CanaryChapB1234", "CanScrB2", "CanaryUserB <&> x", "CanaryNetB"}
	second.write(h, id.Recipient(), dir)
	two := h.push("Two", secretive(iqn, port, vnc), runDoc("web", "state: Paused"))
	h.settled(two)
	staged := h.instance("web", "is behind with a secret", func(i status.Instance) bool {
		return strings.Contains(fmt.Sprint(i.Status.Staged), "secrets[chap]")
	})
	if err := vncLogin("127.0.0.1:"+vnc, second.screen); err != nil {
		t.Errorf("with the new password: %v", err)
	}
	h.findsSeed(second.user, second.network)
	if err := admin("--op", "delete", "--mode", "account", "--user", "gitvirt"); err != nil {
		t.Fatal(err)
	}
	for _, args := range accountArgs("gitvirt", second.chap) {
		if err := admin(args...); err != nil {
			t.Fatal(err)
		}
	}
	three := h.push("Three", secretive(iqn, port, vnc), runDoc("web", "state: Paused, run: 2"))
	h.settled(three)
	h.instance("web", "has the new secret in its second run", func(i status.Instance) bool {
		// What is staged still is the user data: a machine that was set up waits with that until it is made anew.
		return i.Status.Phase == plan.PhasePaused && len(i.Status.Staged) == 1 && i.Status.Staged[0].Effect == plan.EffectRebuild
	})

	// A passphrase that does not open the volume is refused, and the machine stays as it is.
	wrong := second
	wrong.luks = "CanaryLuksWrong"
	wrong.write(h, id.Recipient(), dir)
	h.push("Four", secretive(iqn, port, vnc), runDoc("web", "state: Paused, run: 2"))
	h.instance("web", "says that the passphrase does not fit", func(i status.Instance) bool {
		return strings.Contains(fmt.Sprint(i.Status), "the passphrase does not open volume root")
	})
	shown := fmt.Sprintf("%+v", staged)
	for _, path := range []string{"/", "/metrics", "/api/v1alpha1/plan", "/api/v1alpha1/events", "/api/v1alpha1/instances",
		"/api/v1alpha1/instances/web", "/api/v1alpha1/configs/web", "/api/v1alpha1/configs/web/runtime"} {
		var page string
		if _, err := h.get(path, &page); err != nil {
			t.Error(err)
		}
		shown += page
	}
	for _, c := range []*exec.Cmd{
		h.command("plan", "-o", "json"), h.command("plan"),
		h.documents("render", "web"), h.documents("render", "web", "-o", "xml"), h.documents("render", "web", "--explain"), h.documents("check"),
		h.documents("get", "instances", "-o", "json"), h.documents("get", "configs", "-o", "yaml"),
	} {
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		shown += string(out)
	}
	shown += h.log.String() + h.virsh("dumpxml", "web") + h.virsh("dumpxml", "--inactive", "web")
	found := map[string][]string{}
	for _, value := range append(append(first.all(), second.all()...), wrong.luks) {
		for _, form := range forms(value) {
			if n := strings.Index(shown, form); n >= 0 {
				t.Errorf("%q is shown: …%q…", value, shown[max(0, n-100):min(len(shown), n+100)])
			}
			for _, file := range holding(t, form, h.state, h.bare, h.sandbox.Dir()) {
				found[value] = append(found[value], file)
				if !allowed(file) {
					t.Errorf("%q is in %s", value, file)
				}
			}
		}
	}
	for _, value := range second.all() {
		if len(found[value]) == 0 {
			t.Errorf("%q is not even where it belongs: the search finds nothing", value)
		}
	}
	if got := seen(); len(got) > 0 {
		t.Errorf("processes were started with secrets: %q", got)
	}
}

// allowed are the files that a secret belongs into: libvirt's own, and the seed's image.
func allowed(file string) bool {
	return regexp.MustCompile(`/libvirt/secrets/[0-9a-f-]{36}\.base64$|/qemu/(run/)?web\.xml(\.new)?$|/web\.init-[0-9a-f]{16}\.iso$`).MatchString(file) && private(file)
}

// private says whether only its owner can read a file. One that is gone was libvirt's, on its way to its name.
func private(file string) bool {
	info, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Perm()&0o077 == 0
}

// forms are a value as it may be written.
func forms(value string) []string {
	plain := []byte(value)
	return []string{value, base64.StdEncoding.EncodeToString(plain), base64.StdEncoding.EncodeToString(append(plain, '\n')),
		url.QueryEscape(value), url.PathEscape(value), fmt.Sprintf("%x", plain), strings.ReplaceAll(strings.ReplaceAll(value, "&", "&amp;"), "<", "&lt;")}
}

// holding are the files below some folders that hold a text.
func holding(t *testing.T, text string, dirs ...string) []string {
	t.Helper()
	var files []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // gone meanwhile
			}
			if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(text)) {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// watchProcesses looks at the command lines and environments of all processes until the function that it returns is called,
// which gives those with one of the words.
func watchProcesses(t *testing.T, words ...string) func() []string {
	found, stop, ended := []string{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range files {
				line, _ := os.ReadFile(file)
				environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
				for _, word := range words {
					if bytes.Contains(line, []byte(word)) && !bytes.Contains(line, []byte("tgtadm")) || bytes.Contains(environ, []byte(word)) {
						found = append(found, string(line))
					}
				}
			}
		}
	}()
	return func() []string {
		close(stop)
		<-ended
		return found
	}
}

// documents is a command about the repository's documents.
func (h *host) documents(name string, args ...string) *exec.Cmd {
	return exec.Command(h.binary, append([]string{name, "--repo", h.bare}, args...)...)
}

func (h *host) qemuImg(args ...string) string {
	h.t.Helper()
	out, err := exec.Command("qemu-img", append([]string{args[0], "-U"}, args[1:]...)...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("qemu-img %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// volume is the path of a volume in the default pool.
func (h *host) volume(name string) string {
	return strings.TrimSpace(h.virsh("vol-path", name, "--pool", "default"))
}

// findsSeed wants the machine's seed to hold texts.
func (h *host) findsSeed(texts ...string) {
	h.t.Helper()
	var in []string
	for line := range strings.Lines(h.virsh("dumpxml", "--inactive", "web")) {
		if m := regexp.MustCompile(`volume='(web\.init-[^']*)'`).FindStringSubmatch(line); m != nil {
			in = append(in, h.volume(m[1]))
		}
	}
	if len(in) != 1 {
		h.t.Fatalf("the machine has the seeds %q", in)
	}
	content, err := os.ReadFile(in[0])
	if err != nil {
		h.t.Fatal(err)
	}
	for _, text := range texts {
		if !bytes.Contains(content, []byte(text)) {
			h.t.Errorf("the seed %s does not hold %q", in[0], text)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return port
}

// vncLogin logs in to a VNC server as RFC 6143 (7.2.2) says.
func vncLogin(address, password string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	version := make([]byte, 12)
	if _, err := io.ReadFull(c, version); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "RFB 003.008\n"); err != nil {
		return err
	}
	count := make([]byte, 1)
	if _, err := io.ReadFull(c, count); err != nil {
		return err
	}
	types := make([]byte, count[0])
	if _, err := io.ReadFull(c, types); err != nil || !bytes.Contains(types, []byte{2}) {
		return fmt.Errorf("it asks for no password: %v, %w", types, err)
	}
	challenge, key, answer := make([]byte, 16), make([]byte, 8), make([]byte, 16)
	if _, err := c.Write([]byte{2}); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, challenge); err != nil {
		return err
	}
	for n := range min(len(password), 8) {
		key[n] = bits.Reverse8(password[n])
	}
	block, err := des.NewCipher(key)
	if err != nil {
		return err
	}
	block.Encrypt(answer, challenge)
	block.Encrypt(answer[8:], challenge[8:])
	if _, err := c.Write(answer); err != nil {
		return err
	}
	var result uint32
	if err := binary.Read(c, binary.BigEndian, &result); err != nil {
		return err
	}
	if result != 0 {
		return fmt.Errorf("the password is refused (%d)", result)
	}
	return nil
}

func accountArgs(user, password string) [][]string {
	return [][]string{
		{"--op", "new", "--mode", "account", "--user", user, "--password", password},
		{"--op", "bind", "--mode", "account", "--tid", "1", "--user", user},
	}
}

// TestASecretThatCannotBeOpenedBlocksItsMachineAlone: a machine whose secret is another host's stays as it is, and the others
// go on; the key that opens it comes without a commit.
func TestASecretThatCannotBeOpenedBlocksItsMachineAlone(t *testing.T) {
	h := newHost(t)
	id, dir := h.keyed()
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	h.seal(other.Recipient(), "init.age", "#cloud-config\n")
	web := machineDoc("web", "", "16Mi") + "      secrets: [{name: s, secretRef: {file: init.age}}]\n" +
		"      domainXML: \"<domain><devices><graphics type='vnc' port='-1' autoport='yes' passwd='secret:s'/></devices></domain>\"\n"
	h.push("One", web, runDoc("web", "state: Paused"), machineDoc("db", "", "16Mi"), runDoc("db", "state: Paused"))
	agent := h.agent()
	h.instance("db", "is paused", phase(plan.PhasePaused))
	h.instance("web", "is blocked", func(i status.Instance) bool {
		text := fmt.Sprint(i.Status)
		return strings.Contains(text, "Secret") && strings.Contains(text, "init.age") && strings.Contains(text, "encrypted to: X25519")
	})
	h.push("Two: db goes", web, runDoc("web", "state: Paused"))
	sandboxtest.Wait(t, patience, func() bool { return !strings.Contains(h.virsh("list", "--all", "--name"), "db") }, "db is removed")
	key := filepath.Join(filepath.Dir(dir), "age.key")
	if err := os.WriteFile(key, []byte(id.String()+"\n"+other.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := agent.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.instance("web", "is still blocked: a screen's password has no more than 8 letters", func(i status.Instance) bool {
		return strings.Contains(fmt.Sprint(i.Status), "VNC password")
	})
}

// TestASecretSeedReachesTheGuest: what the guest reads is what was encrypted, to the byte.
func TestASecretSeedReachesTheGuest(t *testing.T) {
	h := newHost(t)
	id, _ := h.keyed()
	const userData = "#cloud-config\npassword: canary\n"
	h.seal(id.Recipient(), "init.age", userData)
	image := sandboxtest.Guest(t)
	h.allowGuest(image.Kernel)
	doc := h.guestDoc(image, "web", "", "PLAIN", "")
	h.push("One", strings.Replace(doc, `userData: "PLAIN"`, "secretRef: {file: init.age}", 1), runDoc("web", ""))
	h.agent()
	var seed guest.Seed
	sandboxtest.Wait(t, patience, func() (ok bool) { seed, ok = guest.SeedOf(h.read("web")); return ok }, "web has read its seed")
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(userData))); seed.UserDataSHA256 != want {
		t.Errorf("seed = %+v, want the digest %s", seed, want)
	}
}
