package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// newer are words of the table that libvirt 9.0 does not know yet.
var newer = strings.Fields(`clusters poll max grow shrink shim emsr_bitmap xmm_input tlbflush direct extended ras ps2 aia async-teardown
	deprecated_features limit templateFormat format discard_no_unref dataStore blob edid multichannel streams dma_translation dynamicMemslots
	debug crypto pstore discard_granularity msdm slic raw type xmlns:qemu shareBacking deprecation behavior override capabilities commandline`)

// TestTableNamesWhatLibvirtHas looks for slips of the pen: a word that libvirt's own schema does not have allows nothing.
func TestTableNamesWhatLibvirtHas(t *testing.T) {
	schemas, err := filepath.Glob("/usr/share/libvirt/schemas/*.rng")
	if err != nil || len(schemas) == 0 {
		t.Fatalf("libvirt's schemas are not there (Debian's package libvirt0 has them): %v", err)
	}
	known := map[string]bool{}
	word := regexp.MustCompile(`name="([^"]+)"|<name>([^<]+)</name>`)
	for _, file := range schemas {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(string(text), -1) {
			known[m[1]], known[strings.TrimSpace(m[2])] = true, true
		}
	}
	check := func(at, word string) {
		if _, local, ok := strings.Cut(word, ":"); ok && !strings.HasPrefix(word, "xmlns") {
			word = local
		}
		if word != "." && word != "*" && !known[word] && !slices.Contains(newer, word) {
			t.Errorf("%s: libvirt has no %s", at, word)
		}
	}
	rows := 0
	policy.EachRow(func(path string, attrs []string) {
		rows++
		for name := range strings.SplitSeq(path, "/") {
			check(path, name)
		}
		for _, a := range attrs {
			check(path, a)
		}
	})
	if rows < 300 {
		t.Errorf("the table has %d rows only", rows)
	}
}

// TestTableKnowsWhatTheRendererSays walks through every domain that the renderer's own tests expect, which have each field of a
// template: what is not known would be refused of a machine that says nothing unusual.
func TestTableKnowsWhatTheRendererSays(t *testing.T) {
	// What these say is the hosts' or an example's of libvirt's own language, and is to be asked for.
	own := []string{"devices/vsock"}
	seen := map[string]bool{}
	goldens, err := filepath.Glob("../../render/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range goldens {
		for _, part := range archive(t, file) {
			text := string(part.Data)
			begin, end := strings.Index(text, "<domain "), strings.LastIndex(text, "</domain>")
			if begin < 0 || end < begin || strings.HasSuffix(part.Name, ".yaml") {
				continue
			}
			e, err := domxml.Parse(text[begin : end+len("</domain>")])
			if err != nil {
				t.Fatalf("%s: %s: %v", file, part.Name, err)
			}
			var walk func(path string, e *domxml.Element)
			walk = func(path string, e *domxml.Element) {
				seen[path] = true
				if strings.HasPrefix(path, "metadata/") || slices.Contains(own, path) {
					return
				}
				if !policy.Knows(path, "") {
					t.Errorf("%s: %s: the table has no %s", file, part.Name, path)
				}
				for _, a := range e.Attrs {
					if !policy.Knows(path, a.Name) && !strings.HasPrefix(a.Name, "xmlns:") {
						t.Errorf("%s: %s: the table has no %s@%s", file, part.Name, path, a.Name)
					}
				}
				for _, c := range e.Children {
					walk(strings.TrimPrefix(path+"/"+c.Name, "./"), c)
				}
			}
			walk(".", e)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d elements were seen", len(seen))
	}
}

// TestEveryRuleIsDocumented: a rule's name is what a person looks up.
func TestEveryRuleIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../deploy/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range policy.Rules() {
		if !strings.Contains(string(text), "`"+rule+"`") {
			t.Errorf("deploy/SECURITY.md does not say what the rule %s is", rule)
		}
	}
}
