package manifest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// golden is the name of the part that holds what is expected.
const golden = "problems"

// TestGolden reads each archive of testdata/read as a repository and compares what Collect makes of it.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(archives) < 10 {
		t.Fatalf("found %d archives: %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			var inputs []txtar.File
			for _, f := range archive.Files {
				if f.Name == golden {
					want = string(f.Data)
					continue
				}
				inputs = append(inputs, f)
			}
			got := show(collect(inputs))
			if *update {
				archive.Files = append(inputs, txtar.File{Name: golden, Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

// collect reads files as one revision. Escapes such as \t and \xef in a file whose name ends in .esc are undone, for
// bytes that an editor would spoil.
func collect(inputs []txtar.File) *Set {
	var files []File
	texts := map[string][]byte{}
	for _, f := range inputs {
		name, data := f.Name, f.Data
		if trimmed, ok := strings.CutSuffix(name, ".esc"); ok {
			name = trimmed
			data = []byte(strings.NewReplacer(`\t`, "\t", `\r`, "\r", `\bom`, "\ufeff", `\nul`, "\x00", `\xff`, "\xff").
				Replace(string(data)))
		}
		texts[name] = data
		if IsDocumentFile(name) {
			files = append(files, Read(name, data))
		}
	}
	return Collect(files, func(path string) ([]byte, bool) {
		data, ok := texts[path]
		return data, ok
	})
}

// show prints a set: its problems and what it holds.
func show(s *Set) string {
	var b strings.Builder
	for _, p := range s.Problems {
		fmt.Fprintln(&b, p)
	}
	for _, p := range s.Warnings {
		fmt.Fprintln(&b, "warning:", p)
	}
	var names []string
	for k, d := range s.held.each {
		names = append(names, fmt.Sprintf("holds %s (%s:%d, document %d)", Key(k.Kind, k.Name), d.File, d.Line, d.Index))
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}
