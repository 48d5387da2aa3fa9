package reconcile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/source"
)

// folder is a revision of files, by path.
func folder(t *testing.T, files map[string]string) *source.Snapshot {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := source.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const head = "apiVersion: gitvirt.io/v1alpha1\nkind: "

func configText(name, rest string) string {
	return head + "VirtualMachineInstanceConfig\nmetadata: {name: " + name + ", labels: {of: " + name + "}}\nspec:\n  template:\n    spec:\n      domain: {memory: {guest: 64Mi}}\n      " + rest + "\n"
}

func runText(name, host string) string {
	return head + "RunState\nmetadata: {name: " + name + "}\nspec: {host: " + host + "}\n"
}

func viewOf(t *testing.T, d *Documents, s *source.Snapshot, host string) View {
	t.Helper()
	set, err := d.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.View(s, set, nil, "", Scope{Host: host, Options: render.Options{Fleet: "f", DomainType: "qemu"}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestATextAloneChanges: a revision in which only a file with domain XML differs is another one for the machine that names it.
func TestATextAloneChanges(t *testing.T) {
	d := NewDocuments("kvm1")
	files := map[string]string{"web.yaml": configText("web", "domainXMLFrom: web.xml") + "---\n" + runText("web", "kvm1"), "web.xml": "<domain><title>one</title></domain>"}
	first := viewOf(t, d, folder(t, files), "kvm1")
	files["web.xml"] = "<domain><title>two</title></domain>"
	second := viewOf(t, d, folder(t, files), "kvm1")
	if a, b := first.Instances[0].Domain.Child("title").Text, second.Instances[0].Domain.Child("title").Text; a != "one" || b != "two" {
		t.Errorf("the titles are %q and %q", a, b)
	}
}

// TestOfOtherHostsLittleIsKept: what an agent makes of a revision is the same whether or not it leaves out what is of other hosts,
// and it can still say where those machines are, and what a config is of that it left out.
func TestOfOtherHostsLittleIsKept(t *testing.T) {
	files := map[string]string{
		"group.yaml": head + "VirtualMachineGroup\nmetadata: {name: g}\nspec: {config: shared, replicas: 4, hosts: [kvm1, kvm2]}\n---\n" + configText("shared", ""),
		"idle.yaml":  configText("idle", ""),
	}
	for n := range 40 {
		name, host := fmt.Sprintf("vm-%02d", n), fmt.Sprintf("kvm%d", n%4)
		files[host+"/"+name+".yaml"] = configText(name, "") + "---\n" + runText(name, host)
	}
	s := folder(t, files)
	lean, whole := NewDocuments("kvm1"), NewDocuments("")
	got, want := viewOf(t, lean, s, "kvm1"), viewOf(t, whole, s, "kvm1")
	if len(got.Instances) != 12 || len(got.Instances) != len(want.Instances) {
		t.Fatalf("%d instances, want %d", len(got.Instances), len(want.Instances))
	}
	for n, i := range got.Instances {
		if i.Name != want.Instances[n].Name || i.Digest != want.Instances[n].Digest {
			t.Errorf("%s is %s, want %s %s", i.Name, i.Digest, want.Instances[n].Name, want.Instances[n].Digest)
		}
	}
	if len(got.Set.Configs) != 11 || len(got.Set.RunStates) != 10 || got.Set.Size() != want.Set.Size() {
		t.Errorf("%d configs and %d run states are kept of %d documents", len(got.Set.Configs), len(got.Set.RunStates), got.Set.Size())
	}
	for name := range want.Set.RunStates {
		a, away := got.elsewhere(name)
		b, other := want.elsewhere(name)
		if a != b || away != other {
			t.Errorf("%s is at %v, want %v", name, a, b)
		}
	}
	full, err := lean.Whole(s, got.Set, "vm-02")
	if err != nil || full.Configs["vm-02"] == nil || full.RunStates["vm-02"].Spec.Host != "kvm2" {
		t.Errorf("what was left out does not come back: %v", err)
	}
	if m := got.Set.Find("VirtualMachineInstanceConfig", "vm-03").Metadata(); m.Name != "vm-03" || m.Labels["of"] != "vm-03" {
		t.Errorf("a config that was left out is called %+v", m)
	}
	// A machine that moves here comes with its config, though that has not changed.
	files["kvm2/vm-02.yaml"] = strings.Replace(files["kvm2/vm-02.yaml"], "host: kvm2", "host: kvm1", 1)
	if moved := viewOf(t, lean, folder(t, files), "kvm1"); len(moved.Instances) != 13 {
		t.Errorf("%d instances after one has moved here", len(moved.Instances))
	}
}
