package policy_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

// links are a host's files, as far as they are links.
type links map[string]string

func (l links) Resolve(p string) (string, error) {
	p = path.Clean(p)
	for from, to := range l {
		if p == from || strings.HasPrefix(p, from+"/") {
			return to + strings.TrimPrefix(p, from), nil
		}
	}
	return p, nil
}

var files = links{"/allowed/link": "/etc/shadow", "/linked": "/real"}

// strict is the default, with folders of the host beside it.
func strict() policy.Policy {
	p := policy.Default()
	p.HostPaths = []string{"/allowed", "/linked"}
	return p
}

// machine completes one config of a template spec.
func machine(t testing.TB, spec string) *render.Instance {
	t.Helper()
	i, problems := complete(spec)
	if len(problems) > 0 {
		t.Fatalf("%s\n%s", problems, spec)
	}
	return i
}

func complete(spec string) (*render.Instance, []manifest.Problem) {
	text := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n" + indent(spec, 6) +
		"---\napiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: web}\nspec: {host: kvm1}\n"
	set := manifest.Collect([]manifest.File{manifest.Read("web.yaml", []byte(text))}, func(string) ([]byte, bool) { return nil, false })
	if len(set.Problems) > 0 {
		return nil, set.Problems
	}
	placed := render.Place(set, "")
	m, ok := placed.Find("web")
	if !ok {
		return nil, placed.Problems
	}
	return placed.Of(m, render.Options{Fleet: "test", Revision: "c0ffee"})
}

func indent(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString(strings.Repeat(" ", n) + line)
	}
	return b.String()
}

const plainSpec = `domain:
  memory: {guest: 1Gi}
  devices: {disks: [{name: data}]}
volumes: [{name: data, volume: {size: 1Gi, format: raw}}]
`

// said is a machine with something in libvirt's own language.
func said(t *testing.T, name, xml string) *render.Instance {
	t.Helper()
	if strings.HasSuffix(name, ".devices") {
		xml = "<devices>" + xml + "</devices>"
	}
	return machine(t, plainSpec+"domainXML: |\n"+indent("<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n"+xml+"\n</domain>", 2))
}

func archive(t *testing.T, file string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

func TestWhatReachesOutIsRefusedByItsRule(t *testing.T) {
	var golden strings.Builder
	tested := map[string]bool{}
	for _, f := range archive(t, "testdata/refused.txtar") {
		rule := path.Dir(f.Name)
		tested[rule] = true
		t.Run(f.Name, func(t *testing.T) {
			found := policy.Check(strict(), said(t, f.Name, string(f.Data)), files).Refusals
			if !slices.ContainsFunc(found, func(r policy.Refusal) bool { return r.Rule == rule }) {
				t.Errorf("no rule %s in %v", rule, found)
			}
			fmt.Fprintf(&golden, "-- %s --\n", f.Name)
			for _, r := range found {
				if r.Field != "domainXML" && f.Name != "disk-format/own-volume.devices" {
					t.Errorf("the field is %q", r.Field)
				}
				fmt.Fprintf(&golden, "%s\n", r)
			}
		})
	}
	same(t, "testdata/refused.golden", golden.String())
	// The rest is tested below, and needs no XML.
	for _, rule := range []string{"image", "probe", "vm-cpus", "vm-memory", "vm-disk", "host-cpus", "host-memory", "host-disk", "network", "pool"} {
		tested[rule] = true
	}
	for _, rule := range policy.Rules() {
		if !tested[rule] {
			t.Errorf("no test breaks the rule %s", rule)
		}
	}
}

func same(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatStaysInsideIsFree(t *testing.T) {
	for _, f := range archive(t, "testdata/allowed.txtar") {
		t.Run(f.Name, func(t *testing.T) {
			if found := policy.Check(strict(), said(t, f.Name, string(f.Data)), files).Refusals; len(found) > 0 {
				t.Error(found)
			}
		})
	}
}

// TestEveryRefusalSaysWhatLiftsIt does what the message says, and wants the refusal gone.
func TestEveryRefusalSaysWhatLiftsIt(t *testing.T) {
	for _, f := range archive(t, "testdata/refused.txtar") {
		t.Run(f.Name, func(t *testing.T) {
			i := said(t, f.Name, string(f.Data))
			p := strict()
			before := policy.Check(p, i, files).Refusals
			for range 12 {
				found := policy.Check(p, i, files).Refusals
				if len(found) == 0 || strings.HasSuffix(found[0].Message, "nothing allows that") || strings.HasSuffix(found[0].Message, "nothing allows it") {
					return
				}
				lift(t, &p, found[0])
			}
			t.Errorf("it takes more than 12 words to allow %v, of which are left %v", before, policy.Check(p, i, files).Refusals)
		})
	}
}

// lift puts into a policy what a refusal's message asks for.
func lift(t *testing.T, p *policy.Policy, r policy.Refusal) {
	t.Helper()
	switch {
	case strings.Contains(r.Message, "policy.domainXML.allow"):
		entry := r.Path
		if r.Value != "" && strings.Contains(r.Path, "@") {
			entry += "=" + r.Value
		}
		p.Elements = append(p.Elements, entry)
	case strings.Contains(r.Message, "policy.hostDevices"):
		p.HostDevices = append(p.HostDevices, r.Value)
	case strings.Contains(r.Message, "policy.hostPaths"):
		real, _ := files.Resolve(r.Value)
		p.HostPaths = append(p.HostPaths, real)
	case strings.Contains(r.Message, "policy.bridges"):
		p.Bridges = append(p.Bridges, r.Value)
	case strings.Contains(r.Message, "policy.pools"):
		p.Pools = append(p.Pools, "default/"+r.Value)
	default:
		t.Fatalf("it does not say what lifts it: %s", r)
	}
}

// TestEverythingTheRendererSaysIsKnown: the examples, and every field that a template has, break no rule but those that have a
// key of their own.
func TestEverythingTheRendererSaysIsKnown(t *testing.T) {
	p := policy.Default()
	p.HostPaths, p.HostDevices, p.Bridges, p.Storage = []string{"/"}, []string{"*"}, []string{"*"}, []string{"*"}
	placeholder := regexp.MustCompile(`"@[A-Z]+@"`) // the demo puts its own files there
	folders, err := filepath.Glob("../../examples/*")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, folder := range folders {
		for _, i := range instances(t, folder) {
			checked++
			for _, r := range policy.Check(p, i, policy.Lexical{}).Refusals {
				if placeholder.MatchString(r.Message) {
					continue
				}
				t.Errorf("%s: %s: %s", folder, i.Name, r)
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d instances were checked", checked)
	}
}

// TestExamplesNeedLittle: what a first run needs, it has without a policy; the rest of the examples needs what is listed here.
func TestExamplesNeedLittle(t *testing.T) {
	want := map[string][]string{
		"demo":     {`char-device-file: "@CONSOLE@"`, `kernel: "@INITRD@"`, `kernel: "@KERNEL@"`},
		"one-vm":   nil,
		"team":     {`bridge: "br0"`},
		"kubevirt": {`bridge: "br1"`, `host-path: "/srv/uploads.img"`},
	}
	for folder, rules := range want {
		broken := map[string]bool{}
		for _, i := range instances(t, "../../examples/"+folder) {
			for _, r := range policy.Check(policy.Default(), i, policy.Lexical{}).Refusals {
				broken[fmt.Sprintf("%s: %q", r.Rule, r.Value)] = true
			}
		}
		if got := slices.Sorted(maps.Keys(broken)); !slices.Equal(got, rules) {
			t.Errorf("%s needs %q, want %q", folder, got, rules)
		}
	}
}

func instances(t *testing.T, folder string) []*render.Instance {
	t.Helper()
	var read []manifest.File
	names, err := filepath.Glob(folder + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, manifest.Read(filepath.Base(name), text))
	}
	placed := render.Place(manifest.Collect(read, func(name string) ([]byte, bool) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		return text, err == nil
	}), "kvm1")
	var all []*render.Instance
	for _, m := range placed.Machines {
		i, problems := placed.Of(m, render.Options{Fleet: "test"})
		if i == nil {
			t.Fatalf("%s: %s", m.Run.Metadata.Name, problems)
		}
		all = append(all, i)
	}
	return all
}

// FuzzCheck wants no panic, the same answer twice, and no refused thing let through by what stands beside it.
func FuzzCheck(f *testing.F) {
	a, err := txtar.ParseFile("testdata/refused.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(string(file.Data))
	}
	base := machine(f, plainSpec)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := domxml.Parse("<domain type='kvm'><devices>" + text + "</devices></domain>")
		if err != nil {
			return
		}
		i := *base
		i.Domain = e
		first := policy.Check(policy.Default(), &i, files)
		if again := policy.Check(policy.Default(), &i, files); !cmp.Equal(first, again) {
			t.Error("two checks differ")
		}
		if strings.Contains(text, "<emulator") && e.Child("devices/emulator") != nil && len(first.Refusals) == 0 {
			t.Errorf("an emulator passes: %s", text)
		}
		i.Domain = domxml.Merge(base.Domain, e)
		if merged := policy.Check(policy.Default(), &i, files); len(first.Refusals) > 0 && len(merged.Refusals) == 0 && e.Child("devices/emulator") != nil {
			t.Errorf("merging hides an emulator: %s", text)
		}
	})
}
