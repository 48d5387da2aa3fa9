package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestComparisonIsExact does with domains of our own what the command does with any: libvirtd accepts each, no false difference is
// found, and every mutation is.
func TestComparisonIsExact(t *testing.T) {
	var out strings.Builder
	o := options{mutations: 100, seed: 1, asIs: true, minExact: 100, minFound: 100, jobs: 2, cache: sandboxtest.CapabilityCache(t)}
	ok, err := run(t.Context(), o, []string{"testdata"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if !ok || strings.Contains(out.String(), "refused: ") {
		t.Errorf("the comparison is not exact:\n%s", out.String())
	}
	for _, line := range []string{" validated 10 ", "zero false differences 10 of 10 100.00%"} {
		if !strings.Contains(squeezed(out.String()), squeezed(line)) {
			t.Errorf("it does not say %q:\n%s", line, out.String())
		}
	}
}

// TestImportIsExact imports the same domains: each comes through, and nothing but the record changes when it is adopted.
func TestImportIsExact(t *testing.T) {
	var out strings.Builder
	o := options{imports: true, asIs: true, minExact: 100, cache: sandboxtest.CapabilityCache(t)}
	ok, err := run(t.Context(), o, []string{"testdata"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"imported without a difference 10 of 10 100.00%", "in the template's words 10", "the same bytes with a record 10 of 10",
		"machines without domainXML", "disks and interfaces in libvirt's language, by reason"} {
		if !ok || !strings.Contains(squeezed(out.String()), line) {
			t.Errorf("it does not say %q:\n%s", line, out.String())
		}
	}
}

// TestFailedImportsAreTold: what did not come through is told, and is the exit.
func TestFailedImportsAreTold(t *testing.T) {
	var out strings.Builder
	all := []importing{
		{result: result{document: document{path: "a.xml"}, way: validated}, failed: errDied},
		{result: result{document: document{path: "b.xml"}, way: adapted}, machine: imported.Machine{Whole: errDied}, devices: 2, said: 1},
		{result: result{document: document{path: "c.xml"}, way: validated}, changed: []string{"vcpu"}},
		{result: result{document: document{path: "d.xml"}, way: refused}},
	}
	if reportImports(&out, options{minExact: 100}, all) {
		t.Error("it says that all is well")
	}
	for _, line := range []string{"a.xml: not imported: libvirtd died of it", "b.xml: imported in libvirt's language alone", "c.xml: changed when it is adopted: vcpu",
		"without a difference 2 of 3", "template's words 1 of 2 50.00%", "the same bytes with a record 1 of 3"} {
		if !strings.Contains(squeezed(out.String()), line) {
			t.Errorf("it does not say %q:\n%s", line, out.String())
		}
	}
}

// TestRemains: what domainXML says is counted by what it is of, but for where devices are.
func TestRemains(t *testing.T) {
	machine := func(xml string, left ...imported.Left) importing {
		i := importing{result: result{way: validated}, machine: imported.Machine{Left: left, Instance: &render.Instance{}}}
		i.machine.Instance.Spec.DomainXML = xml
		i.remain()
		return i
	}
	all := []importing{
		machine(""),
		machine("<domain><devices><controller type='usb' model='nec-xhci'/><disk><target dev='vda'/><address type='drive'/><alias name='ua-a'/></disk></devices></domain>"),
		machine("<domain><os><boot dev='hd'/></os><devices><disk><target dev='hda' bus='ide'/><alias name='ua-a'/></disk><disk device='floppy'/><video><address/></video></devices></domain>",
			imported.Left{Kind: "disk", Name: "fda", Why: "a floppy"}, imported.Left{Kind: "interface", Why: `the template: "a" is no name`}),
	}
	var out strings.Builder
	reportRemains(&out, all)
	for _, line := range []string{"without domainXML 1 of 3 33.33%", "or without it 2 of 3", "disk: a floppy 1", "interface: the template: … is no name 1", "devices/disk 1 os 1"} {
		if !strings.Contains(squeezed(out.String()), line) {
			t.Errorf("it does not say %q:\n%s", line, out.String())
		}
	}
}

// TestMissesAreTold gives a libvirtd's own answer that lost something, and wants the difference and the exit.
func TestMissesAreTold(t *testing.T) {
	domain := func(inner string) *domxml.Element {
		e, err := domxml.Parse("<domain>" + inner + "</domain>")
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	r := result{document: document{path: "a.xml"}, way: validated, want: domain(`<title>a</title><vcpu>2</vcpu>`), have: domain(`<vcpu>3</vcpu>`)}
	r.sort(domxml.Compare(r.want, r.have, r.want), "")
	r.mutations = []outcome{{mutation: mutation{kind: change, path: "vcpu", from: "2", to: "3"}, verdict: missed}, {verdict: found}, {verdict: void}}
	loose := r
	loose.way, loose.wrong, loose.lost, loose.mutations = unvalidated, nil, nil, nil
	loose.sort(domxml.Compare(r.want, r.have, r.want), "")
	var out strings.Builder
	if report(&out, options{minExact: 100, minFound: 100}, []result{r, loose}) {
		t.Error("it says that all is well")
	}
	for _, line := range []string{
		"a.xml: validated: difference: title:  -> a", "a.xml: validated: difference: vcpu: 3 -> 2", "a.xml: unvalidated: not kept: title:  -> a",
		`a.xml: missed: changed vcpu: "2" -> "3": []`, "found exactly 1 of 2 50.00%", "zero false differences 0 of 2 0.00%",
	} {
		if !strings.Contains(squeezed(out.String()), squeezed(line)) {
			t.Errorf("it does not say %q:\n%s", line, out.String())
		}
	}
	if !report(&out, options{minExact: 0, minFound: 50}, []result{r, loose}) {
		t.Error("it does not let the thresholds be lower")
	}
}

// squeezed is text with single spaces.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestOtherValues(t *testing.T) {
	words := vocabulary{"os/boot@dev": {"cdrom", "hd"}}
	chance := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct{ path, value, want string }{
		{"vcpu", "2", "3"}, {"a@bus", "0x0f", "0x10"}, {"a@state", "on", "off"}, {"memory@unit", "KiB", "MiB"}, {"os/boot@dev", "hd", "cdrom"},
		{"mac@address", "52:54:00:00:00:0f", "52:54:00:00:00:0e"}, {"vcpu@cpuset", "1-3", "1-4"}, {"source@file", "/a", "/ax"},
		{"uuid", "c7a5fdbd-edaf-9455-926a-d65c16db1809", "c7a5fdbd-edaf-9455-926a-d65c16db1808"}, {"devices/disk/alias@name", "ua-a", "ua-ax"},
	} {
		if got := words.other(tt.path, tt.value, chance); got != tt.want {
			t.Errorf("instead of %s %q comes %q, want %q", tt.path, tt.value, got, tt.want)
		}
	}
}

func TestExplains(t *testing.T) {
	for _, tt := range []struct {
		path    string
		changes []string
		want    bool
	}{
		{"memory@unit", []string{"memory"}, true},
		{"devices/disk/target@dev", []string{"devices/disk[a]/target@dev"}, true},
		{"devices/disk/target@dev", []string{"devices/disk[a]/target@bus"}, true}, // it is the same element
		{"devices/disk/target@dev", []string{"devices/disk[a]/source@file"}, false},
		{"devices/disk", []string{"devices/disk[a]"}, true},
		{"devices/disk", []string{"devices/disk[a]", "devices/disk[b]"}, false},
		{"vcpu", nil, false},
		{"q:commandline/q:arg@value", []string{"qemu:commandline/qemu:arg"}, true},
	} {
		var changes []domxml.Change
		for _, path := range tt.changes {
			changes = append(changes, domxml.Change{Path: path})
		}
		if got := (mutation{path: tt.path}).explains(changes); got != tt.want {
			t.Errorf("%s explains %v: %v", tt.path, tt.changes, got)
		}
	}
}

func TestSources(t *testing.T) {
	got := sourcesOf("# deb a b c\ndeb [arch=amd64] http://registry.example/debian stable main\ndeb-src http://registry.example/debian stable main\n", false) +
		sourcesOf("Types: deb\nURIs: http://registry.example/debian\nSuites: stable stable-updates\nComponents: main contrib\nSigned-By: /key.gpg\n", true)
	want := "deb-src [arch=amd64] http://registry.example/debian stable main\n" +
		"deb-src [signed-by=/key.gpg] http://registry.example/debian stable main contrib\n" +
		"deb-src [signed-by=/key.gpg] http://registry.example/debian stable-updates main contrib\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestDeathIsSurvived kills libvirtd in the middle.
func TestDeathIsSurvived(t *testing.T) {
	ctx := t.Context()
	d, err := startDaemon(ctx, sandboxtest.CapabilityCache(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	err = d.call(ctx, func() error {
		if err := d.sandbox.KillDaemon(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		_, err := d.client.ConnectGetLibVersion()
		return err
	})
	if err != errDied {
		t.Errorf("the error is %v", err)
	}
	if _, err := d.client.ConnectGetLibVersion(); err != nil {
		t.Errorf("there is no other libvirtd: %v", err)
	}
}

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.xml": "<domain type='kvm'><name>a</name></domain>", "same.xml": "<domain type='kvm'>\n<name>a</name></domain>", "net.xml": "<network/>",
		"broken.xml": "<domain", "b.txt": "<domain/>", "sub.xml": "<domainsnapshot><domain/></domainsnapshot>",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := readInputs([]string{dir})
	if err != nil || len(documents) != 1 || documents[0].path != "a.xml" {
		t.Errorf("inputs = %v, %v", documents, err)
	}
	if _, err := readInputs([]string{t.TempDir()}); err == nil {
		t.Error("a folder without inputs is no error")
	}
}
