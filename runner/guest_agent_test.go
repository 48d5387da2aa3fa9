package runner_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestGuestAgent: a guest's agent answers once the guest has opened its channel, and what it says of addresses is heard.
func TestGuestAgent(t *testing.T) {
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	image := sandboxtest.Guest(t)
	m := newMachine("web")
	seed := m.step(plan.OpVolumes)
	seed.Volumes = []render.Volume{{Name: "seed", Kind: render.VolumeSeed, Pool: "default", File: "seed.iso", Label: "cidata",
		Seed: map[string][]byte{"user-data": []byte(guest.Agent), "meta-data": []byte("instance-id: a\n")}}}
	define := m.step(plan.OpDefine)
	define.XML = fmt.Sprintf(`<domain type='qemu'><name>web</name><uuid>%s</uuid><memory unit='MiB'>128</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os><features><acpi/></features>
		<devices><controller type='scsi' model='virtio-scsi'/>
		<disk type='volume' device='cdrom'><source pool='default' volume='seed.iso'/><target dev='sda' bus='scsi'/></disk>
		<serial type='file'><source path='%s'/></serial>
		<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel></devices></domain>`,
		m.uuid, image.Kernel, image.Initrd, image.Cmdline, filepath.Join(s.Dir(), "serial"))
	if err := r.Apply(t.Context(), []plan.Step{seed, define, m.step(plan.OpStart)}); err != nil {
		t.Fatal(err)
	}
	err := r.Ping(t.Context(), m.uuid, time.Second)
	if err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("the guest has not booted, and its agent: %v", err)
	}
	sandboxtest.Wait(t, 90*time.Second, func() bool { return r.Ping(t.Context(), m.uuid, time.Second) == nil }, "the agent answers")
	got, err := r.AgentAddresses(t.Context(), m.uuid)
	if want := []plan.Address{{MAC: "52:54:00:12:34:56", IP: netip.MustParseAddr("192.0.2.9"), Source: plan.FromAgent}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("addresses = %v, %v", got, err)
	}
	if err := r.Exec(t.Context(), m.uuid, []string{"/bin/true", "-x", "a\"b"}, 5*time.Second); err != nil {
		t.Errorf("a command that exits with 0: %v", err)
	}
	if err := r.Exec(t.Context(), m.uuid, []string{"/bin/false"}, 5*time.Second); err == nil || err.Error() != "it exited with 7" {
		t.Errorf("a command that exits with 7: %v", err)
	}
	world, err := r.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !world.Domains[0].Live.Agent {
		t.Errorf("the channel is not shown as connected:\n%s", world.Domains[0].Live.Text())
	}
	if err := r.Apply(t.Context(), []plan.Step{m.step(plan.OpDestroy)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Ping(t.Context(), m.uuid, time.Second); err == nil {
		t.Error("the agent of a machine that is off answers")
	}
	if _, err := r.AgentAddresses(t.Context(), m.uuid); err == nil {
		t.Error("a machine that is off says addresses")
	}
	if _, err := r.HostAddresses(t.Context(), m.uuid, nil); err == nil {
		t.Error("a machine that is off has addresses")
	}
}
