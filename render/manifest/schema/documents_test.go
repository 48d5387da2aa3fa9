package schema_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/manifest/schema"
)

// document is one document of a test's data: what the reader says of it, and its value.
type document struct {
	manifest.Document
	// own is its kind, as far as that is one of gitvirt's own; "" otherwise. Document.Kind is what the reader makes of it.
	own      string
	value    any
	problems []manifest.Problem
}

// compiled are the schemas, by kind; "" is that of all.
func compiled(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{}
	add := func(kind string, data []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		name := "/" + schema.FileName(kind)
		if err := c.AddResource(name, parse(t, data)); err != nil {
			t.Fatal(err)
		}
		if all[kind], err = c.Compile(name); err != nil {
			t.Fatalf("the schema %s is none: %v", name, err)
		}
	}
	for _, kind := range manifest.Kinds() {
		data, err := schema.JSON(kind, schema.Docs{})
		add(kind, data, err)
	}
	data, err := schema.JSONOfAll(schema.Docs{})
	add("", data, err)
	return all
}

func parse(t *testing.T, data []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return value
}

// golden are the documents of the reader's goldens that are mappings, and those of the examples.
func golden(t *testing.T) (documents []document) {
	t.Helper()
	for _, pattern := range []string{"../testdata/*/*.txtar", "../../../examples/*/*.yaml", "../../../cmd/schema/kinds/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 3 {
			t.Fatalf("found %d files %s: %v", len(names), pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(name) != ".txtar" {
				documents = append(documents, split(t, name, data)...)
				continue
			}
			for _, f := range txtar.Parse(data).Files {
				if manifest.IsDocumentFile(f.Name) {
					documents = append(documents, split(t, f.Name, f.Data)...)
				}
			}
		}
	}
	if len(documents) < 50 {
		t.Fatalf("found %d documents", len(documents))
	}
	return documents
}

// split reads a file, and each of its documents that YAML can read.
func split(t *testing.T, name string, data []byte) (documents []document) {
	t.Helper()
	file := manifest.Read(name, data)
	lines := strings.SplitAfter(string(data), "\n")
	for i, d := range file.Documents {
		end := len(lines)
		if i+1 < len(file.Documents) {
			end = file.Documents[i+1].Line - 1
		}
		text := strings.Join(lines[d.Line-1:end], "")
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			continue
		}
		read := document{Document: d, value: parse(t, asJSON)}
		value, ok := read.value.(map[string]any)
		if !ok {
			continue
		}
		if kind, _ := value["kind"].(string); slices.Contains(manifest.Kinds(), kind) {
			read.own = kind
		}
		for _, p := range file.Problems {
			if p.Line >= d.Line && p.Line <= end {
				read.problems = append(read.problems, p)
			}
		}
		documents = append(documents, read)
	}
	return documents
}
