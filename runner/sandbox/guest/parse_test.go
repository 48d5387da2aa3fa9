package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
)

func TestReady(t *testing.T) {
	const line = "READY uuid=u memory=100 cpus=2 disks=vda:512:s:1,sr0:0: nics=a:b,c:d"
	want := Report{UUID: "u", MemoryKiB: 100, CPUs: 2, NICs: []string{"a:b", "c:d"},
		Disks: []Disk{{Name: "vda", Bytes: 512, Serial: "s:1"}, {Name: "sr0"}}}
	for _, test := range []struct {
		name, console string
		ok            bool
		boots         int
	}{
		{"plain", line + "\n", true, 1},
		{"carriage return", line + "\r\n", true, 1},
		{"after firmware's escapes", "\x1bc\x1b[2J" + line + "\n", true, 1},
		{"the last of two", "READY uuid=old\n" + line + "\n", true, 2},
		{"half a line after one", line + "\nREADY uui", true, 1},
		{"half a line", line, false, 0},
		{"another word", "NOT-READY uuid=u\n", false, 0},
		{"nothing", "", false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Ready(test.console)
			if ok != test.ok {
				t.Fatalf("ok is %v", ok)
			}
			if diff := cmp.Diff(want, got); ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if boots := Boots(test.console); boots != test.boots {
				t.Errorf("%d boots, want %d", boots, test.boots)
			}
		})
	}
}

func TestLoadOrder(t *testing.T) {
	const dep = "k/ring.ko.xz: k/core.ko.xz\nk/core.ko.xz:\nk/virtio-pci.ko.xz: k/legacy.ko.xz k/ring.ko.xz k/core.ko.xz\n" +
		"k/legacy.ko.xz:\nk/blk.ko.xz: k/ring.ko.xz k/core.ko.xz\n"
	for _, test := range []struct {
		name  string
		names []string
		want  []string
		err   string
	}{
		{"dependencies first, each once", []string{"virtio_pci", "blk"},
			[]string{"k/core.ko.xz", "k/ring.ko.xz", "k/legacy.ko.xz", "k/virtio-pci.ko.xz", "k/blk.ko.xz"}, ""},
		{"part of the kernel", []string{"ext4", "core"}, []string{"k/core.ko.xz"}, ""},
		{"unknown", []string{"ahci"}, nil, "the kernel has no module ahci"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := loadOrder(dep, "k/ext4.ko\n", test.names)
			if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestDependency(t *testing.T) {
	const text = "linux-image-cloud-amd64\n |Depends: linux-image-6.1.0-1-cloud-amd64\n  Depends: other\n"
	if got, ok := dependency(text); !ok || got != "linux-image-6.1.0-1-cloud-amd64" {
		t.Errorf("got %q, %v", got, ok)
	}
	if got, ok := dependency("linux-image-cloud-amd64\n"); ok {
		t.Errorf("got %q out of nothing", got)
	}
}

func TestReadModule(t *testing.T) {
	dir := t.TempDir()
	for _, program := range [][]string{{"xz", ".xz"}, {"zstd", ".zst"}, {"gzip", ".gz"}, {"", ""}} {
		file := filepath.Join(dir, "m.ko")
		if err := os.WriteFile(file, []byte("driver"), 0o600); err != nil {
			t.Fatal(err)
		}
		if program[0] != "" {
			if _, err := run(t.Context(), program[0], "-k", "-f", file); err != nil {
				t.Fatal(err)
			}
		}
		got, err := readModule(t.Context(), file+program[1])
		if err != nil || string(got) != "driver" {
			t.Errorf("%s: %q, %v", program[0], got, err)
		}
	}
}

func TestInitramfs(t *testing.T) {
	i := initramfs{init: "#!/bin/sh", busybox: []byte("elf"), applets: []string{"busybox", "sh"},
		modules: []module{{"core", []byte("c")}, {"ring", []byte("r")}}}
	var first, second bytes.Buffer
	if err := errors.Join(i.write(&first), i.write(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same contents give other bytes")
	}
	got := map[string]string{}
	for r := cpio.NewReader(&first); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode.IsRegular() {
			got[header.Name] = string(data)
		} else {
			got[header.Name] = "-> " + header.Linkname
		}
	}
	want := map[string]string{
		"init": "#!/bin/sh", "bin/busybox": "elf", "bin/sh": "-> busybox",
		"modules/00-core.ko": "c", "modules/01-ring.ko": "r",
		"bin": "-> ", "dev": "-> ", "etc": "-> ", "modules": "-> ", "proc": "-> ", "sys": "-> ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second lock: %v", err)
	}
	unlock()
	unlock, err = lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestIsStatic(t *testing.T) {
	for _, test := range []struct {
		program string
		static  bool
	}{{busyboxPath, true}, {"/bin/cat", false}, {"/etc/passwd", false}} {
		data, err := os.ReadFile(test.program)
		if err != nil {
			t.Fatal(err)
		}
		if err := isStatic(data); (err == nil) != test.static {
			t.Errorf("%s: %v", test.program, err)
		}
	}
}
