package domxml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, s string) *Element {
	t.Helper()
	if s == "" {
		return nil
	}
	e, err := Parse(s)
	if err != nil {
		t.Fatalf("cannot parse %s: %v", s, err)
	}
	return e
}

func TestConverge(t *testing.T) {
	tests := []struct {
		name            string
		have, want, was string
		next            string
		changes         []Change
	}{
		{
			name: "what libvirt adds is no difference",
			have: `<domain type='kvm' id='3'><memory unit='KiB'>2097152</memory><vcpu placement='static'>2</vcpu><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os></domain>`,
			want: `<domain type='kvm'><memory unit='GiB'>2</memory><vcpu>2</vcpu><os><type machine='q35'>hvm</type></os></domain>`,
			next: `<domain type='kvm' id='3'><memory unit='KiB'>2097152</memory><vcpu placement='static'>2</vcpu><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os></domain>`,
		},
		{
			name:    "a changed amount",
			have:    `<domain><memory unit='KiB'>1024</memory></domain>`,
			want:    `<domain><memory unit='MiB'>2</memory></domain>`,
			next:    `<domain><memory unit='MiB'>2</memory></domain>`,
			changes: []Change{{"memory", "1024 KiB", "2 MiB"}},
		},
		{
			name:    "memory and current memory go down together",
			have:    `<domain><memory unit='KiB'>128</memory><currentMemory unit='KiB'>128</currentMemory></domain>`,
			want:    `<domain><memory unit='KiB'>64</memory><currentMemory unit='KiB'>64</currentMemory></domain>`,
			was:     `<domain><memory unit='KiB'>128</memory><currentMemory unit='KiB'>128</currentMemory></domain>`,
			next:    `<domain><memory unit='KiB'>64</memory><currentMemory unit='KiB'>64</currentMemory></domain>`,
			changes: []Change{{"memory", "128 KiB", "64 KiB"}, {"currentMemory", "128 KiB", "64 KiB"}},
		},
		{
			name: "devices are found by alias, not by position",
			have: `<domain><devices><disk><target dev='vda'/><alias name='ua-a'/></disk><disk><target dev='vdb'/><alias name='ua-b'/><address type='pci' bus='0x04'/></disk></devices></domain>`,
			want: `<domain><devices><disk><alias name='ua-b'/></disk><disk><alias name='ua-a'/></disk></devices></domain>`,
			next: `<domain><devices><disk><target dev='vda'/><alias name='ua-a'/></disk><disk><target dev='vdb'/><alias name='ua-b'/><address type='pci' bus='0x04'/></disk></devices></domain>`,
		},
		{
			name:    "a device no longer declared is removed, one never declared stays",
			have:    `<domain><devices><disk><target dev='vda'/><alias name='ua-a'/></disk><disk><target dev='vdz'/></disk><disk><target dev='vdb'/><alias name='ua-b'/></disk></devices></domain>`,
			want:    `<domain><devices><disk><alias name='ua-b'/></disk></devices></domain>`,
			was:     `<domain><devices><disk><alias name='ua-a'/></disk><disk><alias name='ua-b'/></disk></devices></domain>`,
			next:    `<domain><devices><disk><target dev='vdz'/></disk><disk><target dev='vdb'/><alias name='ua-b'/></disk></devices></domain>`,
			changes: []Change{{"devices/disk[a]", "dev=vda", ""}},
		},
		{
			name:    "a feature no longer declared is removed, what others put beside it stays",
			have:    `<domain><features><acpi/><hyperv mode='custom'><relaxed state='on'/><vapic state='on'/></hyperv></features></domain>`,
			want:    `<domain><features><acpi/></features></domain>`,
			was:     `<domain><features><acpi/><hyperv mode='custom'><relaxed state='on'/></hyperv></features></domain>`,
			next:    `<domain><features><acpi/><hyperv><vapic state='on'/></hyperv></features></domain>`,
			changes: []Change{{"features/hyperv", "mode=custom", ""}},
		},
		{
			name: "a source of another type replaces the old one",
			have: `<domain><devices><disk type='file'><source file='/a' index='1'/><target dev='vda'/><alias name='ua-a'/></disk></devices></domain>`,
			want: `<domain><devices><disk type='volume'><source pool='p' volume='v'/><alias name='ua-a'/></disk></devices></domain>`,
			was:  `<domain><devices><disk type='file'><source file='/a'/><alias name='ua-a'/></disk></devices></domain>`,
			next: `<domain><devices><disk type='volume'><target dev='vda'/><alias name='ua-a'/><source pool='p' volume='v'/></disk></devices></domain>`,
			changes: []Change{
				{"devices/disk[a]@type", "file", "volume"}, {"devices/disk[a]/source", "", "pool=p volume=v"},
			},
		},
		{
			name:    "a disk on another bus gives its place up",
			have:    `<domain><devices><disk><target dev='vda' bus='virtio'/><alias name='ua-a'/><address type='pci' bus='0x04'/></disk></devices></domain>`,
			want:    `<domain><devices><disk><target bus='sata'/><alias name='ua-a'/></disk></devices></domain>`,
			next:    `<domain><devices><disk><target bus='sata'/><alias name='ua-a'/></disk></devices></domain>`,
			changes: []Change{{"devices/disk[a]/target@bus", "virtio", "sata"}},
		},
		{
			name:    "lists are replaced whole",
			have:    `<domain><os><boot dev='hd'/><boot dev='network'/></os></domain>`,
			want:    `<domain><os><boot dev='network'/><boot dev='hd'/></os></domain>`,
			next:    `<domain><os><boot dev='network'/><boot dev='hd'/></os></domain>`,
			changes: []Change{{"os/boot", "dev=hd, dev=network", "dev=network, dev=hd"}},
		},
		{
			name: "a machine keeps what made it itself",
			have: `<domain type='kvm'><uuid>u</uuid><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os></domain>`,
			want: `<domain/>`,
			was:  `<domain type='kvm'><uuid>u</uuid><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os></domain>`,
			next: `<domain type='kvm'><uuid>u</uuid><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os></domain>`,
		},
		{
			name:    "passwords are shown as digests",
			have:    `<domain><devices><graphics type='vnc' passwd='old'/></devices></domain>`,
			want:    `<domain><devices><graphics type='vnc' passwd='new'/></devices></domain>`,
			next:    `<domain><devices><graphics type='vnc' passwd='new'/></devices></domain>`,
			changes: []Change{{"devices/graphics[vnc]@passwd", "sha256:c9e9b87d4b84", "sha256:11507a0e2f5e"}},
		},
		{
			name: "numbers are numbers",
			have: `<domain><devices><hostdev><source><address domain='0x0000' bus='0x06' slot='0x02' function='0x0'/></source></hostdev><interface><mac address='52:54:00:aa:bb:cc'/></interface></devices></domain>`,
			want: `<domain><devices><hostdev><source><address domain='0' bus='6' slot='2' function='0'/></source></hostdev><interface><mac address='52:54:00:AA:BB:CC'/></interface></devices></domain>`,
			next: `<domain><devices><hostdev><source><address domain='0x0000' bus='0x06' slot='0x02' function='0x0'/></source></hostdev><interface><mac address='52:54:00:aa:bb:cc'/></interface></devices></domain>`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			have, want, was := parse(t, tt.have), parse(t, tt.want), parse(t, tt.was)
			before := have.String()
			next, changes := Converge(have, want, was)
			if diff := cmp.Diff(parse(t, tt.next).String(), next.String()); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
			if have.String() != before {
				t.Error("the tree given was changed")
			}
			for i := range changes {
				if strings.HasPrefix(changes[i].From, "sha256:") && len(changes[i].From) != len("sha256:")+12 {
					t.Errorf("digest %q", changes[i].From)
				}
			}
			if tt.name == "passwords are shown as digests" {
				if len(changes) != 1 || strings.Contains(changes[0].From+changes[0].To, "old") || strings.Contains(changes[0].To, "new") {
					t.Errorf("changes = %v", changes)
				}
			} else if diff := cmp.Diff(tt.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if again := Compare(want, next, want); len(again) != 0 {
				t.Errorf("a second comparison finds %v", again)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"entities":        `<!DOCTYPE d [<!ENTITY a "b">]><domain>&a;</domain>`,
		"unknown entity":  `<domain>&a;</domain>`,
		"two roots":       `<domain/><domain/>`,
		"unclosed":        `<domain><devices></domain>`,
		"nothing":         ` `,
		"text outside":    `<domain/>x`,
		"attribute twice": `<domain a='1' a='2'/>`,
		"too deep":        strings.Repeat("<a>", 100),
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := Parse(text); err == nil {
				t.Errorf("accepted as %s", e)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`<domain type='kvm'><name>a&amp;b</name><devices><disk/></devices></domain>`)
	f.Add(`<a b="&#x9;&#xA;'">x<!-- c --><q:r xmlns:q='u'/></a>`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		written := e.String()
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if diff := cmp.Diff(written, again.String()); diff != "" {
			t.Errorf("written again (-first +second):\n%s", diff)
		}
		if changes := Compare(e, again, e); len(changes) != 0 {
			t.Errorf("it differs from itself: %v", changes)
		}
		if clone := e.Clone(); clone.String() != written {
			t.Error("the clone differs")
		}
	})
}
