package manifest

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// TestDocumentsAreKeptWhenWritten writes each sound document of ours of all goldens, and reads it again: it says the same.
func TestDocumentsAreKeptWhenWritten(t *testing.T) {
	written := map[string]int{}
	for _, pattern := range []string{"testdata/read/*.txtar", "testdata/mend/*.txtar", "../testdata/*.txtar"} {
		archives, err := filepath.Glob(pattern)
		if err != nil || len(archives) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range archives {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				if !IsDocumentFile(f.Name) {
					continue
				}
				for _, d := range Read(f.Name, f.Data).Documents {
					if head := headerOf(d.object); d.Broken || head == nil || d.Kind != d.Written {
						continue
					}
					written[d.Kind]++
					keeps(t, d)
				}
			}
		}
	}
	for _, kind := range ownKinds() {
		if written[kind] == 0 {
			t.Errorf("none of the kind %s was written", kind)
		}
	}
}

// keeps writes a document and reads it again.
func keeps(t *testing.T, d Document) {
	t.Helper()
	text, err := yaml.Marshal(d.object)
	if err != nil {
		t.Fatal(err)
	}
	again := Read("again.yaml", text)
	if len(again.Problems) > 0 || len(again.Documents) != 1 {
		t.Errorf("%s/%s, written, is no good: %v\n%s", d.Kind, d.Name, again.Problems, text)
		return
	}
	same := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Header{}, "At", "Written"), cmp.Exporter(func(reflect.Type) bool { return true })}
	if diff := cmp.Diff(d.object, again.Documents[0].object, same); diff != "" {
		t.Errorf("%s/%s, written, says something else (-was +is):\n%s\n%s", d.Kind, d.Name, diff, text)
	}
}
