package domxml

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// addresses does what libvirt does at a define: it gives a place to what has none, the first free root port.
func addresses(e *Element) {
	devices := e.Child("devices")
	used := map[string]bool{}
	for _, d := range devices.Children {
		used[pciAddress(d)] = true
	}
	for _, d := range devices.Children {
		if d.Child("address") != nil || !takesRootPort(d) {
			continue
		}
		for _, bus := range rootPorts(devices) {
			if a := portAddress(bus); !used[a] {
				used[a] = true
				d.Append(pciElement(a))
				break
			}
		}
	}
}

func machine(names ...string) *Element {
	e := New("domain", "type", "kvm")
	e.Append(New("os")).Append(New("type", "machine", "q35"))
	devices := e.Append(New("devices"))
	for _, name := range names {
		d := New("disk", "type", "volume")
		d.Append(New("target", "bus", "virtio"))
		if strings.HasPrefix(name, "nic") {
			d = New("interface", "type", "user")
			d.Append(New("model", "type", "virtio"))
		}
		d.Append(New("alias", "name", "ua-"+name))
		devices.Append(d)
	}
	return e
}

// TestPlacesNeverMove: over any sequence of edits no device that stays moves, none takes the place of one that went, and
// one that comes back is where it was.
func TestPlacesNeverMove(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "nic0"}
		want := machine(names...)
		have, slots := Create(want)
		addresses(have)
		ever := Slots{}
		for step := range 12 {
			for name, s := range slotsOf(have.Child("devices")) {
				if old, ok := ever[name]; ok && old != s {
					t.Fatalf("seed %d, step %d: %s moved from %v to %v", seed, step, name, old, s)
				}
				for other, o := range ever {
					if other != name && (o.PCI == s.PCI && s.PCI != "" || o.Dev == s.Dev && s.Dev != "") {
						t.Fatalf("seed %d, step %d: %s is at %v, which is %s's", seed, step, name, s, other)
					}
				}
				ever[name] = s
			}
			was := want
			if i := r.IntN(len(names)); r.IntN(2) == 0 && len(names) > 1 {
				names = slices.Delete(slices.Clone(names), i, i+1)
			} else if name := fmt.Sprintf("%s%d", []string{"d", "nic"}[r.IntN(2)], r.IntN(6)); !slices.Contains(names, name) {
				names = slices.Insert(slices.Clone(names), i, name)
			}
			want = machine(names...)
			have, _, slots = Redefine(have, want, was, slots, nil)
			addresses(have)
			if got := len(slotsOf(have.Child("devices"))); got != len(names) {
				t.Fatalf("seed %d, step %d: %d devices, want %d", seed, step, got, len(names))
			}
		}
	}
}

func TestTargetLetters(t *testing.T) {
	for n, want := range map[int]string{0: "a", 25: "z", 26: "aa", 27: "ab", 51: "az", 52: "ba"} {
		if got := letters(n); got != want {
			t.Errorf("letters(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestBootOrderReplacesBootKinds(t *testing.T) {
	have, err := Parse(`<domain><os><type>hvm</type><boot dev='hd'/></os><devices><disk><target dev='vda' bus='virtio'/><alias name='ua-a'/></disk></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse(`<domain><devices><disk><boot order='1'/><alias name='ua-a'/></disk></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	next, _, _ := Redefine(have, want, nil, nil, nil)
	if next.Child("os/boot") != nil {
		t.Errorf("libvirt refuses both:\n%s", next)
	}
}

func TestWhatTakesARootPort(t *testing.T) {
	for text, want := range map[string]bool{
		`<hostdev mode='subsystem' type='pci'/>`:                                 true,
		`<hostdev mode='subsystem' type='mdev'/>`:                                true,
		`<hostdev mode='subsystem' type='usb'/>`:                                 false,
		`<input type='tablet' bus='virtio'/>`:                                    true,
		`<input type='tablet' bus='usb'/>`:                                       false,
		`<rng model='virtio'/>`:                                                  true,
		`<rng model='virtio-transitional'/>`:                                     false,
		`<disk model='virtio-transitional'><target bus='virtio'/></disk>`:        false,
		`<interface type='user'><model type='virtio-transitional'/></interface>`: false,
		`<interface type='hostdev'/>`:                                            true,
		`<vsock model='virtio-transitional'/>`:                                   false,
	} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := takesRootPort(d); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestOldPlacesAreLeft: a device that changes its bus, or is given an address of another kind, keeps nothing of the old.
func TestOldPlacesAreLeft(t *testing.T) {
	for name, tt := range map[string]struct{ have, want, address string }{
		"an input's bus": {`<input type='tablet' bus='usb'><alias name='ua-t'/><address type='usb' bus='0' port='1'/></input>`,
			`<input type='tablet' bus='virtio'><alias name='ua-t'/></input>`, ""},
		"an input that stays": {`<input type='tablet' bus='usb'><alias name='ua-t'/><address type='usb' bus='0' port='1'/></input>`,
			`<input type='tablet' bus='usb'><alias name='ua-t'/></input>`, "<address type='usb' bus='0' port='1'/>"},
		"a given address": {`<disk><target dev='sda' bus='sata'/><alias name='ua-t'/><address type='drive' controller='0' unit='0'/></disk>`,
			`<disk><target bus='virtio'/><alias name='ua-t'/><address type='pci' bus='0x02'/></disk>`, "<address type='pci' bus='0x02'/>"},
		"another address": {`<disk><target dev='vda' bus='virtio'/><alias name='ua-t'/><address type='pci' bus='0x01' slot='0x00'/></disk>`,
			`<disk><target bus='virtio'/><alias name='ua-t'/><address type='pci' bus='0x02'/></disk>`, "<address type='pci' bus='0x02' slot='0x00'/>"},
	} {
		t.Run(name, func(t *testing.T) {
			parse := func(device string) *Element {
				e, err := Parse("<domain><devices>" + device + "</devices></domain>")
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			next, _ := Converge(parse(tt.have), parse(tt.want), nil)
			got := ""
			if a := next.Child("devices").Children[0].Child("address"); a != nil {
				got = strings.TrimSpace(a.String())
			}
			if got != tt.address {
				t.Errorf("the address is %q, want %q", got, tt.address)
			}
		})
	}
}
