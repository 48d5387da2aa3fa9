package test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// unstartable is what the machine of a test has not got: libvirt's or QEMU's words for it.
var unstartable = []string{
	"hugepages", "hugetlbfs", "vhost-vsock", "vhost_vsock", "Network not found", "no network with matching name", "/dev/vg/block", "reservation",
	"swtpm", "registry", "virtiofs", "No such file or directory", "socket", "EFI", "firmware",
}

// TestStartedDomainsAreAsDeclared starts machines of all kinds: what libvirt adds to one that runs is no difference either.
func TestStartedDomainsAreAsDeclared(t *testing.T) {
	s := sandboxtest.Start(t)
	for _, name := range []string{"a", "b"} {
		if out, err := s.Virsh(t.Context(), "vol-create-as", "default", "m."+name+".qcow2", "1M", "--format", "qcow2"); err != nil {
			t.Fatal(err, out)
		}
	}
	started, left := 0, 0
	for name, versions := range edits {
		for n, version := range versions {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				want := machineOf(t, version)
				created, _ := domxml.Create(want)
				define(t, s, created)
				defer func() {
					if out, err := s.Virsh(t.Context(), "undefine", "--nvram", "m"); err != nil {
						t.Fatal(err, out)
					}
				}()
				if out, err := s.Virsh(t.Context(), "start", "--paused", "m"); err != nil {
					for _, words := range unstartable {
						if strings.Contains(err.Error(), words) {
							left++
							return
						}
					}
					t.Fatalf("cannot start: %v: %s", err, out)
				}
				started++
				out, err := s.Virsh(t.Context(), "dumpxml", "--security-info", "m")
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range domxml.Compare(want, domxml.AsStarted(parseXML(t, out), want), want) {
					if c.Path != "currentMemory" { // it is the guest's to give back, and there is none
						t.Errorf("%s: %q instead of %q", c.Path, c.From, c.To)
					}
				}
				if out, err := s.Virsh(t.Context(), "destroy", "m"); err != nil {
					t.Fatal(err, out)
				}
			})
		}
	}
	if started < 30 {
		t.Errorf("only %d machines were started, and %d could not", started, left)
	}
	t.Logf("%d machines were started, and %d could not", started, left)
}
