package runner

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestPackedTextsComeBack packs texts from several goroutines and looks at what comes out again.
func TestPackedTextsComeBack(t *testing.T) {
	disk := "<disk type='file'><driver name='qemu' type='qcow2'/><source file='/var/lib/libvirt/images/%d.qcow2'/></disk>\n"
	var long strings.Builder
	for n := range 2000 { // more than a dictionary holds
		fmt.Fprintf(&long, disk, n)
	}
	for name, texts := range map[string][]string{
		"empty first": {"", "<domain/>", ""},
		"short first": {"<domain/>", long.String()},
		"alike":       {fmt.Sprintf(disk, 1), fmt.Sprintf(disk, 2), fmt.Sprintf(disk, 1), "nothing of the kind, in ünicode"},
		"long first":  {long.String(), long.String() + "<x/>", fmt.Sprintf(disk, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			var p packer
			p.pack(texts[0])
			var all sync.WaitGroup
			for _, text := range texts {
				all.Go(func() {
					if got := p.pack(text).String(); got != text {
						t.Errorf("%.100q became %.100q", text, got)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestPackedTextsAreSmall packs the XML of two domains, of which the second is little but its name beside the first.
func TestPackedTextsAreSmall(t *testing.T) {
	var b strings.Builder
	for n := range 40 {
		fmt.Fprintf(&b, "<controller type='pci' index='%d' model='pcie-root-port'><target chassis='%d' port='%#x'/></controller>\n", n, n, n+16)
	}
	var p packer
	p.pack("<name>one</name>" + b.String())
	text := "<name>two</name>" + b.String()
	if got := p.pack(text); len(got.data) > len(text)/20 || cap(got.data) != len(got.data) {
		t.Errorf("%d bytes became %d, in %d", len(text), len(got.data), cap(got.data))
	}
}
