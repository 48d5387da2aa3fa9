package manifest

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzRead reads anything: it does not panic, it is the same twice, each document is either sound or has a problem, and
// what is sound can be decoded, collected and mended.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/read/*.txtar", "testdata/mend/*.txtar"} {
		archives, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range archives {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range archive.Files {
				if IsDocumentFile(file.Name) {
					f.Add(filepath.Ext(file.Name) == ".json", file.Data)
				}
			}
		}
	}
	f.Add(false, fleet(1)[0])
	good := Collect([]File{Read("dir/file.yaml", fleet(1)[0]), Read("small.yaml", []byte(small))}, nil)
	if len(good.Problems) > 0 {
		f.Fatal(good.Problems)
	}
	f.Fuzz(func(t *testing.T, asJSON bool, data []byte) {
		name := "dir/file.yaml"
		if asJSON {
			name = "dir/file.json"
		}
		given := bytes.Clone(data)
		file := Read(name, data)
		if !bytes.Equal(data, given) {
			t.Fatal("the bytes were changed")
		}
		if again := Read(name, data); !reflect.DeepEqual(file, again) {
			t.Fatalf("read again: %+v, %+v", file, again)
		}
		lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 2
		if !isASCII(data) {
			lines += len(data) / 2
		}
		broken := 0
		for i, d := range file.Documents {
			if i > 0 && d.Index < file.Documents[i-1].Index || d.File != name || d.Line < 1 || d.Line > lines {
				t.Fatalf("document %d is at %+v", i, d.Origin)
			}
			if d.Broken {
				broken++
			}
			checkDocument(t, d)
		}
		if broken > 0 != (len(file.Problems) > 0) {
			t.Fatalf("%d broken documents, and problems %v", broken, file.Problems)
		}
		for _, p := range file.Problems {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" || bytes.ContainsAny([]byte(p.String()), "\n\r\x1b") {
				t.Fatalf("problem %+v", p)
			}
			for i := range file.Documents {
				Locate(data, i, p.Field)
			}
		}
		mended := Collect([]File{file}, func(string) ([]byte, bool) { return []byte("<domain/>"), true }).Mend(good)
		if len(file.Problems) > 0 && mended.Configs["vm-0"] == nil {
			t.Fatalf("the config is gone: %v", file.Problems)
		}
		closed(t, mended)
	})
}

// checkDocument checks that a document is one thing, and that its template can be decoded.
func checkDocument(t *testing.T, d Document) {
	if (d.object == nil) != d.Broken {
		t.Fatalf("%+v is broken and something, or neither", d)
	}
	decoded, problems := Decode(d.spec())
	if len(problems) > 0 {
		t.Fatalf("accepted, and then: %v", problems)
	}
	Validate(decoded)
	Public(*decoded)
}

// isASCII says whether lines end as everybody thinks they do: YAML has line breaks beyond ASCII.
func isASCII(data []byte) bool {
	return bytes.IndexFunc(data, func(r rune) bool { return r > 0x7f }) < 0
}
