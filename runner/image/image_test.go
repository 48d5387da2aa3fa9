package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kdomanski/iso9660"
	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/image"
)

const mib = 1 << 20

// helperVariable has the test binary be a process for a test instead: see TestMain.
const helperVariable = "GITVIRT_TEST_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		os.Exit(fillDisk(dir))
	}
	if what := os.Getenv(fillVariable); what != "" {
		os.Exit(fill(what))
	}
	os.Exit(m.Run())
}

// info is what qemu-img says of an image.
type info struct {
	Format      string `json:"format"`
	VirtualSize int64  `json:"virtual-size"`
	Backing     string `json:"full-backing-filename"`
	BackingFmt  string `json:"backing-filename-format"`
	Specific    struct {
		Data struct {
			Compat string `json:"compat"`
		} `json:"data"`
	} `json:"format-specific"`
}

func inspect(t testing.TB, path string) info {
	t.Helper()
	out, err := exec.Command("qemu-img", "info", "-U", "--output=json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var i info
	if err := json.Unmarshal(out, &i); err != nil {
		t.Fatal(err)
	}
	return i
}

func qemuImg(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// bases makes a qcow2 and a raw image to put overlays on.
func bases(t testing.TB) (qcow2, raw string) {
	t.Helper()
	dir := t.TempDir()
	qcow2, raw = filepath.Join(dir, "base, v1:2.qcow2"), filepath.Join(dir, "base.img")
	qemuImg(t, "create", "-q", "-f", "qcow2", qcow2, "4M")
	if err := os.WriteFile(raw, make([]byte, 2*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	return qcow2, raw
}

func only(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}

// TestEnsure makes each kind of volume twice; the second time does nothing.
func TestEnsure(t *testing.T) {
	qcow2, raw := bases(t)
	for _, test := range []struct {
		name   string
		volume render.Volume
		want   info
	}{
		{"blank qcow2", render.Volume{Kind: render.VolumeBlank, Format: "qcow2", Size: 8 * mib}, info{Format: "qcow2", VirtualSize: 8 * mib}},
		{"blank raw", render.Volume{Kind: render.VolumeBlank, Format: "raw", Size: 8 * mib}, info{Format: "raw", VirtualSize: 8 * mib}},
		{"empty", render.Volume{Kind: render.VolumeEmpty, Format: "qcow2", Size: 8 * mib}, info{Format: "qcow2", VirtualSize: 8 * mib}},
		{"overlay", render.Volume{Kind: render.VolumeOverlay, Format: "qcow2", Backing: qcow2, BackingFormat: "qcow2"},
			info{Format: "qcow2", VirtualSize: 4 * mib, Backing: qcow2, BackingFmt: "qcow2"}},
		{"larger overlay on raw", render.Volume{Kind: render.VolumeOverlay, Format: "qcow2", Backing: raw, BackingFormat: "raw", Size: 8 * mib},
			info{Format: "qcow2", VirtualSize: 8 * mib, Backing: raw, BackingFmt: "raw"}},
		{"host disk", render.Volume{Kind: render.VolumeFile, Format: "raw", Size: mib, Create: true}, info{Format: "raw", VirtualSize: mib}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "-disk, of:web.img")
			for _, first := range []bool{true, false} {
				made, err := image.Maker{}.Ensure(t.Context(), path, test.volume, image.Use{})
				if err != nil || made != first {
					t.Fatalf("made is %v, %v; want %v", made, err, first)
				}
			}
			got := inspect(t, path)
			if test.want.Format == "qcow2" {
				test.want.Specific.Data.Compat = "1.1"
			}
			if got != test.want {
				t.Errorf("there is %+v, want %+v", got, test.want)
			}
			stat, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if stat.Mode() != 0o600 {
				t.Errorf("its mode is %v", stat.Mode())
			}
			if blocks := stat.Sys().(*syscall.Stat_t).Blocks; blocks*512 > mib/2 {
				t.Errorf("it is not sparse: %d bytes", blocks*512)
			}
			only(t, dir, filepath.Base(path))
		})
	}
}

func inUse(is bool) func() (bool, error) { return func() (bool, error) { return is, nil } }

func TestSeed(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 5000)
	for label, files := range map[string]map[string][]byte{
		"cidata": {
			"user-data": []byte("#cloud-config\npassword: secret\n"), "meta-data": []byte("instance-id: web\n"),
			"network-config": {}, "vendor-data": large,
		},
		"config-2": {
			"openstack/latest/user_data": large, "openstack/latest/meta_data.json": []byte("{}"),
			"openstack/latest/network_data.json": {}, "openstack/content/0000": []byte("x"), "ec2/latest/user-data": []byte("y"),
		},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "web.init-0123.iso")
		v := render.Volume{Kind: render.VolumeSeed, Format: "raw", Seed: files, Label: label}
		if made, err := (image.Maker{}).Ensure(t.Context(), file, v, image.Use{}); err != nil || !made {
			t.Fatal(made, err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if stat, err := f.Stat(); err != nil || stat.Mode() != 0o600 {
			t.Errorf("the seed's mode is %v, %v", stat.Mode(), err)
		}
		iso, err := iso9660.OpenImage(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := iso.Label(); err != nil || got != label {
			t.Errorf("the label is %q, %v", got, err)
		}
		root, err := iso.RootDir()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]byte{}
		readISO(t, root, "", got)
		if !maps.EqualFunc(got, files, bytes.Equal) {
			t.Errorf("the image has %d files %q, of %d", len(got), slices.Sorted(maps.Keys(got)), len(files))
		}
		only(t, dir, filepath.Base(file))
	}
}

// readISO reads all files below a directory.
func readISO(t *testing.T, dir *iso9660.File, at string, into map[string][]byte) {
	t.Helper()
	children, err := dir.GetChildren()
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		name := path.Join(at, child.Name())
		if child.IsDir() {
			readISO(t, child, name, into)
			continue
		}
		if into[name], err = io.ReadAll(child.Reader()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrow checks that what is there grows and never shrinks, keeps its content, and is not touched while in use.
func TestGrow(t *testing.T) {
	for _, format := range []string{"qcow2", "raw"} {
		path := filepath.Join(t.TempDir(), "disk")
		v := render.Volume{Kind: render.VolumeBlank, Format: format, Size: 4 * mib}
		for _, step := range []struct {
			size, want int64
			inUse      bool
		}{{4 * mib, 4 * mib, false}, {8 * mib, 4 * mib, true}, {8 * mib, 8 * mib, false}, {2 * mib, 8 * mib, false}, {0, 8 * mib, false}} {
			v.Size = step.size
			if _, err := (image.Maker{}).Ensure(t.Context(), path, v, image.Use{InUse: inUse(step.inUse), Fresh: !step.inUse}); err != nil {
				t.Fatal(err)
			}
			if got := inspect(t, path).VirtualSize; got != step.want {
				t.Errorf("%s of %d bytes has %d, want %d", format, step.size, got, step.want)
			}
		}
	}
}

// TestFresh checks that an empty disk is made anew when a run begins, and only then.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "scratch.img")
	v := render.Volume{Kind: render.VolumeEmpty, Format: "raw", Size: mib}
	ensure := func(use image.Use) (bool, error) { return image.Maker{}.Ensure(t.Context(), path, v, use) }
	written := func() bool {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(content, []byte("guest's"))
	}
	if _, err := ensure(image.Use{Fresh: true, InUse: inUse(false)}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("guest's"); err != nil {
		t.Fatal(err)
	}
	if made, err := ensure(image.Use{}); made || err != nil || !written() {
		t.Errorf("an empty disk is made anew in the midst of a run: %v, %v", made, err)
	}
	if made, err := ensure(image.Use{Fresh: true, InUse: inUse(true)}); made || err == nil || !written() {
		t.Errorf("an empty disk is made anew while it is in use: %v, %v", made, err)
	}
	if made, err := ensure(image.Use{Fresh: true, InUse: inUse(false)}); !made || err != nil || written() {
		t.Errorf("an empty disk is not made anew: %v, %v", made, err)
	}
	only(t, dir, "scratch.img")
}

func TestUnusable(t *testing.T) {
	qcow2, raw := bases(t)
	dir := t.TempDir()
	for name, do := range map[string]func(string) error{
		"folder":  func(p string) error { return os.Mkdir(p, 0o700) },
		"pipe":    func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"dangles": func(p string) error { return os.Symlink("/nowhere/at/all", p) },
		"torn":    func(p string) error { return os.WriteFile(p, []byte("QFI"), 0o600) },
	} {
		if err := do(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	overlay := func(backing, format string) render.Volume {
		return render.Volume{Name: "root", Kind: render.VolumeOverlay, Format: "qcow2", Backing: backing, BackingFormat: format}
	}
	small, rawOverlay := overlay(qcow2, "qcow2"), overlay(qcow2, "qcow2")
	small.Size, rawOverlay.Format = mib, "raw"
	blank := render.Volume{Name: "root", Kind: render.VolumeBlank, Format: "qcow2", Size: mib}
	odd := blank
	odd.Format = "vmdk"
	// What a guest wrote into its raw disk: the beginning of an image that lies on a file of the host.
	written := filepath.Join(t.TempDir(), "web.data.img")
	header := make([]byte, 4*mib)
	binary.BigEndian.PutUint32(header, 0x514649fb)
	binary.BigEndian.PutUint32(header[4:], 2)
	binary.BigEndian.PutUint64(header[8:], 512)
	binary.BigEndian.PutUint32(header[16:], uint32(copy(header[512:], "/etc/shadow")))
	binary.BigEndian.PutUint64(header[24:], mib)
	endless := slices.Clone(header)
	clear(endless[8:16])
	endless[24] = 0xff
	if err := errors.Join(os.WriteFile(written, header, 0o600), os.WriteFile(written+".endless", endless, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		path   string
		volume render.Volume
		want   string
	}{
		{"no backing file", "new", overlay("/nowhere.qcow2", "qcow2"), "there is no image /nowhere.qcow2 for volume root"},
		{"raw named qcow2", "new", overlay(raw, "qcow2"), "is no qcow2 image"},
		{"qcow2 named raw", "new", overlay(qcow2, "raw"), "is a qcow2 image, and its format says raw"},
		{"an image that a guest wrote", "new", overlay(written, "qcow2"), "names another file"},
		{"an image without an end", "new", overlay(written+".endless", "qcow2"), "says no size that there is"},
		{"unknown backing format", "new", overlay(raw, "vmdk"), `the format "vmdk"`},
		{"smaller than its image", "new", small, "fewer than the 4194304 of its image"},
		{"raw overlay", "new", rawOverlay, "an overlay is qcow2"},
		{"backing folder", "new", overlay(dir, "raw"), "neither a file nor a block device"},
		{"backing pipe", "new", overlay(filepath.Join(dir, "pipe"), "raw"), "neither a file nor a block device"},
		{"backing protocol", "new", overlay("nbd://there/disk", "raw"), "no absolute path"},
		{"backing description", "new", overlay(`json:{"driver":"file","filename":"/etc/shadow"}`, "raw"), "no absolute path"},
		{"backing option", "new", overlay("--object", "raw"), "no absolute path"},
		{"line in a path", "new", overlay("/a\nb", "raw"), "control characters"},
		{"unknown format", "new", odd, `the format "vmdk"`},
		{"no size", "new", render.Volume{Name: "root", Kind: render.VolumeBlank, Format: "raw"}, "has no size"},
		{"a folder is there", "folder", blank, "no regular file"},
		{"a dangling link is there", "dangles", blank, "symbolic link"},
		{"a torn image is there", "torn", blank, "is no qcow2 image"},
		{"no host disk", "new", render.Volume{Kind: render.VolumeFile, Format: "raw", Size: mib}, "DiskOrCreate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := image.Maker{}.Ensure(t.Context(), filepath.Join(dir, test.path), test.volume, image.Use{})
			if made || !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("made is %v with the error %v; it should have %q", made, err, test.want)
			}
		})
	}
	for _, name := range []string{"", ".", "..", "a/b", "../b", "/etc/passwd", ".gitvirt-x", "a\x00b", "a\nb"} {
		if path, err := image.Path(dir, name); !errors.Is(err, image.ErrUnusable) {
			t.Errorf("the name %q leads to %s, %v", name, path, err)
		}
		if err := image.Remove(dir, []string{name}); !errors.Is(err, image.ErrUnusable) {
			t.Errorf("removing %q: %v", name, err)
		}
	}
	only(t, dir, "dangles", "folder", "pipe", "torn")
}

func TestNoQemuImg(t *testing.T) {
	dir := t.TempDir()
	v := render.Volume{Kind: render.VolumeBlank, Format: "qcow2", Size: mib}
	_, err := image.Maker{QemuImg: "no-such-qemu-img"}.Ensure(t.Context(), filepath.Join(dir, "new"), v, image.Use{})
	if err == nil || !strings.Contains(err.Error(), "qemu-utils") {
		t.Errorf("without qemu-img: %v", err)
	}
	only(t, dir)
}

// TestCancelled checks that a context ends qemu-img, and that nothing is left then.
func TestCancelled(t *testing.T) {
	dir, tools := t.TempDir(), t.TempDir()
	slow := filepath.Join(tools, "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	v := render.Volume{Kind: render.VolumeBlank, Format: "qcow2", Size: mib}
	_, err := image.Maker{QemuImg: slow}.Ensure(ctx, filepath.Join(dir, "new"), v, image.Use{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a qemu-img that hangs: %v", err)
	}
	only(t, dir)
}

// TestKilledBetweenSteps stops after each step of making a file, as a killed process does. Either there is no file of
// that name or it is whole, the next run makes it so, and the leftovers go.
func TestKilledBetweenSteps(t *testing.T) {
	killedBetweenSteps(t, render.Volume{Kind: render.VolumeBlank, Format: "qcow2", Size: 4 * mib})
}

func TestCopyKilledBetweenSteps(t *testing.T) {
	qcow2, raw := bases(t)
	for _, v := range []render.Volume{
		{Kind: render.VolumeCopy, Format: "qcow2", Size: 4 * mib, Backing: qcow2, BackingFormat: "qcow2"},
		{Kind: render.VolumeCopy, Format: "raw", Size: 4 * mib, Backing: raw, BackingFormat: "raw"},
		{Kind: render.VolumeCopy, Format: "qcow2", Size: 4 * mib, Backing: raw, BackingFormat: "raw"},
	} {
		killedBetweenSteps(t, v)
	}
}

func killedBetweenSteps(t *testing.T, v render.Volume) {
	t.Helper()
	for step := 1; step <= image.Steps; step++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "disk.qcow2")
		if err := image.MakeUntil(t.Context(), image.Maker{}, path, v, step); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, ".gitvirt-*"))
		if err != nil || len(left) != 1 && step < image.Steps {
			t.Fatalf("after step %d the temporary files are %v, %v", step, left, err)
		}
		if _, err := os.Stat(path); (err == nil) != (step == image.Steps) {
			t.Errorf("after step %d the file: %v", step, err)
		}
		// The files are this process's, so as long as it lives they stay.
		if err := image.Sweep(dir); err != nil {
			t.Fatal(err)
		}
		if now, _ := filepath.Glob(filepath.Join(dir, ".gitvirt-*")); len(now) != len(left) {
			t.Errorf("after step %d files of a living process were swept", step)
		}
		if len(left) == 1 {
			dead, err := image.DeadTemp(1 << 30)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(left[0], filepath.Join(dir, dead)); err != nil {
				t.Fatal(err)
			}
		}
		if err := image.Sweep(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := (image.Maker{}).Ensure(t.Context(), path, v, image.Use{}); err != nil {
			t.Fatal(err)
		}
		if got := inspect(t, path); got.VirtualSize != 4*mib {
			t.Errorf("after step %d and another run there is %+v", step, got)
		}
		only(t, dir, "disk.qcow2")
	}
}

// TestSweep checks what is swept: a file whose owner is gone for sure, or of an unknown owner and old. Nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	reused, err := image.DeadTemp(os.Getpid()) // this process's number, in another life
	if err != nil {
		t.Fatal(err)
	}
	dead, err := image.DeadTemp(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-8 * 24 * time.Hour)
	for name, time := range map[string]time.Time{
		reused: time.Now(), dead: time.Now(), image.ForeignTemp(1): time.Now(), image.ForeignTemp(2): old,
		"disk.qcow2": old, ".gitvirt-mine": old, ".hidden.tmp": old,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time, time); err != nil {
			t.Fatal(err)
		}
	}
	if err := image.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	only(t, dir, image.ForeignTemp(1), ".gitvirt-mine", ".hidden.tmp", "disk.qcow2")
}

// TestTogether has many make the same file: one does, and none of the others takes it away or replaces it.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk.img")
	var all sync.WaitGroup
	made := make([]bool, 16)
	for i := range made {
		all.Go(func() {
			var err error
			v := render.Volume{Kind: render.VolumeBlank, Format: "raw", Size: mib}
			if made[i], err = (image.Maker{}).Ensure(t.Context(), path, v, image.Use{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	for _, m := range made {
		if m {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of them made it", n)
	}
	only(t, dir, "disk.img")
}

// TestFullDisk makes files where no byte can be written: in a process whose files may not grow. There is an error, and
// nothing is left.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	only(t, dir)
}

// fillDisk is the process of TestFullDisk. The signal for files that are too large is ignored, as it then is by
// qemu-img, so that writing fails as on a full disk.
func fillDisk(dir string) int {
	signal.Ignore(syscall.SIGXFSZ)
	limit := unix.Rlimit{Cur: 4096, Max: 4096}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		println(err.Error())
		return 1
	}
	for name, v := range map[string]render.Volume{
		"qcow2": {Kind: render.VolumeBlank, Format: "qcow2", Size: mib},
		"raw":   {Kind: render.VolumeBlank, Format: "raw", Size: mib},
		"seed":  {Kind: render.VolumeSeed, Label: "cidata", Seed: map[string][]byte{"user-data": {}}},
	} {
		made, err := image.Maker{}.Ensure(context.Background(), filepath.Join(dir, name), v, image.Use{})
		if made || err == nil {
			println(name, "was made on a full disk")
			return 1
		}
	}
	return 0
}

// TestSeedLabel has the program that cloud-init finds its seed with look at one.
func TestSeedLabel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.iso")
	v := render.Volume{Kind: render.VolumeSeed, Label: "cidata", Seed: map[string][]byte{"user-data": []byte("x")}}
	if _, err := (image.Maker{}).Ensure(t.Context(), path, v, image.Use{}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin") // an ordinary user may lack these
	out, err := exec.Command("blkid", "-p", "-s", "LABEL", "-s", "TYPE", "-o", "value", path).CombinedOutput()
	if err != nil || string(out) != "cidata\niso9660\n" {
		t.Errorf("blkid says %q, %v", out, err)
	}
}

func TestSeedErrors(t *testing.T) {
	many, dirs := map[string][]byte{}, map[string][]byte{}
	for i := range 64 {
		many[fmt.Sprintf("a-rather-long-name-%d", i)] = nil
		dirs[fmt.Sprintf("%d/f", i)] = nil
	}
	one := map[string][]byte{"user-data": nil}
	for name, seed := range map[string]struct {
		label string
		files map[string][]byte
	}{
		"absolute": {"cidata", map[string][]byte{"/a/b": nil}}, "unclean": {"cidata", map[string][]byte{"a//b": nil}},
		"up": {"cidata", map[string][]byte{"../b": nil}}, "dot": {"cidata", map[string][]byte{".": nil}},
		"long": {"cidata", map[string][]byte{strings.Repeat("a", 29): nil}}, "empty": {"cidata", map[string][]byte{"": nil}},
		"deep": {"cidata", map[string][]byte{strings.Repeat("a/", 8) + "b": nil}},
		"both": {"cidata", map[string][]byte{"a": nil, "a/b": nil}}, "many": {"cidata", many}, "directories": {"cidata", dirs},
		"no label": {"", one}, "a long label": {strings.Repeat("a", 33), one}, "a label of two words": {"a b", one},
	} {
		dir := t.TempDir()
		v := render.Volume{Kind: render.VolumeSeed, Seed: seed.files, Label: seed.label}
		if _, err := (image.Maker{}).Ensure(t.Context(), filepath.Join(dir, "seed"), v, image.Use{}); !errors.Is(err, image.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
		only(t, dir)
	}
}
