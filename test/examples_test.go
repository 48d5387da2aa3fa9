package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestExamplesAreKept defines every machine of every example: libvirt accepts it, with validation, and keeps what is
// declared.
func TestExamplesAreKept(t *testing.T) {
	s := sandboxtest.Start(t)
	folders, err := filepath.Glob("../examples/*")
	if err != nil || len(folders) < 5 {
		t.Fatalf("found %v: %v", folders, err)
	}
	tried := 0
	for _, folder := range folders {
		if strings.HasSuffix(folder, "/demo") || strings.HasSuffix(folder, ".go") {
			continue // it has @WORDS@ for what the demo knows; the demo runs it
		}
		var files []manifest.File
		err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !manifest.IsDocumentFile(name) {
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(folder, name)
			files = append(files, manifest.Read(inside, data))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		set := manifest.Collect(files, func(name string) ([]byte, bool) {
			text, err := os.ReadFile(filepath.Join(folder, name))
			return text, err == nil
		})
		if len(set.Problems) > 0 {
			t.Fatal(set.Problems)
		}
		placement := render.Place(set, "")
		for _, m := range placement.Machines {
			i, problems := placement.Of(m, render.Options{Fleet: "examples", DomainType: "qemu"})
			if i == nil {
				t.Fatal(problems)
			}
			tried++
			created, _ := domxml.Create(i.Domain)
			kept := define(t, s, emulated(created))
			if changes := domxml.Compare(emulated(i.Domain), kept, i.Domain); len(changes) > 0 {
				t.Errorf("%s: libvirt does not keep what is declared: %v", i.Name, changes)
			}
			if out, err := s.Virsh(t.Context(), "undefine", "--nvram", i.Name); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	if tried < 9 {
		t.Errorf("only %d machines were tried", tried)
	}
}
