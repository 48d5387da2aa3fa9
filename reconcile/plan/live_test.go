package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// domainWith is a domain of four PCIe ports with some devices and words more.
func domainWith(t *testing.T, devices, rest string) *domxml.Element {
	t.Helper()
	ports := `<controller type='pci' index='0' model='pcie-root'/>`
	for n := range 4 {
		ports += fmt.Sprintf(`<controller type='pci' index='%d' model='pcie-root-port'/>`, n+1)
	}
	e, err := domxml.Parse(`<domain type='qemu'><name>a</name><uuid>594cbeeb-f4e8-5706-bdae-d20c07c5e109</uuid><memory unit='KiB'>2048</memory>` +
		`<currentMemory unit='KiB'>1024</currentMemory><vcpu current='1'>2</vcpu><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>` +
		rest + `<devices>` + ports + `<memballoon model='virtio'/>` + devices + `</devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const (
	aDisk = `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/a'/><target dev='vda' bus='virtio'/><alias name='ua-a'/>%s</disk>`
	aNIC  = `<interface type='network'><mac address='52:54:00:00:00:01'/><source network='one'/><model type='virtio'/>%s<alias name='ua-lan'/></interface>`
	aCD   = `<disk type='file' device='cdrom'><driver name='qemu' type='raw'/><source file='/one.iso'/><target dev='sda' bus='scsi'/><readonly/><alias name='ua-cd'/></disk>`
)

// live compares a running machine with what is declared of it, and says it in lines.
func liveOf(t *testing.T, want, live *domxml.Element, rollout manifest.Rollout, change func(*Memory, *Assessment)) []string {
	t.Helper()
	i := &render.Instance{Name: "a", Config: "a", Rollout: rollout, State: manifest.StateRunning, Run: 1, Domain: want, Digest: "new"}
	meta := metadata.Metadata{Config: "a", Digest: "old", Run: 1, Outcome: metadata.OutcomeStarted, Applied: metadata.Pack(live)}
	next := meta
	next.Digest, next.Applied = "new", metadata.Pack(want)
	inactive, _, _ := domxml.Redefine(live, want, live, nil, live)
	d := &Domain{Name: "a", UUID: "594cbeeb-f4e8-5706-bdae-d20c07c5e109", ID: 7, State: DomainRunning, Persistent: true,
		Live: XML{Packed: Plain(live.String()), Hash: "l", Meta: &meta}, Inactive: XML{Packed: Plain(inactive.String()), Hash: "i", Meta: &next}}
	mem := Memory{Now: time.Unix(1000, 0)}
	a := assess(Wanted{Host: "h"}, i, d, mem, nil)
	if change != nil {
		change(&mem, &a)
		a = assess(Wanted{Host: "h"}, i, d, mem, nil)
	}
	var lines []string
	for _, action := range a.Actions {
		for _, s := range action.Steps {
			if s.Op == OpMetadata || s.Op == OpAutostart {
				continue
			}
			xml := strings.Join(strings.Fields(s.XML), " ")
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %v %s", action.Effect, s.Op, s.Device, s.Amount, s.Tune, xml)))
		}
	}
	for _, s := range a.Staged {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("staged %s %v %s", s.Path, s.Restart, s.Why)))
	}
	return lines
}

// TestLive is what a running machine that follows its config is given, and what waits.
func TestLive(t *testing.T) {
	disk := func(more string) string { return fmt.Sprintf(aDisk, more) }
	nic := func(more string) string { return fmt.Sprintf(aNIC, more) }
	for name, tt := range map[string]struct {
		live, want [2]string // devices, and the rest
		lines      []string  // each a part of the line
	}{
		"nothing":        {live: [2]string{disk("")}, want: [2]string{disk("")}},
		"a link":         {[2]string{nic("")}, [2]string{nic("<link state='down'/>")}, []string{"live update  0 [] <interface"}},
		"a network":      {[2]string{nic("")}, [2]string{strings.Replace(nic(""), "one", "two", 1)}, []string{"<source network='two'/>"}},
		"a bandwidth":    {[2]string{nic("")}, [2]string{nic("<bandwidth><inbound average='100'/></bandwidth>")}, []string{"<inbound average='100'/>"}},
		"to a bridge":    {[2]string{nic("")}, [2]string{strings.Replace(nic(""), "type='network'><mac address='52:54:00:00:00:01'/><source network='one'/>", "type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/>", 1)}, []string{"<source bridge='br0'/>"}},
		"to user":        {[2]string{nic("")}, [2]string{strings.Replace(strings.Replace(nic(""), "type='network'", "type='user'", 1), "<source network='one'/>", "", 1)}, []string{"staged networks[lan] true"}},
		"a model":        {[2]string{nic("")}, [2]string{strings.Replace(nic(""), "'virtio'", "'e1000e'", 1)}, []string{"staged domain.devices.interfaces[lan].model true"}},
		"link and model": {[2]string{nic("")}, [2]string{strings.Replace(nic("<link state='down'/>"), "'virtio'", "'e1000e'", 1)}, []string{"live update", "staged domain.devices.interfaces[lan].model true"}},
		"a boot order":   {[2]string{disk("")}, [2]string{disk("<boot order='1'/>")}, []string{"staged domain.devices.disks[a].bootOrder false"}},
		"a cache":        {[2]string{disk("")}, [2]string{strings.Replace(disk(""), "type='raw'", "type='raw' cache='none'", 1)}, []string{"staged domain.devices.disks[a].cache true"}},
		"a disk's file":  {[2]string{disk("")}, [2]string{strings.Replace(disk(""), "/a'", "/b'", 1)}, []string{"staged volumes[a] true"}},
		"a medium":       {[2]string{aCD}, [2]string{strings.Replace(aCD, "/one", "/two", 1)}, []string{"<source file='/two.iso'/>"}},
		"no medium":      {[2]string{aCD}, [2]string{strings.Replace(aCD, "<source file='/one.iso'/>", "", 1)}, []string{"live update  0 [] <disk type='file' device='cdrom'> <driver name='qemu' type='raw'/> <target"}},
		"limits":         {[2]string{disk("<iotune><read_iops_sec>5</read_iops_sec></iotune>")}, [2]string{disk("<iotune><total_bytes_sec>9</total_bytes_sec></iotune>")}, []string{"live tune vda 0 [read_iops_sec=0 total_bytes_sec=9]"}},
		"a disk":         {[2]string{disk("")}, [2]string{disk("") + strings.NewReplacer("ua-a", "ua-b", "/a", "/b", " dev='vda'", "").Replace(disk(""))}, []string{"live attach  0 [] <disk"}},
		"a SATA disk":    {[2]string{disk("")}, [2]string{disk("") + strings.NewReplacer("ua-a", "ua-b", "/a", "/b", " dev='vda' bus='virtio'", " bus='sata'").Replace(disk(""))}, []string{"staged domain.devices.disks[b] true"}},
		"no disk":        {[2]string{disk("")}, [2]string{}, []string{"live detach  0 [] <disk"}},
		"a host device":  {[2]string{}, [2]string{`<hostdev mode='subsystem' type='usb'><source><vendor id='0x1'/><product id='0x2'/></source><alias name='ua-u'/></hostdev>`}, []string{"live attach  0 [] <hostdev"}},
		"a watchdog":     {[2]string{}, [2]string{`<watchdog model='i6300esb' action='reset'><alias name='ua-w'/></watchdog>`}, []string{"staged domain.devices.watchdog true"}},
		"a password":     {[2]string{`<graphics type='vnc' passwd='a'/>`}, [2]string{`<graphics type='vnc' passwd='b'/>`}, []string{"passwd='b'"}},
		"a title":        {[2]string{}, [2]string{"", "<title>x</title>"}, []string{"live describe"}},
		"no more ports":  {[2]string{disk("")}, [2]string{disk("") + strings.NewReplacer("ua-a", "ua-b", "/a", "/b", " dev='vda'", "").Replace(disk("<address type='pci' bus='0x09'/>"))}, []string{"staged domain.devices.disks[b] true the running machine has no PCIe port left for it"}},
	} {
		t.Run(name, func(t *testing.T) {
			live, want := domainWith(t, tt.live[0], tt.live[1]), domainWith(t, tt.want[0], tt.want[1])
			lines := liveOf(t, want, live, manifest.RolloutLive, nil)
			if len(lines) != len(tt.lines) {
				t.Fatalf("got %q, want %q", lines, tt.lines)
			}
			for n, part := range tt.lines {
				if !strings.Contains(lines[n], part) {
					t.Errorf("got  %s\nwant %s", lines[n], part)
				}
			}
			for _, line := range liveOf(t, want, live, manifest.RolloutStage, nil) {
				if !strings.HasPrefix(line, "staged") {
					t.Errorf("under Stage: %s", line)
				}
			}
		})
	}
}

// TestRefused: what libvirt refuses and what the guest does not follow waits, with the reason; and is tried again in
// another run.
func TestRefused(t *testing.T) {
	live := domainWith(t, fmt.Sprintf(aNIC, ""), "")
	want := domainWith(t, fmt.Sprintf(aNIC, "<link state='down'/>"), "")
	tries := func(try Try) func(*Memory, *Assessment) {
		return func(m *Memory, a *Assessment) {
			name := a.Actions[slices.IndexFunc(a.Actions, func(x Action) bool { return x.Try != "" })].Try
			m.Tries = map[string]map[string]Try{"a": {name: try}}
		}
	}
	for name, tt := range map[string]struct {
		try   Try
		lines []string
	}{
		"refused":        {Try{ID: 7, Refused: "no"}, []string{"staged domain.devices.interfaces[lan].state true libvirt refuses it: no"}},
		"not followed":   {Try{ID: 7, At: time.Unix(900, 0)}, []string{"staged domain.devices.interfaces[lan].state true the guest was asked at 1970-01-01T00:15:00Z, and has not followed by 1970-01-01T00:15:30Z"}},
		"awaited":        {Try{ID: 7, At: time.Unix(990, 0)}, nil},
		"in another run": {Try{ID: 6, Refused: "no"}, []string{"live update"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := liveOf(t, want, live, manifest.RolloutLive, tries(tt.try))
			if len(lines) != len(tt.lines) {
				t.Fatalf("got %q, want %q", lines, tt.lines)
			}
			for n, part := range tt.lines {
				if !strings.Contains(lines[n], part) {
					t.Errorf("got  %s\nwant %s", lines[n], part)
				}
			}
		})
	}
}

// TestMemoryAndCPUs: within what the machine was started with.
func TestMemoryAndCPUs(t *testing.T) {
	live := domainWith(t, "", "")
	for name, tt := range map[string]struct {
		change func(*domxml.Element)
		line   string
	}{
		"memory":      {func(e *domxml.Element) { e.Child("currentMemory").Text = "1536" }, "live memory  1536"},
		"too much":    {func(e *domxml.Element) { e.Child("memory").Text, e.Child("currentMemory").Text = "4096", "4096" }, "staged domain.memory.guest true"},
		"the most":    {func(e *domxml.Element) { e.Child("memory").Text = "4096" }, "staged domain.memory.maxGuest true"},
		"CPUs":        {func(e *domxml.Element) { e.Child("vcpu").SetAttr("current", "2") }, "live vcpus  2"},
		"more CPUs":   {func(e *domxml.Element) { e.Child("vcpu").Text = "4" }, "staged domain.cpu true"},
		"the machine": {func(e *domxml.Element) { e.Child("os/type").SetAttr("machine", "pc-q35-8.0") }, "staged domain.machine.type true"},
	} {
		t.Run(name, func(t *testing.T) {
			want := live.Clone()
			tt.change(want)
			if lines := liveOf(t, want, live, manifest.RolloutLive, nil); len(lines) != 1 || !strings.HasPrefix(lines[0], tt.line) {
				t.Errorf("got %q, want %s", lines, tt.line)
			}
		})
	}
}
