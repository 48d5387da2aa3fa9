package manifest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// repository is a good set of documents, in files, as text.
type repository struct {
	documents []document
	texts     map[string]string
}

type document struct {
	kind, name, file string
	refers           string
	from             string // domainXMLFrom
	value            int    // what an edit changes
}

func (d document) String() string {
	head := fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: %s\nmetadata:\n  name: %s\n  labels: {v: v%d}\nspec:\n", d.kind, d.name, d.value)
	spec := fmt.Sprintf("terminationGracePeriodSeconds: %d", d.value)
	if d.from != "" {
		spec += ", domainXMLFrom: /" + d.from
		spec = strings.Replace(spec, "/", strings.Repeat("../", strings.Count(d.file, "/")), 1)
	}
	switch d.kind {
	case KindConfig:
		if d.refers != "" {
			head += "  flavour: " + d.refers + "\n"
		}
		return head + "  template: {spec: {" + spec + "}}\n"
	case KindFlavour:
		return head + "  " + strings.ReplaceAll(spec, ", ", "\n  ") + "\n"
	}
	return head + fmt.Sprintf("  config: %s\n  host: kvm1\n  run: %d\n", d.refers, d.value+1)
}

// random makes a repository whose references are all good.
func random(r *rand.Rand) repository {
	repo := repository{texts: map[string]string{"xml/a.xml": "<domain>a</domain>", "b.xml": "<domain>b</domain>"}}
	files := []string{"a.yaml", "b.yaml", "dir/c.yaml", "dir/deep/d.yaml", "e.yaml"}
	texts := []string{"", "", "xml/a.xml", "b.xml"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var flavours, configs []string
	add := func(kind, name, refers string) {
		d := document{kind: kind, name: name, file: pick(files), refers: refers, value: r.IntN(100)}
		if kind != KindRunState {
			d.from = pick(texts)
		}
		repo.documents = append(repo.documents, d)
	}
	for i := range r.IntN(3) {
		flavours = append(flavours, fmt.Sprintf("f%d", i))
		add(KindFlavour, flavours[i], "")
	}
	for i := range 1 + r.IntN(4) {
		configs = append(configs, fmt.Sprintf("c%d", i))
		add(KindConfig, configs[i], pick(append([]string{""}, flavours...)))
	}
	for _, c := range configs {
		if r.IntN(4) > 0 {
			add(KindRunState, "r"+c, c)
		}
	}
	r.Shuffle(len(repo.documents), func(i, j int) {
		repo.documents[i], repo.documents[j] = repo.documents[j], repo.documents[i]
	})
	return repo
}

// files writes the documents; text says how each is written.
func (r repository) files(text func(i int) (file, text string)) []txtar.File {
	byFile := map[string][]string{}
	for i := range r.documents {
		file, text := text(i)
		byFile[file] = append(byFile[file], text)
	}
	var files []txtar.File
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		files = append(files, txtar.File{Name: name, Data: []byte(strings.Join(byFile[name], "---\n"))})
	}
	for name, text := range r.texts {
		files = append(files, txtar.File{Name: name, Data: []byte(text)})
	}
	return files
}

// corruption spoils one document's text. It may also move it to another file.
type corruption struct {
	name  string
	spoil func(r *rand.Rand, repo repository, d document) (file, text string)
}

func corruptions() []corruption {
	in := func(spoil func(r *rand.Rand, text string) string) func(*rand.Rand, repository, document) (string, string) {
		return func(r *rand.Rand, _ repository, d document) (string, string) { return d.file, spoil(r, d.String()) }
	}
	replace := func(from, to string) func(*rand.Rand, string) string {
		return func(_ *rand.Rand, text string) string { return strings.Replace(text, from, to, 1) }
	}
	return []corruption{
		{"garbage", in(func(*rand.Rand, string) string { return "{{{\n" })},
		{"words", in(func(*rand.Rand, string) string { return "no document at all\n" })},
		{"conflict markers", in(func(_ *rand.Rand, text string) string {
			return "<<<<<<< HEAD\n" + text + "=======\n" + text + ">>>>>>> x\n"
		})},
		{"cut", in(func(r *rand.Rand, text string) string { return text[:1+r.IntN(len(text)-1)] + "\n" })},
		{"a byte changed", in(func(r *rand.Rand, text string) string {
			b := []byte(text)
			const bytes = "\t:{}[]x\"'*&\x00\xff\n0 -"
			b[r.IntN(len(b)-1)] = bytes[r.IntN(len(bytes))] // the last line break parts it from the next document
			return string(b)
		})},
		{"a line lost", in(func(r *rand.Rand, text string) string {
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(slices.Delete(lines, r.IntN(len(lines)), len(lines)-r.IntN(2)), "")
		})},
		{"unknown field", in(replace("spec:", "specs:"))},
		{"apiVersion", in(replace("v1alpha1", "v1alhpa1"))},
		{"kind mistyped", in(replace("kind: ", "kind: X"))},
		{"another kind", func(r *rand.Rand, _ repository, d document) (string, string) {
			kinds := slices.DeleteFunc([]string{KindConfig, KindRunState, KindFlavour}, func(k string) bool { return k == d.kind })
			return d.file, strings.Replace(d.String(), d.kind, kinds[r.IntN(2)], 1) + "  broken: 1\n"
		}},
		{"name and body", in(func(_ *rand.Rand, text string) string {
			return strings.Replace(strings.Replace(text, "name: ", "name: x", 1), "spec:", "spec:\n  broken: 1", 1)
		})},
		{"no name", in(replace("name: ", "nam: "))},
		{"moved and broken", func(_ *rand.Rand, _ repository, d document) (string, string) {
			return "moved.yaml", strings.Replace(d.String(), "spec:", "spec:\n  broken: 1", 1)
		}},
		{"moved and unreadable", func(*rand.Rand, repository, document) (string, string) { return "moved.yaml", "a: [\n" }},
		{"moved, renamed and broken", func(_ *rand.Rand, _ repository, d document) (string, string) {
			return "moved.yaml", strings.Replace(strings.Replace(d.String(), "name: ", "name: x", 1), "spec:", "spec:\n  broken: 1", 1)
		}},
		{"name of another", func(r *rand.Rand, repo repository, d document) (string, string) {
			others := slices.DeleteFunc(slices.Clone(repo.documents), func(o document) bool { return o.kind != d.kind })
			other := others[r.IntN(len(others))]
			return d.file, strings.Replace(d.String(), "name: "+d.name, "name: "+other.name, 1)
		}},
		{"no text", func(_ *rand.Rand, _ repository, d document) (string, string) {
			d.from = "gone.xml"
			return d.file, d.String()
		}},
		{"no reference", func(_ *rand.Rand, _ repository, d document) (string, string) {
			d.refers = "nowhere"
			return d.file, d.String()
		}},
	}
}

// TestMendProperty spoils one document of a good revision while others are edited and moved, and finds in the mended set
// what the good one had, but for the edits.
func TestMendProperty(t *testing.T) {
	tried := map[string]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		repo := random(r)
		good := collect(repo.files(func(i int) (string, string) { return repo.documents[i].file, repo.documents[i].String() }))
		if len(good.Problems) > 0 {
			t.Fatalf("seed %d: %v", seed, good.Problems)
		}
		victim := r.IntN(len(repo.documents))
		c := corruptions()[seed%uint64(len(corruptions()))]

		// The next revision: some documents are edited, some files moved, perhaps a text changed.
		next := repository{documents: slices.Clone(repo.documents), texts: maps.Clone(repo.texts)}
		for i := range next.documents {
			if i != victim && r.IntN(3) == 0 {
				next.documents[i].value += 1000
			}
			if r.IntN(8) == 0 {
				next.documents[i].file = "dir/other.yaml"
			}
		}
		if r.IntN(4) == 0 {
			next.texts["b.xml"] = "<domain>changed</domain>"
		}
		spoilt := next.documents[victim]
		file, text := c.spoil(r, next, spoilt)
		if whole := Read(file, []byte(text)); len(whole.Problems) == 0 && c.name != "name of another" && c.name != "no text" && c.name != "no reference" {
			continue // still a good document, or none at all: an edit, or a removal
		}
		after := collect(next.files(func(i int) (string, string) {
			if i == victim {
				return file, text
			}
			return next.documents[i].file, next.documents[i].String()
		}))
		if len(after.Problems) == 0 {
			continue // a document may take its own name
		}
		tried[c.name]++

		want := contents(collect(next.files(func(i int) (string, string) {
			return next.documents[i].file, next.documents[i].String()
		})))
		was := contents(good)
		key := Key(spoilt.kind, spoilt.name)
		want[key] = was[key]
		mended := after.Mend(good)
		for _, p := range after.Problems {
			// Where two documents claim a name, neither counts.
			if k := Key(p.Kind, p.Name); strings.Contains(p.Message, "duplicate name") && was[k] != "" {
				want[k] = was[k]
			}
		}
		got := contents(mended)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, %s of %s in %s: (-want +got)\n%s\n%s\nproblems: %v", seed, c.name, key, file, diff, text, mended.Problems)
		}
		closed(t, mended)
		if !mended.Mended[key] {
			t.Errorf("seed %d, %s: %s is not marked", seed, c.name, key)
		}
	}
	for _, c := range corruptions() {
		if tried[c.name] < 20 {
			t.Errorf("%s was tried %d times", c.name, tried[c.name])
		}
	}
}
