package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

func TestFields(t *testing.T) {
	tests := map[string]struct {
		change domxml.Change
		want   Change
	}{
		"memory":      {domxml.Change{Path: "memory", From: "1048576 KiB", To: "2097152 KiB"}, Change{"domain.memory.maxGuest", "1Gi", "2Gi"}},
		"the balloon": {domxml.Change{Path: "currentMemory", From: "1048576 KiB", To: "2097152 KiB"}, Change{"domain.memory.guest", "1Gi", "2Gi"}},
		"cores":       {domxml.Change{Path: "cpu/topology@cores", From: "1", To: "2"}, Change{"domain.cpu.cores", "1", "2"}},
		"cache":       {domxml.Change{Path: "devices/disk[root]/driver@cache", To: "none"}, Change{"domain.devices.disks[root].cache", "", "none"}},
		"a new disk":  {domxml.Change{Path: "devices/disk[data]", To: "x"}, Change{"domain.devices.disks[data]", "", "x"}},
		"a volume":    {domxml.Change{Path: "devices/disk[init]/source@volume", From: "a", To: "b"}, Change{"volumes[init]", "a", "b"}},
		"its kind":    {domxml.Change{Path: "devices/disk[init]@type", From: "file", To: "volume"}, Change{"volumes[init]", "file", "volume"}},
		"boot order":  {domxml.Change{Path: "devices/interface[lan]/boot@order", From: "1", To: "2"}, Change{"domain.devices.interfaces[lan].bootOrder", "1", "2"}},
		"a network":   {domxml.Change{Path: "devices/interface[lan]/source@network", From: "a", To: "b"}, Change{"networks[lan]", "a", "b"}},
		"the machine": {domxml.Change{Path: "os/type@machine", From: "pc-q35-7.2", To: "pc-q35-8.0"}, Change{"domain.machine.type", "pc-q35-7.2", "pc-q35-8.0"}},
		"hyperv":      {domxml.Change{Path: "features/hyperv/relaxed@state", From: "on", To: "off"}, Change{"domain.features.hyperv.relaxed", "on", "off"}},
		"domainXML":   {domxml.Change{Path: "devices/redirdev@bus", From: "usb", To: ""}, Change{"domainXML:devices/redirdev@bus", "usb", ""}},
		"video":       {domxml.Change{Path: "devices/video/model@type", From: "vga", To: "virtio"}, Change{"domain.devices.video", "vga", "virtio"}},
		"vcpus":       {domxml.Change{Path: "vcpu@current", From: "1", To: "2"}, Change{"domain.cpu.sockets", "1", "2"}},
		"a feature":   {domxml.Change{Path: "cpu/feature[vmx]@policy", From: "require", To: "disable"}, Change{"domain.cpu.features[vmx]", "require", "disable"}},
		"the chassis": {domxml.Change{Path: "sysinfo/chassis/entry[sku]", To: "S"}, Change{"domain.chassis.sku", "", "S"}},
		"a timer":     {domxml.Change{Path: "clock/timer[kvmclock]@present", From: "no", To: "yes"}, Change{"domain.clock.timer.kvm", "no", "yes"}},
		"the zone":    {domxml.Change{Path: "clock@timezone", To: "UTC"}, Change{"domain.clock", "", "UTC"}},
		"the kernel":  {domxml.Change{Path: "os/kernel", From: "/a", To: "/b"}, Change{"domain.firmware.kernelBoot.container", "/a", "/b"}},
		"blocks":      {domxml.Change{Path: "devices/disk[root]/blockio", To: "present"}, Change{"domain.devices.disks[root].blockSize", "", "present"}},
		"a link":      {domxml.Change{Path: "devices/interface[lan]/link@state", From: "up", To: "down"}, Change{"domain.devices.interfaces[lan].state", "up", "down"}},
		"a VLAN":      {domxml.Change{Path: "devices/interface[lan]/vlan/tag", From: "id=1", To: "id=2"}, Change{"networks[lan].vlan", "id=1", "id=2"}},
		"a folder":    {domxml.Change{Path: "devices/filesystem[src]/source@dir", From: "/a", To: "/b"}, Change{"volumes[src]", "/a", "/b"}},
		"a device":    {domxml.Change{Path: "devices/hostdev[gpu]", To: "type=pci"}, Change{"domain.devices.hostDevices[gpu]", "", "type=pci"}},
		"a watchdog":  {domxml.Change{Path: "devices/watchdog[dog]@action", From: "reset", To: "poweroff"}, Change{"domain.devices.watchdog", "reset", "poweroff"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fields([]domxml.Change{tt.change}); len(got) != 1 || got[0] != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	both := fields([]domxml.Change{{Path: "memory", From: "1 KiB", To: "2 KiB"}, {Path: "currentMemory", From: "1 KiB", To: "2 KiB"},
		{Path: "vcpu", From: "1", To: "2"}, {Path: "cpu/topology@cores", From: "1", To: "2"}})
	if len(both) != 2 {
		t.Errorf("one edit of two fields is shown as %v", both)
	}
}

func instance(t *testing.T, name string) *render.Instance {
	t.Helper()
	docs := strings.ReplaceAll(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: NAME}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root}]}}, volumes: [{name: root, volume: {size: 1Gi}}]}}}
---
apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: NAME}
spec: {host: h}
`, "NAME", name)
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(docs))}, nil)
	placement := render.Place(set, "")
	i, problems := placement.Of(placement.Machines[0], render.Options{Fleet: "f", Revision: "c"})
	if i == nil {
		t.Fatal(set.Problems, problems)
	}
	return i
}

// TestMakeIsPureAndSorted: the same input gives the same plan, sorted by instance, and nothing that was given is changed.
func TestMakeIsPureAndSorted(t *testing.T) {
	w := Wanted{Host: "h", Revision: "c", Budget: 3, Instances: []*render.Instance{instance(t, "b"), instance(t, "c")}}
	xml, meta := creation(instance(t, "a"))
	meta.Put(xml)
	text := xml.String()
	world := World{Domains: []Domain{{Name: "a", UUID: "u", ID: -1, State: DomainShutoff, Persistent: true, Inactive: XML{Packed: Plain(text), Hash: "1", Meta: &meta}}}}
	mem := Memory{Now: time.Unix(1000, 0)}
	encode := func() string {
		p, _ := Make(w, world, mem)
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := encode()
	if second := encode(); second != first {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
	p, _ := Make(w, world, mem)
	var order []string
	for _, a := range p.Actions {
		order = append(order, a.Instance+" "+string(a.Effect))
	}
	if want := []string{"a remove", "b create", "b start", "c create", "c start"}; !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
	if world.Domains[0].Inactive.Text() != text {
		t.Error("the world was changed")
	}
}

// TestForgottenRecordRemovesNothing: when somebody garbled what was applied last, nothing counts as ours that is not declared.
func TestForgottenRecordRemovesNothing(t *testing.T) {
	i := instance(t, "a")
	xml, meta := creation(i)
	xml.Child("devices").Append(domxml.New("sound", "model", "ich9"))
	meta.Applied, meta.Digest, meta.Outcome = "garbled", "old", metadata.OutcomeStopped
	meta.Put(xml)
	d := Domain{Name: "a", UUID: i.UUID, ID: -1, State: DomainShutoff, Persistent: true, Inactive: XML{Packed: Plain(xml.String()), Hash: "1", Meta: &meta}}
	p, _ := Make(Wanted{Host: "h", Instances: []*render.Instance{i}}, World{Domains: []Domain{d}}, Memory{Now: time.Unix(1, 0)})
	for _, a := range p.Actions {
		for _, s := range a.Steps {
			if s.Op == OpDefine && !strings.Contains(s.XML, "<sound model='ich9'/>") {
				t.Errorf("the sound card went:\n%s", s.XML)
			}
		}
	}
	if len(p.Actions) == 0 {
		t.Error("nothing is planned")
	}
}
