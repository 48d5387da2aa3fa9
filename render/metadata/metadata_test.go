package metadata

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func full(t testing.TB) Metadata {
	t.Helper()
	e, err := domxml.Parse("<domain><devices><graphics passwd='geheim'/></devices></domain>")
	if err != nil {
		t.Fatal(err)
	}
	return Metadata{
		Config: "web", Revision: "abc", Digest: "sha256:1", Flavour: "small", Run: 3, UID: "u", Outcome: OutcomeStarted, Paused: true,
		Started: "sha256:1", Good: Version{"abc", "sha256:1"}, Failed: Failure{Version{"def", "sha256:2"}, "the guest's agent says \"no\""},
		DeletionPolicy: "Delete", GraceSeconds: 60,
		Volumes: []Volume{{Name: "root", Pool: "default", File: "web.root.qcow2", Size: 1 << 30, Keep: true, Image: "0123456789ab"}, {Name: "init", Pool: "default", File: "i.iso"}},
		Secrets: []Secret{{"chap", "hmac:00"}},
		Unnamed: []string{"nic", "sda"},
		Slots:   domxml.Slots{"root": {PCI: "0000:04:00.0", Dev: "vda"}, "init": {Dev: "sda"}},
		Applied: Pack(e),
	}
}

func TestRoundTrip(t *testing.T) {
	m := full(t)
	domain, err := domxml.Parse("<domain><name>web</name><metadata><other:x xmlns:other='o'/></metadata></domain>")
	if err != nil {
		t.Fatal(err)
	}
	m.Put(domain)
	m.Put(domain) // once more: in place of the first
	if n := len(domain.Child("metadata").Children); n != 2 {
		t.Errorf("%d elements of metadata, want others' and ours:\n%s", n, domain)
	}
	got, err := Parse(domain.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&m, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	applied, err := Unpack(got.Applied)
	if err != nil {
		t.Fatal(err)
	}
	if p := applied.Child("devices/graphics").Attr("passwd"); p == "geheim" || p == "" {
		t.Errorf("the password is kept as %q", p)
	}
}

func TestParseOthers(t *testing.T) {
	for name, text := range map[string]string{
		"no metadata":       "<domain/>",
		"another namespace": "<domain><metadata><gitvirt:domain xmlns:gitvirt='other'></gitvirt:domain></metadata></domain>",
		"in a text":         "<domain><description>&lt;gitvirt:domain&gt;</description></domain>",
	} {
		if m, err := Parse(text); m != nil || err != nil {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for name, text := range map[string]string{
		"not closed": "<gitvirt:domain xmlns:gitvirt='" + Namespace + "'>",
		"no number":  "<gitvirt:domain xmlns:gitvirt='" + Namespace + "'><gitvirt:run number='x'/></gitvirt:domain>",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	m := full(f)
	f.Add(m.XML())
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil || m == nil {
			return
		}
		again, err := Parse(m.XML())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, m.XML())
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		_, _ = Unpack(m.Applied) // never panics
	})
}
