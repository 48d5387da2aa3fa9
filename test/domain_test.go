package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// define defines a domain as a person would, with validation, and returns what libvirt made of it.
func define(t *testing.T, s *sandbox.Sandbox, e *domxml.Element) *domxml.Element {
	t.Helper()
	file := filepath.Join(t.TempDir(), "domain.xml")
	if err := os.WriteFile(file, []byte(e.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Virsh(t.Context(), "define", "--validate", file); err != nil {
		t.Fatalf("cannot define: %v\n%s\n%s", err, out, e)
	}
	return inactive(t, s, e.Child("name").Text)
}

func inactive(t *testing.T, s *sandbox.Sandbox, name string) *domxml.Element {
	t.Helper()
	out, err := s.Virsh(t.Context(), "dumpxml", "--inactive", "--security-info", name)
	if err != nil {
		t.Fatal(err)
	}
	return parseXML(t, out)
}

func parseXML(t *testing.T, text string) *domxml.Element {
	t.Helper()
	e, err := domxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// emulated makes a domain one that any machine can define, and a libvirtd that is not root's: that one starts no virtiofsd,
// and takes a socket in place of the folder.
func emulated(e *domxml.Element) *domxml.Element {
	e.SetAttr("type", "qemu")
	if cpu := e.Child("cpu"); cpu.Attr("mode") == "host-passthrough" {
		cpu.SetAttr("mode", "maximum")
	}
	for _, d := range e.Child("devices").Children {
		if source := d.Child("source"); d.Name == "filesystem" {
			source.SetAttr("socket", source.Attr("dir"))
			source.RemoveAttr("dir")
		}
	}
	return e
}

// TestRenderedDomainsAreKept defines what the goldens hold: libvirt accepts it, with validation, keeps all that is declared,
// and a second definition changes nothing.
func TestRenderedDomainsAreKept(t *testing.T) {
	s := sandboxtest.Start(t)
	archives, err := filepath.Glob("../render/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".new.xml")
			if !ok {
				continue
			}
			tried++
			t.Run(filepath.Base(name), func(t *testing.T) {
				want := emulated(parseXML(t, string(f.Data)))
				have := define(t, s, want)
				for _, c := range domxml.Compare(want, have, want) {
					t.Errorf("%s: %q instead of %q", c.Path, c.From, c.To)
				}
				next, _, _ := domxml.Redefine(have, want, want, nil, nil)
				// libvirt may write its controllers in another order the second time; nothing moves by that.
				second := define(t, s, next)
				for _, c := range append(domxml.Compare(have, second, nil), domxml.Compare(second, have, nil)...) {
					t.Errorf("a second definition changes %s from %q to %q", c.Path, c.From, c.To)
				}
			})
		}
	}
	if tried < 26 {
		t.Errorf("only %d goldens were tried", tried)
	}
}

// TestDevicesKeepTheirPlacesInLibvirt removes the middle disk of three and adds a NIC: no device that stays moves, over
// redefinition and restart, and the disk that comes back is where it was.
func TestDevicesKeepTheirPlacesInLibvirt(t *testing.T) {
	s := sandboxtest.Start(t)
	machine := func(devices ...string) *domxml.Element {
		e := parseXML(t, `<domain type='qemu'><name>m</name><memory unit='MiB'>16</memory><os><type machine='q35'>hvm</type></os><devices/></domain>`)
		for _, name := range devices {
			d := `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='` + s.PoolDir() + `/` + name +
				`.img'/><target bus='virtio'/><alias name='ua-` + name + `'/></disk>`
			if strings.HasPrefix(name, "nic") {
				d = `<interface type='user'><mac address='52:00:00:00:00:0` + name[3:] + `'/><model type='virtio'/><alias name='ua-` + name + `'/></interface>`
			} else if err := os.WriteFile(filepath.Join(s.PoolDir(), name+".img"), make([]byte, 1<<20), 0o666); err != nil {
				t.Fatal(err)
			}
			e.Child("devices").Append(parseXML(t, d))
		}
		return e
	}
	virsh := func(args ...string) string {
		out, err := s.Virsh(t.Context(), args...)
		if err != nil {
			t.Fatalf("virsh %v: %v\n%s", args, err, out)
		}
		return out
	}
	want := machine("a", "b", "c", "nic0")
	created, slots := domxml.Create(want)
	have := define(t, s, created)
	first := places(have)
	for _, devices := range [][]string{
		{"a", "c", "nic0"}, {"a", "c", "nic0", "nic1"}, {"c", "nic1", "a", "d", "nic0"}, {"a", "b", "c", "nic0", "nic1", "d"},
	} {
		was := want
		want = machine(devices...)
		var next *domxml.Element
		next, _, slots = domxml.Redefine(have, want, was, slots, nil)
		have = define(t, s, next)
		now := places(have)
		for device, place := range first {
			if at, ok := now[device]; ok && at != place {
				t.Errorf("with %v, %s moved from %s to %s", devices, device, place, at)
			}
		}
		for device, place := range now {
			for other, others := range first {
				if device != other && place == others {
					t.Errorf("with %v, %s took the place of %s", devices, device, other)
				}
			}
			first[device] = place
		}
		virsh("start", "--paused", "m")
		if diff := cmp.Diff(now, places(parseXML(t, virsh("dumpxml", "m")))); diff != "" {
			t.Errorf("with %v, the start moved devices (-inactive +live):\n%s", devices, diff)
		}
		virsh("destroy", "m")
	}
	if len(first) != 6 {
		t.Errorf("places = %v", first)
	}
}

// places are the addresses and target names of the named devices.
func places(domain *domxml.Element) map[string]string {
	at := map[string]string{}
	for _, d := range domain.Child("devices").Children {
		if name := d.UserAlias(); name != "" {
			a := d.Child("address")
			at[name] = strings.Join([]string{a.Attr("type"), a.Attr("bus"), a.Attr("slot"), a.Attr("function"), d.Child("target").Attr("dev")}, " ")
			if d.Name == "interface" {
				at[name] = strings.Join([]string{a.Attr("type"), a.Attr("bus"), a.Attr("slot"), a.Attr("function")}, " ")
			}
		}
	}
	return at
}
