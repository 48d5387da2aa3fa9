package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/render/manifest"
)

const root = "../.."

// TestFilesAreCurrent compares what is kept with what is made.
func TestFilesAreCurrent(t *testing.T) {
	made, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]byte{}
	for _, folder := range folders() {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if kept[folder+"/"+e.Name()], err = os.ReadFile(filepath.Join(root, folder, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(texts(made), texts(kept)); diff != "" {
		t.Errorf("the files below deploy are not what the types say; run go run ./cmd/schema (-made +kept):\n%.4000s", diff)
	}
}

func texts(files map[string][]byte) map[string]string {
	texts := map[string]string{}
	for name, data := range files {
		texts[name] = string(data)
	}
	return texts
}

// TestWrite writes the files into a copy of what they are made of.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	for _, from := range []string{kindsFolder, typesFolder} {
		if err := os.CopyFS(filepath.Join(folder, from), os.DirFS(filepath.Join(root, from))); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(folder, schemaFolder, "stale.json")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a file that is not made any more is still there")
	}
	for _, kind := range manifest.Kinds() {
		if data, err := os.ReadFile(filepath.Join(folder, referenceFolder, kind+".md")); err != nil || !bytes.Contains(data, []byte("# "+kind)) {
			t.Errorf("%s has no page: %v", kind, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, kindsFolder, manifest.KindRunState+".yaml")); err != nil {
		t.Fatal(err)
	}
	if err := write(folder); err == nil || !strings.Contains(err.Error(), "write a small example") {
		t.Errorf("a kind without an example: %v", err)
	}
}

// TestEveryFieldHasAMeaning wants a comment at each field of our own types that documents can say.
func TestEveryFieldHasAMeaning(t *testing.T) {
	docs, err := readDocs(filepath.Join(root, typesFolder), typesPath)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	visit(manifestForms(), func(field manifest.FormField, _ string) {
		if field.Ignored != "" || field.Owner.PkgPath() != typesPath || strings.HasPrefix(field.Owner.Name(), "kubevirt") {
			return
		}
		count++
		// What stands in place of a field of KubeVirt's may leave it at that one's meaning.
		if docs.Fields[typesPath+"."+field.Owner.Name()+"."+field.GoName] == "" && !embeds(field.Owner, field.GoName) &&
			docs.Types[typesPath+"."+field.Form.Type.Name()] == "" {
			t.Errorf("%s.%s has no comment that says what it means", field.Owner.Name(), field.GoName)
		}
	})
	if count < 30 {
		t.Errorf("only %d fields were looked at", count)
	}
}

// embeds says whether a struct embedded in another has a field.
func embeds(t reflect.Type, name string) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct {
			if _, ok := f.Type.FieldByName(name); ok {
				return true
			}
		}
	}
	return false
}

func manifestForms() (forms []*manifest.Form) {
	for _, kind := range manifest.Kinds() {
		forms = append(forms, manifest.FormOf(kind))
	}
	return forms
}

// visit calls back for every field of forms, with its path.
func visit(forms []*manifest.Form, see func(f manifest.FormField, path string)) {
	var below func(f *manifest.Form, path string)
	below = func(f *manifest.Form, path string) {
		for f.Elem != nil {
			f = f.Elem
		}
		for _, field := range f.Fields {
			at := strings.TrimPrefix(path+"."+field.Name, ".")
			see(field, at)
			below(field.Form, at)
		}
	}
	for _, f := range forms {
		below(f, "")
	}
}

// TestExamplesNameTheirSchema wants every document of ours in the examples to begin with the line that editors look for, and
// the schema to be there. Yaml-language-server wants the line in each document of a file.
func TestExamplesNameTheirSchema(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:---\n|\A)# yaml-language-server: \$schema=(\S+)\n`)
	count := 0
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !manifest.IsDocumentFile(path) {
			return err
		}
		count++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := filepath.Rel(filepath.Dir(path), filepath.Join(root, schemaFolder, "gitvirt.json"))
		if err != nil {
			return err
		}
		lines := line.FindAllSubmatch(data, -1)
		documents := 0
		for _, d := range manifest.Read(path, data).Documents {
			if manifest.Ours(d.Written) {
				documents++
			}
		}
		if len(lines) != documents {
			t.Errorf("%s: %d of its %d documents begin with # yaml-language-server: $schema=%s", path, len(lines), documents, want)
		}
		for _, m := range lines {
			if string(m[1]) != want {
				t.Errorf("%s names the schema %s, want %s", path, m[1], want)
			}
		}
		_, err = os.Stat(filepath.Join(filepath.Dir(path), want))
		return err
	})
	if err != nil || count < 4 {
		t.Errorf("looked at %d examples: %v", count, err)
	}
}
