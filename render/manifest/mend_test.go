package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestMend mends the repositories of testdata/mend with what they were before.
func TestMend(t *testing.T) {
	archives, err := filepath.Glob("testdata/mend/*.txtar")
	if err != nil || len(archives) < 20 {
		t.Fatalf("found %d archives: %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var before, after, inputs []txtar.File
			want := ""
			for _, f := range archive.Files {
				if rest, ok := strings.CutPrefix(f.Name, "before/"); ok {
					before = append(before, txtar.File{Name: rest, Data: f.Data})
				} else if rest, ok := strings.CutPrefix(f.Name, "after/"); ok {
					after = append(after, txtar.File{Name: rest, Data: f.Data})
				} else {
					want = string(f.Data)
					continue
				}
				inputs = append(inputs, f)
			}
			good := collect(before)
			if len(good.Problems) > 0 {
				t.Fatalf("before: %v", good.Problems)
			}
			mended := collect(after).Mend(good)
			got := ""
			for _, p := range mended.Problems {
				got += p.String() + "\n"
			}
			said := contents(mended)
			for _, key := range slices.Sorted(maps.Keys(said)) {
				mark := ""
				if mended.Mended[key] {
					mark = "as it was: "
				}
				got += mark + key + ": " + said[key] + "\n"
			}
			if *update {
				archive.Files = append(inputs, txtar.File{Name: "mended", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mended sets differ (-want +got):\n%s", diff)
			}
			if again := contents(mended.Mend(good)); !cmp.Equal(again, contents(mended)) {
				t.Errorf("mended again: %s", cmp.Diff(contents(mended), again))
			}
			closed(t, mended)
		})
	}
}

// contents is what a set says, by Key, wherever it was said: the spec as JSON, with the texts of the files that it names.
func contents(s *Set) map[string]string {
	said := map[string]string{}
	add := func(kind, name string, meta Meta, spec any) {
		data, err := json.Marshal([]any{meta.Labels, spec})
		if err != nil {
			panic(err)
		}
		said[Key(kind, name)] = string(data)
	}
	whole := func(spec Tree) Tree {
		texts := map[string][]byte{}
		for _, name := range TextsOf(spec) {
			text, ok := s.Text(name)
			if !ok {
				panic("no text of " + name)
			}
			texts[name] = text
		}
		if len(texts) > 0 {
			spec = inlined(spec, texts)
		}
		return spec
	}
	for name, c := range s.Configs {
		spec := c.Spec
		spec.Template.Spec = PartialOf(whole(spec.Template.Spec.Tree()))
		add(KindConfig, name, c.Metadata, spec)
	}
	for name, f := range s.Flavours {
		add(KindFlavour, name, f.Metadata, whole(f.Spec))
	}
	for name, p := range s.Presets {
		add(KindPreset, name, p.Metadata, []any{p.Spec.Selector, whole(p.Spec.Template)})
	}
	for name, g := range s.Groups {
		add(KindGroup, name, g.Metadata, g.Spec)
	}
	for name, r := range s.RunStates {
		add(KindRunState, name, r.Metadata, r.Spec)
	}
	return said
}

// closed fails when something in a set refers to what is not in it.
func closed(t *testing.T, s *Set) {
	t.Helper()
	for name, c := range s.Configs {
		if f := c.Spec.Flavour; f != "" && s.Flavours[f] == nil {
			t.Errorf("config %s has no flavour %s", name, f)
		}
		for _, p := range c.Spec.Presets {
			if s.Presets[p] == nil {
				t.Errorf("config %s has no preset %s", name, p)
			}
		}
	}
	for name, g := range s.Groups {
		if s.Configs[g.ConfigName()] == nil {
			t.Errorf("group %s has no config %s", name, g.ConfigName())
		}
	}
	for name, r := range s.RunStates {
		if s.Configs[r.ConfigName()] == nil {
			t.Errorf("run state %s has no config %s", name, r.ConfigName())
		}
	}
}

// TestMendFolds carries a set over three revisions: broken, broken otherwise, and sound again.
func TestMendFolds(t *testing.T) {
	revision := func(files ...string) *Set {
		var inputs []txtar.File
		for i, f := range files {
			inputs = append(inputs, txtar.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(f)})
		}
		return collect(inputs)
	}
	const head = "apiVersion: gitvirt.io/v1alpha1\n"
	config := head + "kind: VirtualMachineInstanceConfig\nmetadata: {name: web}\n"
	state := head + "kind: RunState\nmetadata: {name: web}\nspec: {host: kvm1}\n"
	good := revision(config, state)
	want := contents(good)
	one := revision("{", state).Mend(good)
	two := revision("", "[", "").Mend(one) // the config's file is empty: a removal, were it not that the run state needs it
	if got := contents(two); !cmp.Equal(got, want) {
		t.Errorf("after two broken revisions: %s", cmp.Diff(want, got))
	}
	if !one.Mended[Key(KindConfig, "web")] || one.Mended[Key(KindRunState, "web")] {
		t.Errorf("the first marks %v", one.Mended)
	}
	three := revision(config, state).Mend(two)
	if got := contents(three); !cmp.Equal(got, want) || len(three.Mended) > 0 || len(three.Problems) > 0 {
		t.Errorf("mended by its author: %v, %v, %v", got, three.Mended, three.Problems)
	}
	if four := revision().Mend(three); len(contents(four)) > 0 {
		t.Errorf("after everything was removed: %v", contents(four))
	}
}
