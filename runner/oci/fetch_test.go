package oci_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
	"github.com/gitvirt/gitvirt/runner/oci"
)

// TestFetch fetches files as images have them. An empty want is an image that is refused.
func TestFetch(t *testing.T) {
	t.Parallel()
	symlink := func(name, to string) file { return file{name: name, kind: tar.TypeSymlink, link: to} }
	hardlink := func(name, to string) file { return file{name: name, kind: tar.TypeLink, link: to} }
	one := file{name: "disk/disk.img", content: "one"}
	two := file{name: "./disk/other.img", content: "two"}
	linux := file{name: "boot/vmlinuz-6.1", content: "linux"}
	backed := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(backed, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	q := qcow2(t)
	for name, test := range map[string]struct {
		layers [][]file
		path   string
		want   string
		err    string
	}{
		"raw":               {layers: [][]file{{one}}, want: "one"},
		"qcow2":             {layers: [][]file{{{name: "/disk/a.qcow2", content: q}}}, want: q},
		"deep below":        {layers: [][]file{{{name: "disk/a/b/c", content: "deep"}}}, want: "deep"},
		"beside others":     {layers: [][]file{{{name: "etc/passwd", content: "x"}, {name: "diskette", content: "x"}, one}}, want: "one"},
		"a lower layer":     {layers: [][]file{{one}, {linux}}, want: "one"},
		"a layer above":     {layers: [][]file{{one}, {{name: "disk/disk.img", content: "new"}}}, want: "new"},
		"twice in a layer":  {layers: [][]file{{one, {name: "disk/disk.img", content: "again"}}}, want: "again"},
		"one taken away":    {layers: [][]file{{one, two}, {{name: "disk/.wh.other.img"}}}, want: "one"},
		"all taken away":    {layers: [][]file{{two}, {{name: "disk/.wh..wh..opq"}, one}}, want: "one"},
		"the folder too":    {layers: [][]file{{two}, {{name: ".wh.disk"}}, {one}}, want: "one"},
		"put back":          {layers: [][]file{{one}, {{name: "disk/.wh.disk.img"}}, {{name: "disk/disk.img", content: "back"}}}, want: "back"},
		"a file over it":    {layers: [][]file{{one}, {{name: "disk", content: "x"}}}, err: "/disk of the image is no folder"},
		"none":              {layers: [][]file{{linux}}, err: "no file below /disk"},
		"only taken away":   {layers: [][]file{{one}, {{name: "disk/.wh.disk.img"}}}, err: "no file below /disk"},
		"several":           {layers: [][]file{{one}, {two}}, err: `["/disk/disk.img" "/disk/other.img"]: say which with path`},
		"empty":             {layers: [][]file{{{name: "disk/disk.img"}}}, err: "is empty"},
		"a link inside":     {layers: [][]file{{one, symlink("disk/latest", "disk.img")}}, want: "one"},
		"a link out":        {layers: [][]file{{one, symlink("disk/x", "../etc/shadow")}}, err: "leads out of /disk"},
		"an absolute link":  {layers: [][]file{{symlink("disk/x", "/etc/shadow")}}, err: "leads out of /disk"},
		"the folder a link": {layers: [][]file{{symlink("disk", "/etc")}}, err: "no folder"},
		"a device":          {layers: [][]file{{{name: "disk/sda", kind: tar.TypeBlock}}}, err: "no file below /disk"},
		"a backing file": {layers: [][]file{{{name: "disk/d", content: qcow2(t, "-b", backed, "-F", "raw")}}},
			err: "names another file"},
		"no layers": {err: "no file below /disk"},

		"named":             {layers: [][]file{{one, two}}, path: "/disk/other.img", want: "two"},
		"named, hidden":     {layers: [][]file{{one}, {{name: ".wh.disk"}}}, path: "disk/disk.img", err: "no file disk/disk.img"},
		"named, not there":  {layers: [][]file{{one}}, path: "/boot/vmlinuz", err: "no file boot/vmlinuz"},
		"named, a folder":   {layers: [][]file{{{name: "boot", kind: tar.TypeDir}}}, path: "/boot", err: "is a folder"},
		"named by a link":   {layers: [][]file{{linux}, {symlink("boot/vmlinuz", "vmlinuz-6.1")}}, path: "/boot/vmlinuz", want: "linux"},
		"by links":          {layers: [][]file{{symlink("vmlinuz", "/b/../b/k"), symlink("b", "boot"), symlink("boot/k", "./vmlinuz-6.1"), linux}}, path: "/vmlinuz", want: "linux"},
		"by a hard link":    {layers: [][]file{{linux, hardlink("k", "boot/vmlinuz-6.1")}}, path: "/k", want: "linux"},
		"a link's link":     {layers: [][]file{{linux, hardlink("k", "boot/vmlinuz-6.1"), symlink("l", "k")}}, path: "/l", want: "linux"},
		"a link out of all": {layers: [][]file{{symlink("k", "../../etc/shadow")}}, path: "/k", err: "leads out of the image"},
		"a link in a ring":  {layers: [][]file{{symlink("a", "b"), symlink("b", "a")}}, path: "/a", err: "never ends"},
		"through a file":    {layers: [][]file{{one}}, path: "/disk/disk.img/x", err: "no regular file"},
		"up in the name":    {layers: [][]file{{one}}, path: "/../../disk/disk.img", want: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			img, want := h.push("disks/it:v1", build(t, test.layers...))
			dir := filepath.Join(t.TempDir(), "oci", "0123456789abcdef")
			to := filepath.Join(dir, "disk")
			f := fetcher(t, download.Options{})
			digest, err := f.Fetch(t.Context(), img, test.path, to)
			if test.want == "" {
				if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), img) {
					t.Errorf("it gives %v", err)
				}
				nothing(t, dir)
				gets := h.gets.Load()
				if _, again := f.Fetch(t.Context(), img, test.path, to); again == nil || again.Error() != err.Error() || h.gets.Load() != gets {
					t.Errorf("asked again it gives %v, after %d more layers", again, h.gets.Load()-gets)
				}
				return
			}
			if err != nil || digest != want || read(t, to) != test.want {
				t.Fatalf("it gives %s, %v", digest, err)
			}
			if info, err := os.Stat(to); err != nil || info.Mode() != 0o444 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 || !strings.Contains(read(t, to+".digest"), want) {
				t.Errorf("there are %v, %v", entries, err)
			}
		})
	}
}

// TestSparse checks that holes of every alignment come out as they are, and take no room.
func TestSparse(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	f := fetcher(t, download.Options{})
	for name, content := range map[string]string{
		"zeroes": strings.Repeat("\x00", 8*mib+1),
		"middle": "a" + strings.Repeat("\x00", 3*mib) + "b" + strings.Repeat("\x00", 5000) + "c",
		"end":    strings.Repeat("x", 5000) + strings.Repeat("\x00", mib),
		"short":  "\x00",
	} {
		img, _ := h.push("disks/"+name, disk(t, content))
		to := filepath.Join(t.TempDir(), "disk")
		if _, err := f.Fetch(t.Context(), img, "", to); err != nil || read(t, to) != content {
			t.Errorf("%s: it differs, %v", name, err)
		}
		var st unix.Stat_t
		if err := unix.Stat(to, &st); err != nil || st.Blocks*512 > 32<<10 {
			t.Errorf("%s takes %d bytes, %v", name, st.Blocks*512, err)
		}
	}
}

// TestPinned moves a tag after the first fetch: what is there stays, and what is gone comes back as it was.
func TestPinned(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	img, first := h.push("disks/it:latest", disk(t, "first"))
	to := filepath.Join(t.TempDir(), "disk")
	get := func(img string) (string, error) {
		return fetcher(t, download.Options{}).Fetch(t.Context(), img, "", to)
	}
	if pinned, err := (oci.Source{Image: img}).Pinned(to); pinned || err != nil {
		t.Errorf("it is pinned before it is fetched: %v", err)
	}
	if _, err := get(img); err != nil {
		t.Fatal(err)
	}
	h.push("disks/it:latest", disk(t, "second"))
	gets := h.gets.Load()
	if digest, err := get(img); digest != first || err != nil || read(t, to) != "first" || h.gets.Load() != gets {
		t.Errorf("fetched again it is %s, %v", digest, err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if digest, err := get(img); digest != first || err != nil || read(t, to) != "first" {
		t.Errorf("fetched after it was removed it is %s, %v", digest, err)
	}
	if pinned, err := (oci.Source{Image: img}).Pinned(to); !pinned || err != nil {
		t.Errorf("it is not pinned, %v", err)
	}
	if _, err := get(h.addr + "/disks/it:other"); err == nil || !strings.Contains(err.Error(), "of another image") {
		t.Errorf("another image at the same place: %v", err)
	}
	for _, named := range []string{h.addr + "/disks/it@" + first, h.addr + "/disks/it:latest@" + first} {
		to = filepath.Join(t.TempDir(), "disk")
		if digest, err := get(named); digest != first || err != nil || read(t, to) != "first" {
			t.Errorf("by its digest it is %s, %v", digest, err)
		}
		if pinned, err := (oci.Source{Image: named}).Pinned("/nowhere"); !pinned || err != nil {
			t.Errorf("%s is not pinned, %v", named, err)
		}
	}
}

// TestPlatform takes this host's image of an index.
func TestPlatform(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	push := func(tag string, platforms ...v1.Platform) string {
		var index v1.ImageIndex = empty.Index
		for _, p := range platforms {
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: disk(t, p.Architecture), Descriptor: v1.Descriptor{Platform: &p}})
		}
		ref, err := name.ParseReference(h.addr + "/" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(ref, index); err != nil {
			t.Fatal(err)
		}
		return ref.Name()
	}
	other := v1.Platform{OS: "linux", Architecture: "mips"}
	to := filepath.Join(t.TempDir(), "disk")
	_, err := fetcher(t, download.Options{}).Fetch(t.Context(), push("disks/a:1", other, v1.Platform{OS: "windows", Architecture: arch}), "", to)
	if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), `no image for linux/`+arch+`, but for ["linux/mips"`) {
		t.Errorf("it gives %v", err)
	}
	if _, err := fetcher(t, download.Options{}).Fetch(t.Context(), push("disks/a:2", other, v1.Platform{OS: "linux", Architecture: arch}), "", to); err != nil ||
		read(t, to) != arch {
		t.Errorf("it gives %v", err)
	}
}

// TestOtherCompressions: not all layers are gzip.
func TestOtherCompressions(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	raw := archive(t, file{name: "disk/disk.img", content: "content"})
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(raw, types.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	named, _ := h.push("disks/plain", img)
	to := filepath.Join(t.TempDir(), "disk")
	if _, err := fetcher(t, download.Options{}).Fetch(t.Context(), named, "", to); err != nil || read(t, to) != "content" {
		t.Error(err)
	}
	// What is no archive at all is an error that is worth another try: it may have been spoilt on its way.
	img, err = mutate.AppendLayers(empty.Image, static.NewLayer(bytes.Repeat([]byte("garbage"), 1000), types.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	named, _ = h.push("disks/garbage", img)
	dir := t.TempDir()
	if _, err := fetcher(t, download.Options{}).Fetch(t.Context(), named, "", filepath.Join(dir, "disk")); err == nil || errors.Is(err, io.EOF) {
		t.Error(err)
	}
	nothing(t, dir)
}
