package imported_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/imported"
	"github.com/gitvirt/gitvirt/render/manifest"
)

var update = flag.Bool("update", false, "write the goldens anew")

// host is one on which nothing but the document says anything.
func host(name string) imported.Host {
	return imported.Host{
		Name: "kvm1", DomainType: "kvm", Emulator: "/usr/bin/qemu-system-x86_64",
		Capacity: func(pool, volume string) (int64, bool) {
			return 20 << 30, pool == "fast" && volume == "bare.root.qcow2"
		},
		Complete: func(text []byte) (*render.Instance, []manifest.Problem) {
			set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", text)}, func(string) ([]byte, bool) { return nil, false })
			if len(set.Problems) > 0 {
				return nil, set.Problems
			}
			p := render.Place(set, "kvm1")
			m, ok := p.Find(name)
			if !ok {
				return nil, []manifest.Problem{{Message: "there is no machine of this name"}}
			}
			return p.Of(m, render.Options{Fleet: "test", DomainType: "kvm"})
		},
	}
}

// TestGoldens: the documents of domains, as people get them.
func TestGoldens(t *testing.T) {
	const file = "testdata/machines.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var next []txtar.File
	want := map[string]string{}
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			want[f.Name] = string(f.Data)
			continue
		}
		xml, err := domxml.Parse(string(f.Data))
		if err != nil {
			t.Fatal(err)
		}
		before := xml.String()
		name := xml.Child("name").Text
		m, err := imported.Make(imported.Domain{XML: xml, State: manifest.StateRunning, RestartPolicy: manifest.RestartAlways}, host(name))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if m.Whole != nil {
			t.Errorf("%s is in libvirt's language alone: %v", f.Name, m.Whole)
		}
		if xml.String() != before {
			t.Errorf("%s has been changed", f.Name)
		}
		for _, secret := range []string{"geheim", "hunter2"} {
			if bytes.Contains(m.Text, []byte(secret)) {
				t.Errorf("a secret of %s is in its documents", f.Name)
			}
			if strings.Contains(before, secret) && len(m.Kept) == 0 {
				t.Errorf("nothing is said of what %s keeps", f.Name)
			}
		}
		next = append(next, f, txtar.File{Name: name + ".yaml", Data: m.Text})
	}
	if *update {
		a.Files = next
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, f := range next {
		if strings.HasSuffix(f.Name, ".yaml") {
			if diff := cmp.Diff(want[f.Name], string(f.Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", f.Name, diff)
			}
		}
	}
}

// TestWhatCannotBeSaid: what no document can say is an error, and no document.
func TestWhatCannotBeSaid(t *testing.T) {
	for name, tt := range map[string]struct{ xml, want string }{
		"a name":     {"<domain type='kvm'><name>Web_1</name><memory>1024</memory></domain>", "is no name for a machine"},
		"no name":    {"<domain type='kvm'><memory>1024</memory></domain>", "it is no <domain> with a name"},
		"a network":  {"<network><name>web</name></network>", "it is no <domain> with a name"},
		"no memory":  {"<domain type='kvm'><name>web</name></domain>", "how much memory"},
		"our record": {"<domain type='kvm'><name>web</name><memory>1024</memory><uuid>x</uuid></domain>", "would change"},
	} {
		xml, err := domxml.Parse(tt.xml)
		if err != nil {
			t.Fatal(err)
		}
		if name == "our record" {
			// A host that completes something else than the document says.
			h := host("web")
			complete := h.Complete
			h.Complete = func(text []byte) (*render.Instance, []manifest.Problem) {
				i, problems := complete(text)
				if i != nil {
					i.Domain.Append(domxml.New("title")).Text = "of a preset"
				}
				return i, problems
			}
			_, err = imported.Make(imported.Domain{XML: xml, State: manifest.StateStopped}, h)
			if wrong := (*imported.DifferenceError)(nil); !errors.As(err, &wrong) {
				t.Errorf("%s: %v is no difference", name, err)
			}
		} else {
			_, err = imported.Make(imported.Domain{XML: xml, State: manifest.StateStopped}, host("web"))
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// FuzzMake: whatever XML a domain has, its documents can be checked, render to it, and hold no password; or there are none.
func FuzzMake(f *testing.F) {
	a, err := txtar.ParseFile("testdata/machines.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(string(file.Data))
	}
	f.Add("<domain type='kvm'><name>a</name><memory>1</memory><vcpu>0</vcpu><cpu><topology sockets='0' cores='0' threads='0'/></cpu><devices><disk/><interface/></devices></domain>")
	f.Add("<domain type='kvm'><name>a</name><memory unit='EiB'>999999</memory><devices><graphics passwd='geheim-1'/><input type='tablet' bus='usb'><alias name='ua-A'/></input></devices></domain>")
	f.Fuzz(func(t *testing.T, text string) {
		xml, err := domxml.Parse(text)
		if err != nil || xml.Child("name") == nil {
			return
		}
		m, err := imported.Make(imported.Domain{XML: xml, State: manifest.StateStopped, RestartPolicy: manifest.RestartNever}, host(xml.Child("name").Text))
		if err != nil {
			return
		}
		if i, problems := host(xml.Child("name").Text).Complete(m.Text); i == nil {
			t.Errorf("the documents are not sound: %v\n%s", problems, m.Text)
		}
		devices := xml.Child("devices")
		if devices == nil {
			return
		}
		for _, d := range devices.Children {
			if passwd := d.Attr("passwd"); len(passwd) > 6 && strings.Count(text, passwd) == 1 && bytes.Contains(m.Text, []byte(passwd)) {
				t.Errorf("the password %q is in the documents:\n%s", passwd, m.Text)
			}
		}
	})
}
