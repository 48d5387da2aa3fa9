package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

const found = `<domain type='kvm'><name>web</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory unit='KiB'>1048576</memory><currentMemory unit='KiB'>1048576</currentMemory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><features><acpi/><apic/></features><cpu mode='host-model'/>
<devices><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/srv/a.img'/><target dev='vda' bus='virtio'/><address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></disk>
<sound model='ich9'/></devices></domain>`

// taken is the instance whose documents say what was found, but for what is replaced in them.
func taken(t *testing.T, old, with string) *render.Instance {
	t.Helper()
	docs := strings.Replace(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {autoattachSerialConsole: false, autoattachGuestAgent: false, sound: {name: sound}, disks: [{name: root}]}},
  volumes: [{name: root, hostDisk: {path: /srv/a.img, type: Disk}}], domainXML: "<domain><devices><disk><target dev='vda'/><alias name='ua-root'/></disk></devices></domain>"}}}
---
apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: web}
spec: {host: h, state: Running, adopt: true}
`, old, with, 1)
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(docs))}, nil)
	placement := render.Place(set, "")
	if len(placement.Machines) == 0 {
		t.Fatal(set.Problems)
	}
	i, problems := placement.Of(placement.Machines[0], render.Options{Fleet: "f", Revision: "c"})
	if i == nil {
		t.Fatal(problems)
	}
	return i
}

// TestAdoptionWithoutAChange: a domain that is what its documents say gets a record, and is not defined anew; its devices
// get no names, then or later, and are known all the same.
func TestAdoptionWithoutAChange(t *testing.T) {
	d := Domain{Name: "web", UUID: "11111111-2222-3333-4444-555555555555", ID: 4, State: DomainRunning, Persistent: true, Autostart: true,
		Inactive: XML{Packed: Plain(found), Hash: "1"}, Live: XML{Packed: Plain(found), Hash: "1"}}
	adopt := func(i *render.Instance) (Assessment, []Step) {
		_, all := Make(Wanted{Host: "h", Instances: []*render.Instance{i}}, World{Domains: []Domain{d}}, Memory{})
		var steps []Step
		for _, a := range all[0].Actions {
			steps = append(steps, a.Steps...)
		}
		return all[0], steps
	}
	a, steps := adopt(taken(t, "", ""))
	if len(steps) != 2 || len(a.Blocked) > 0 || slices.ContainsFunc(steps, func(s Step) bool { return s.Op != OpMetadata || !s.Config || !s.Live }) {
		t.Fatalf("adopted by %+v, blocked by %v", a.Actions, a.Blocked)
	}
	record := steps[len(steps)-1].Metadata
	if !slices.Equal(record.Unnamed, []string{"root", "sound"}) || record.Run != 1 || record.Outcome != metadata.OutcomeStarted {
		t.Errorf("the record is %+v", record)
	}
	d.Inactive.Meta, d.Live.Meta = record, record
	if a, steps = adopt(taken(t, "", "")); len(steps) > 0 || len(a.Staged) > 0 {
		t.Errorf("the second pass does %+v, and stages %v", a.Actions, a.Staged)
	}
	for name, tt := range map[string]struct{ old, with, want, not string }{
		"another file":   {"/srv/a.img", "/srv/b.img", "/srv/b.img", "ua-root"},
		"another device": {"sound: {name: sound}", "rng: {}, sound: {name: sound}", "<rng", "ua-sound"},
		"another name":   {"sound: {name: sound}", "sound: {name: noise}", "ua-noise", "ua-root"},
		"none of it":     {"sound: {name: sound}, ", "", "/srv/a.img", "<sound"},
	} {
		_, steps := adopt(taken(t, tt.old, tt.with))
		n := slices.IndexFunc(steps, func(s Step) bool { return s.Op == OpDefine })
		if n < 0 {
			t.Errorf("%s: nothing is defined: %+v", name, steps)
			continue
		}
		next, err := domxml.Parse(steps[n].XML)
		if err != nil {
			t.Fatal(err)
		}
		next.Remove(next.Child("metadata"))
		if text := next.String(); !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) || strings.Count(text, "<disk") != 1 {
			t.Errorf("%s: it becomes\n%s", name, text)
		}
	}
	// One that differs is defined, with names.
	d.Inactive.Meta, d.Live.Meta = nil, nil
	a, steps = adopt(taken(t, "guest: 1Gi", "guest: 2Gi"))
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Op == OpDefine && strings.Contains(s.XML, "ua-root") }) {
		t.Errorf("adopted with a change by %+v", a.Actions)
	}
}
