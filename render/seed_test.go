package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// setUp completes the machine web on kvm1 with a seed, and files of the repository beside it.
func setUp(config, seed string, run int, files map[string]string) (*render.Instance, []manifest.Problem) {
	doc := fmt.Sprintf(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec: {%s template: {spec: {domain: {memory: {guest: 1Gi}, devices: {disks: [{name: init, cdrom: {}}]}}, volumes: [{name: init, %s}]}}}
---
apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: web}
spec: {host: kvm1, run: %d}
`, config, seed, run)
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(doc))}, func(name string) ([]byte, bool) {
		text, ok := files[name]
		return []byte(text), ok
	})
	if len(set.Problems) > 0 {
		return nil, set.Problems
	}
	p := render.Place(set, "")
	return p.Of(p.Machines[0], render.Options{Fleet: "f"})
}

// TestPlaceholders: what stands for what, and what stays as it is.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]string{
		"$(gitvirt.name) $(gitvirt.hostname) $(gitvirt.host) $(gitvirt.run)": "web web kvm1 3",
		"$(hostname) ${gitvirt.name} $gitvirt.name {{ gitvirt.name }}":       "$(hostname) ${gitvirt.name} $gitvirt.name {{ gitvirt.name }}",
		"$$(gitvirt.name) $$$(gitvirt.name) $$(gitvirt.":                     "$(gitvirt.name) $$(gitvirt.name) $(gitvirt.",
		"$(gitvirt.name)$(gitvirt.name":                                      "",
		"$(gitvirt.)":                                                        "",
		"$(gitvirt.Name)":                                                    "",
		"$(gitvirt.nom)":                                                     "",
		"$(gitvirt.ordinal)":                                                 "",
		"$(gitvirt." + strings.Repeat("a", 1000) + ")":                       "",
		"\x00\xff$(gitvirt.name)\xfe":                                        "\x00\xffweb\xfe",
	} {
		i, problems := setUp("", "cloudInitNoCloud: {userDataFrom: f}", 3, map[string]string{"f": text})
		switch {
		case want == "" && len(problems) != 1:
			t.Errorf("%q: %v", text, problems)
		case want == "":
			if p := problems[0]; !strings.HasSuffix(p.Field, "volumes[0].cloudInitNoCloud.userDataFrom") || !strings.Contains(p.Message, "f: line 1: ") {
				t.Errorf("%q: %v", text, p)
			}
		case i == nil:
			t.Errorf("%q: %v", text, problems)
		default:
			if got := string(i.Volumes[0].Seed["user-data"]); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
}

// TestSeedNames: the name of a seed's file says what an edit of it means to a guest that has read it.
func TestSeedNames(t *testing.T) {
	name := func(config, seed string, run int) string {
		t.Helper()
		i, problems := setUp(config, seed, run, nil)
		if i == nil {
			t.Fatal(problems)
		}
		return i.Volumes[0].File
	}
	const once, every = "", "cloudInitPolicy: EveryRun,"
	seed := func(words string) string { return "cloudInitNoCloud: {" + words + "}" }
	for _, test := range []struct {
		name, before, after string
		want                render.SeedChange
	}{
		{"edited", name(once, seed("userData: a"), 1), name(once, seed("userData: b"), 1), render.SeedWaits},
		{"edited meta data", name(once, seed("userData: a"), 1), name(once, seed(`userData: a, metaData: "a: b"`), 1), render.SeedWaits},
		{"edited drive", name(once, "cloudInitConfigDrive: {userData: a}", 1), name(once, "cloudInitConfigDrive: {userData: b}", 1), render.SeedWaits},
		{"edited, in every run", name(every, seed("userData: a"), 1), name(every, seed("userData: b"), 1), render.SeedAnew},
		{"edited drive, in every run", name(every, "cloudInitConfigDrive: {userData: a}", 1), name(every, "cloudInitConfigDrive: {userData: b}", 1), render.SeedAnew},
		{"edited meta data, in every run", name(every, seed(`metaData: "a: b"`), 1), name(every, seed(`metaData: "a: c"`), 1), render.SeedAnew},
		{"another run", name(every, seed("userData: a"), 1), name(every, seed("userData: a"), 2), render.SeedAnew},
		{"another policy", name(once, seed("userData: a"), 1), name(every, seed("userData: a"), 1), render.SeedAnew},
		{"another instance-id", name(once, seed("userData: a"), 1), name(once, seed(`userData: a, metaData: "instance-id: x"`), 1), render.SeedAnew},
		{"said instance-id", name(every, seed(`userData: a, metaData: "instance-id: x"`), 1), name(every, seed(`userData: b, metaData: "instance-id: x"`), 2), render.SeedWaits},
	} {
		if got := render.CompareSeeds(test.before, test.after); got != test.want {
			t.Errorf("%s: from %s to %s is %q, want %q", test.name, test.before, test.after, got, test.want)
		}
	}
	if a, b := name(once, seed("userData: a"), 1), name(once, seed("userData: a"), 2); a != b {
		t.Errorf("another run makes %s of %s", b, a)
	}
}

// FuzzSeeds puts any bytes into all parts of both kinds of seeds: they are in it as they are, but for placeholders, or there is
// a problem that names the field and quotes nothing of them.
func FuzzSeeds(f *testing.F) {
	for _, text := range []string{"", "#cloud-config\n", "a: b\n", "instance-id: x", "local-hostname: $(gitvirt.name)", "$$(gitvirt.", "- a", "&a [*a]",
		"a: 12345678901234567890", "instance-id: [a]", "local-hostname: 7", "? {a: b}\n: c", "a: !!binary aGk=", "null", "a: 1e400", "{\"a\": {\"b\": [1, 2.5, null]}}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		escaped := strings.ReplaceAll(string(data), "$(gitvirt.", "$$(gitvirt.")
		i, problems := setUp("", "cloudInitNoCloud: {userDataFrom: f, networkDataFrom: f}", 1, map[string]string{"f": escaped})
		if i == nil {
			t.Fatal(problems)
		}
		if seed := i.Volumes[0].Seed; !bytes.Equal(seed["user-data"], data) || !bytes.Equal(seed["network-config"], data) {
			t.Fatalf("%q is %q", data, seed["user-data"])
		}
		for kind, file := range map[string]string{"cloudInitNoCloud": "meta-data", "cloudInitConfigDrive": "openstack/latest/meta_data.json"} {
			i, problems := setUp("", kind+": {metaDataFrom: f}", 1, map[string]string{"f": string(data)})
			if i == nil {
				if len(problems) != 1 || !strings.HasSuffix(problems[0].Field, kind+".metaDataFrom") {
					t.Fatalf("%q: %v", data, problems)
				}
				continue
			}
			text := i.Volumes[0].Seed[file]
			words := map[string]any{}
			unmarshal := func(data []byte, to any) error { return yaml.Unmarshal(data, to) }
			if kind == "cloudInitConfigDrive" {
				unmarshal = json.Unmarshal
			}
			if err := unmarshal(text, &words); err != nil {
				t.Fatalf("%q makes %q: %v", data, text, err)
			}
			for _, key := range map[string][]string{"cloudInitNoCloud": {"instance-id", "local-hostname"}, "cloudInitConfigDrive": {"uuid", "hostname"}}[kind] {
				if _, ok := words[key]; !ok {
					t.Fatalf("%q makes %q, without %s", data, text, key)
				}
			}
		}
	})
}
