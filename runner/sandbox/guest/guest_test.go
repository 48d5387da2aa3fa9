package guest_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kdomanski/iso9660"

	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// timeout is how long an emulated guest may take for anything on a busy machine; it boots in 2 to 6 s.
const timeout = 90 * time.Second

const metaData = "instance-id: run-1\nlocal-hostname: web\n"

const uuid = "6bd7d3a4-6a3a-4b6a-9d2e-0f5e5f3f4a11"

// machine is a guest in a sandbox.
type machine struct {
	*sandbox.Sandbox
	serial string // the file that the console goes to
}

// boot starts a guest with two disks of 1 MiB, a NIC, a panic device and, if there is user data, a NoCloud seed.
func boot(t *testing.T, words, userData string) machine {
	t.Helper()
	m := machine{Sandbox: sandboxtest.Start(t)}
	m.serial = filepath.Join(m.Dir(), "serial")
	image := sandboxtest.Guest(t)
	seed := ""
	if userData != "" {
		file := filepath.Join(m.Dir(), "seed.iso")
		if err := os.WriteFile(file, noCloud(t, userData), 0o600); err != nil {
			t.Fatal(err)
		}
		seed = fmt.Sprintf(`<disk type='file' device='cdrom'><source file='%s'/><target dev='sda' bus='scsi'/></disk>`, file)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(m.Dir(), name), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	xml := fmt.Sprintf(`<domain type='qemu'><name>guest</name><uuid>%[1]s</uuid>
		<memory unit='MiB'>128</memory><vcpu>2</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type><kernel>%[2]s</kernel><initrd>%[3]s</initrd>
		<cmdline>%[4]s</cmdline></os><features><acpi/></features><on_crash>destroy</on_crash>
		<devices>
		<controller type='scsi' model='virtio-scsi'/>%[5]s
		<disk type='file' device='disk'><source file='%[6]s/a'/><target dev='vda' bus='virtio'/><serial>first</serial></disk>
		<disk type='file' device='disk'><source file='%[6]s/b'/><target dev='vdb' bus='virtio'/></disk>
		<interface type='user'><mac address='52:54:00:00:00:07'/><model type='virtio'/></interface>
		<serial type='file'><source path='%[6]s/serial'/></serial><panic model='isa'/>
		</devices></domain>`, uuid, image.Kernel, image.Initrd, image.Cmdline+" "+words, seed, m.Dir())
	file := filepath.Join(m.Dir(), "guest.xml")
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	m.virsh(t, "define", file)
	m.virsh(t, "start", "guest")
	return m
}

func (m machine) virsh(t *testing.T, args ...string) string {
	t.Helper()
	out, err := m.Virsh(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (m machine) console(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(m.serial)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits for a text on the console.
func (m machine) await(t *testing.T, text string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the console:\n%s", m.console(t))
		}
	})
	sandboxtest.Wait(t, timeout, func() bool { return strings.Contains(m.console(t), text) }, "the console said "+text)
}

// awaitState waits until virsh tells the domain's state and reason so.
func (m machine) awaitState(t *testing.T, want string) {
	t.Helper()
	sandboxtest.Wait(t, timeout, func() bool { return m.virsh(t, "domstate", "guest", "--reason") == want }, "the domain was "+want)
}

func TestGuestReportsAndObeys(t *testing.T) {
	userData := "#cloud-config\ngitvirt-run: echo data | dd of=/dev/vdb 2>&1; ls /dev/vd*\n"
	m := boot(t, "", userData)
	m.await(t, "RAN status=0")
	console := m.console(t)
	report, ok := guest.Ready(console)
	if !ok {
		t.Fatal("no report")
	}
	if report.MemoryKiB < 80<<10 || report.MemoryKiB > 128<<10 {
		t.Errorf("it has %d KiB of memory", report.MemoryKiB)
	}
	report.MemoryKiB = 0
	slices.SortFunc(report.Disks, func(a, b guest.Disk) int { return strings.Compare(a.Name, b.Name) })
	want := guest.Report{
		UUID: uuid, CPUs: 2, NICs: []string{"52:54:00:00:00:07"},
		Disks: []guest.Disk{
			{Name: "sr0", Bytes: int64(len(noCloud(t, userData)))},
			{Name: "vda", Bytes: 1 << 20, Serial: "first"},
			{Name: "vdb", Bytes: 1 << 20},
		},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	seed, _ := guest.SeedOf(console)
	wantSeed := guest.Seed{
		InstanceID: "run-1", LocalHostname: "web",
		UserDataSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(userData))),
		MetaDataSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(metaData))),
	}
	if seed != wantSeed {
		t.Errorf("the seed is %+v, want %+v", seed, wantSeed)
	}
	if !strings.Contains(console, "/dev/vda") {
		t.Error("the output of the user data's command is not on the console")
	}
	m.virsh(t, "shutdown", "guest")
	m.awaitState(t, "shut off (shutdown)")
	if !strings.Contains(m.console(t), "POWER-BUTTON") {
		t.Error("it went down without a word")
	}
	if disk, err := os.ReadFile(filepath.Join(m.Dir(), "b")); err != nil || !bytes.HasPrefix(disk, []byte("data\n")) {
		t.Errorf("the disk does not have what the guest wrote: %v", err)
	}
}

func TestGuestGoesDownByItself(t *testing.T) {
	for _, test := range []struct{ name, words, userData, state string }{
		{"powers off at its user data's command", "", "gitvirt-run: poweroff -f\n", "shut off (shutdown)"},
		{"powers off after a time", guest.PoweroffAfter + "1", "", "shut off (shutdown)"},
		{"panics", "", "gitvirt-run: echo c >/proc/sysrq-trigger\n", "shut off (crashed)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := boot(t, test.words, test.userData)
			m.await(t, "READY ")
			m.awaitState(t, test.state)
		})
	}
}

func TestGuestIgnoresShutdown(t *testing.T) {
	m := boot(t, guest.IgnoreACPI, "")
	m.await(t, "READY ")
	m.virsh(t, "shutdown", "guest")
	time.Sleep(time.Second) // obeying takes less than half of that
	if got := m.virsh(t, "domstate", "guest"); got != "running" {
		t.Errorf("it is %s", got)
	}
	if guest.Boots(m.console(t)) != 1 {
		t.Error("it has booted more than once")
	}
}

func noCloud(t *testing.T, userData string) []byte {
	t.Helper()
	w, err := iso9660.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Cleanup()
	for name, text := range map[string]string{
		"user-data": userData,
		"meta-data": metaData,
	} {
		if err := w.AddFile(strings.NewReader(text), name); err != nil {
			t.Fatal(err)
		}
	}
	var image bytes.Buffer
	if err := w.WriteTo(&image, "cidata"); err != nil {
		t.Fatal(err)
	}
	return image.Bytes()
}
