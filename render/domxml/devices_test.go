package domxml

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	diskA = `<disk type='file'><source file='/a'/><target dev='vda' bus='virtio'/><alias name='ua-a'/><address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></disk>`
	diskB = `<disk type='file'><source file='/b'/><target dev='vdb' bus='virtio'/><alias name='ua-b'/><address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/></disk>`
	nic   = `<interface type='user'><mac address='52:54:00:00:00:01'/><model type='virtio'/><link state='up'/><alias name='ua-lan'/></interface>`
)

// TestDevicesSaysWhatCompareSays: the same changes, only sorted by device.
func TestDevicesSaysWhatCompareSays(t *testing.T) {
	domain := func(rest string, devices ...string) string {
		return "<domain>" + rest + "<devices>" + strings.Join(devices, "") + "</devices></domain>"
	}
	for name, tt := range map[string]struct {
		have, want, was string
		devices         []string
	}{
		"nothing":       {domain("", diskA), domain("", diskA), "", nil},
		"no devices":    {`<domain><vcpu>1</vcpu></domain>`, `<domain><vcpu>2</vcpu></domain>`, "", nil},
		"one comes":     {domain("", diskA), domain("", diskA, diskB), "", []string{"devices/disk[b]"}},
		"one goes":      {domain("", diskA, diskB), domain("", diskA), domain("", diskA, diskB), []string{"devices/disk[b]"}},
		"one of others": {domain("", diskA, diskB), domain("", diskA), domain("", diskA), nil},
		"one changes, and the memory": {domain("<memory>1</memory>", nic), domain("<memory>2</memory>", strings.ReplaceAll(nic, "'up'", "'down'")),
			"", []string{"devices/interface[lan]"}},
		"all go": {domain("", diskA, nic), `<domain><vcpu>1</vcpu></domain>`, domain("", diskA, nic), []string{"devices/disk[a]", "devices/interface[lan]"}},
	} {
		t.Run(name, func(t *testing.T) {
			have, want, was := parse(t, tt.have), parse(t, tt.want), parse(t, tt.was)
			devices, rest := Devices(have, want, was)
			var paths []string
			changes := slices.Clone(rest)
			for _, d := range devices {
				paths = append(paths, d.Path)
				changes = append(changes, d.Changes...)
				for _, c := range d.Changes {
					if is, whole := strings.HasPrefix(c.Path, d.Path), c.Path == d.Path; !is || whole != (d.Have == nil || d.Next == nil) {
						t.Errorf("%s is a device: %v, whole: %v", c.Path, is, whole)
					}
				}
			}
			slices.Sort(paths)
			if !slices.Equal(paths, tt.devices) {
				t.Errorf("devices %q, want %q", paths, tt.devices)
			}
			by := func(a, b Change) int { return strings.Compare(a.Path, b.Path) }
			all := Compare(want, have, was)
			slices.SortFunc(changes, by)
			slices.SortFunc(all, by)
			if diff := cmp.Diff(all, changes); diff != "" {
				t.Errorf("Compare says otherwise (-Compare +Devices):\n%s", diff)
			}
		})
	}
}

// TestPluggedDevicesStay: what was plugged into the running machine has the same place in its definition, and nothing
// else gets a place that is taken there.
func TestPluggedDevicesStay(t *testing.T) {
	ports := `<controller type='pci' index='0' model='pcie-root'/>`
	for _, n := range []string{"1", "2", "3", "4"} {
		ports += `<controller type='pci' index='` + n + `' model='pcie-root-port'/>`
	}
	domain := func(devices ...string) *Element {
		return parse(t, "<domain><os><type machine='q35'>hvm</type></os><devices>"+ports+strings.Join(devices, "")+"</devices></domain>")
	}
	plain := func(name string) string {
		return `<disk type='file'><source file='/` + name + `'/><target bus='virtio'/><alias name='ua-` + name + `'/></disk>`
	}
	hub := `<input type='tablet' bus='usb'><alias name='ua-pen'/><address type='usb' bus='0' port='3'/></input>`
	// b is plugged into the running machine alone; c is new, and so is the tablet.
	next, _, slots := Redefine(domain(diskA), domain(plain("a"), plain("c")), domain(plain("a")), nil, domain(diskA, diskB))
	if got := slots["c"]; got != (Slot{PCI: "0000:03:00.0", Dev: "vdc"}) {
		t.Errorf("c is at %v, where b is or beyond the first free place", got)
	}
	// Then b moves into the definition.
	next, _, slots = Redefine(next, domain(plain("a"), plain("c"), plain("b"), strings.Replace(hub, "<address type='usb' bus='0' port='3'/>", "", 1)),
		domain(plain("a"), plain("c")), slots, domain(diskA, diskB, hub))
	if got := slots["b"]; got != (Slot{PCI: "0000:02:00.0", Dev: "vdb"}) {
		t.Errorf("b is at %v, and runs elsewhere", got)
	}
	if got := Device(next, parse(t, hub)).Child("address").Attr("port"); got != "3" {
		t.Errorf("the tablet is at port %q, and runs at 3", got)
	}
	// A device of the same name on another bus begins anew.
	next, _, _ = Redefine(domain(diskA), domain(plain("a"), strings.Replace(plain("b"), "virtio", "scsi", 1)), domain(plain("a")), nil, domain(diskA, diskB))
	b := next.Child("devices").Children[len(next.Child("devices").Children)-1]
	if b.Child("address") != nil || b.Child("target").Attr("dev") != "sda" {
		t.Errorf("on another bus it keeps the old place:\n%s", b)
	}
}
