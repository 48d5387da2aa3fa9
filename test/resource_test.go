package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/resource"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestResourcesAreKept has a real libvirtd define what the documents of render's goldens come to, checking it against its schema:
// what it has then is no different, and nor is what it starts.
func TestResourcesAreKept(t *testing.T) {
	s := sandboxtest.Start(t, withNetworks)
	files, err := filepath.Glob("../render/resource/testdata/*.txtar")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d goldens: %v", len(files), err)
	}
	started := 0
	for _, golden := range files {
		a, err := txtar.ParseFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(golden), ".txtar")
		want, err := domxml.Parse(string(a.Files[1].Data))
		if err != nil {
			t.Fatal(err)
		}
		kind, verb := resource.Network, "net-"
		if want.Name == "pool" {
			kind, verb = resource.Pool, "pool-"
		}
		file := filepath.Join(s.Dir(), "define.xml")
		if err := os.WriteFile(file, a.Files[1].Data, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Virsh(t.Context(), verb+"define", "--validate", file); err != nil {
			if strings.Contains(err.Error(), "missing backend for pool type") {
				t.Logf("%s: this libvirt has no such pools", name)
				continue
			}
			t.Errorf("%s: %s %v", name, out, err)
			continue
		}
		same := func(args ...string) {
			out, err := s.Virsh(t.Context(), append([]string{verb + "dumpxml", name}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			have, err := domxml.Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range resource.Compare(kind, want, have, nil) {
				t.Errorf("%s: %s is %q, want %q in\n%s", name, d.Path, resource.Show(d.From), resource.Show(d.To), out)
			}
		}
		same("--inactive")
		if kind == resource.Pool || want.Child("virtualport") != nil || want.Child("forward").Attr("mode") == "vepa" {
			continue // the host has not got what these are made of
		}
		if out, err := s.Virsh(t.Context(), "net-start", name); err != nil {
			t.Errorf("%s: %s %v", name, out, err)
			continue
		}
		started++
		same()
		if _, err := s.Virsh(t.Context(), "net-destroy", name); err != nil {
			t.Error(err)
		}
	}
	if started < 5 {
		t.Errorf("%d networks were started", started)
	}
}
