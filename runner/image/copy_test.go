package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/secret"
	"github.com/gitvirt/gitvirt/runner/image"
)

// content is a disk with data, zeroes and holes, whose size is no multiple of a block's.
func content(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "content.img")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	noise := make([]byte, 300<<10)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], r.Uint64())
	}
	for _, at := range []int64{4096, 3*mib + 100, 7 * mib} {
		if _, err := f.WriteAt(noise, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteAt(make([]byte, mib), 5*mib); err != nil { // zeroes that have blocks
		t.Fatal(err)
	}
	if err := f.Truncate(9*mib + 512); err != nil {
		t.Fatal(err)
	}
	return path
}

func allocated(t testing.TB, path string) int64 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Blocks * 512
}

func same(t testing.TB, a, b string) {
	t.Helper()
	if out, err := exec.Command("qemu-img", "compare", a, b).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCopy makes full copies of images of every format in every format, with the image's size and a larger one, and takes
// the image away: the copy stands alone.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	raw := content(t, dir)
	images := map[string]string{"raw": raw}
	for name, options := range map[string][]string{
		"qcow2":      {"-o", "compat=1.1"},
		"compressed": {"-c"},
		"old":        {"-o", "compat=0.10"},
	} {
		images[name] = filepath.Join(dir, name+".qcow2")
		qemuImg(t, append(append([]string{"convert", "-O", "qcow2"}, options...), raw, images[name])...)
	}
	for name, from := range images {
		for _, format := range []string{"qcow2", "raw"} {
			for _, size := range []int64{0, 16 * mib} {
				if size > 0 && (name == "compressed" || name == "old") {
					continue // as any qcow2 image
				}
				t.Run(fmt.Sprint(name, " to ", format, " ", size), func(t *testing.T) {
					pool := t.TempDir()
					path := filepath.Join(pool, "disk")
					v := render.Volume{Name: "root", Kind: render.VolumeCopy, Format: format, Size: size, Backing: filepath.Join(t.TempDir(), "image"), BackingFormat: "qcow2"}
					if name == "raw" {
						v.BackingFormat = "raw"
					}
					if err := os.Link(from, v.Backing); err != nil {
						t.Fatal(err)
					}
					told := int64(0)
					use := image.Use{Progress: func(done, total int64) {
						if done < told || done > total {
							t.Errorf("%d of %d after %d", done, total, told)
						}
						told = done
					}}
					made, err := image.Maker{}.Ensure(t.Context(), path, v, use)
					if err != nil || !made || told == 0 {
						t.Fatal(made, told, err)
					}
					if err := os.Remove(v.Backing); err != nil {
						t.Fatal(err)
					}
					if made, err := (image.Maker{}).Ensure(t.Context(), path, v, use); err != nil || made {
						t.Errorf("the second time: %v, %v", made, err)
					}
					got := inspect(t, path)
					want := size
					if want == 0 {
						want = 9*mib + 512
					}
					if got.Format != format || got.VirtualSize != want || got.Backing != "" || format == "qcow2" && got.Specific.Data.Compat != "1.1" {
						t.Errorf("%+v", got)
					}
					same(t, path, raw)
					if n := allocated(t, path); n > 2*mib {
						t.Errorf("it takes %d bytes", n)
					}
					only(t, pool, "disk")
				})
			}
		}
	}
}

// TestEncryptedCopy has an image copied into a volume that only its passphrase opens.
func TestEncryptedCopy(t *testing.T) {
	dir := t.TempDir()
	v := render.Volume{Name: "root", Kind: render.VolumeCopy, Format: "qcow2", Size: 16 * mib, Backing: content(t, dir), BackingFormat: "raw",
		Encryption: &render.Encryption{Token: "t"}}
	path := filepath.Join(dir, "disk.qcow2")
	m := image.Maker{Secrets: words{"t": "geheim"}, TryTime: 10 * time.Millisecond}
	if _, err := m.Ensure(t.Context(), path, v, image.Use{}); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain.img")
	qemuImg(t, "convert", "--object", "secret,id=k,file="+key, "--image-opts", "driver=qcow2,encrypt.key-secret=k,file.filename="+path, "-O", "raw", plain)
	if got := inspect(t, plain); got.VirtualSize != 16*mib {
		t.Errorf("%+v", got)
	}
	same(t, plain, v.Backing)
}

type words map[string]string

func (w words) Value(token string) (secret.Value, bool) {
	v, ok := w[token]
	return secret.NewValue([]byte(v)), ok
}

// TestCopyCancelled ends copies in their midst: nothing is left.
func TestCopyCancelled(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"raw", "qcow2"} {
		pool := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		v := render.Volume{Kind: render.VolumeCopy, Format: format, Backing: content(t, dir), BackingFormat: "raw"}
		enough := errors.New("enough")
		amidst := false
		_, err := image.Maker{}.Ensure(ctx, filepath.Join(pool, "disk"), v, image.Use{Progress: func(done, total int64) {
			amidst = amidst || done < total // it is not where the blocks are shared
			cancel(enough)
		}})
		if format == "raw" && amidst && !errors.Is(err, enough) {
			t.Errorf("%s: %v", format, err)
		}
		if err != nil {
			only(t, pool)
		}
	}
}

const mountVariable = "GITVIRT_TEST_MOUNT"

// mayMount runs the test again as a process that may mount file systems, in a namespace of its own.
func mayMount(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mountVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCopyOnFullDisk copies onto a file system that is too small: refused before it is full where that can be told, and
// nothing left where the disk fills up meanwhile. With room again the next try makes it.
func TestCopyOnFullDisk(t *testing.T) {
	if os.Getenv(mountVariable) == "" {
		mayMount(t)
		return
	}
	dir, small := t.TempDir(), t.TempDir()
	if err := unix.Mount("none", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("cannot mount a file system: %v", err)
	}
	defer func() {
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	noise := make([]byte, 6*mib)
	for i := range noise {
		noise[i] = byte(i*i>>8) | 1
	}
	full := filepath.Join(dir, "full.img")
	if err := os.WriteFile(full, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	compressed := filepath.Join(dir, "compressed.qcow2")
	qemuImg(t, "convert", "-c", "-O", "qcow2", full, compressed)
	for name, v := range map[string]render.Volume{
		"told before":    {Kind: render.VolumeCopy, Format: "raw", Backing: full, BackingFormat: "raw"},
		"told by writes": {Kind: render.VolumeCopy, Format: "raw", Backing: compressed, BackingFormat: "qcow2"},
	} {
		path := filepath.Join(small, "disk.img")
		made, err := image.Maker{}.Ensure(t.Context(), path, v, image.Use{})
		if made || err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left") {
			t.Errorf("%s: %v, %v", name, made, err)
		}
		only(t, small)
		if err := unix.Mount("none", small, "tmpfs", unix.MS_REMOUNT, "size=16m"); err != nil {
			t.Fatal(err)
		}
		if made, err := (image.Maker{}).Ensure(t.Context(), path, v, image.Use{}); !made || err != nil {
			t.Errorf("%s, with room: %v, %v", name, made, err)
		}
		same(t, path, full)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("none", small, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEarlier has files there from an earlier machine of the name: what fits is taken as it is, all else refused and left.
func TestEarlier(t *testing.T) {
	mine := image.Mark{Instance: "web", UUID: "1", Config: "web", Volume: "root"}
	other := image.Mark{Instance: "web", UUID: "2", Config: "web", Volume: "root"}
	blank := func(format string, size int64) render.Volume {
		return render.Volume{Name: "root", Kind: render.VolumeBlank, Format: format, Size: size}
	}
	for _, test := range []struct {
		name    string
		was, is render.Volume
		suffix  [2]string
		owner   image.Mark
		want    string // of the error; empty for none
	}{
		{"the same", blank("qcow2", 4*mib), blank("qcow2", 4*mib), [2]string{".qcow2", ".qcow2"}, mine, ""},
		{"larger now", blank("raw", 4*mib), blank("raw", 8*mib), [2]string{".img", ".img"}, mine, ""},
		{"smaller now, raw", blank("raw", 4*mib), blank("raw", 2*mib), [2]string{".img", ".img"}, mine, "a disk never shrinks: say at least 4Mi"},
		{"smaller now, qcow2", blank("qcow2", 4*mib), blank("qcow2", 4*mib-512), [2]string{".qcow2", ".qcow2"}, mine, "a disk never shrinks"},
		{"another's", blank("raw", 4*mib), blank("raw", 4*mib), [2]string{".img", ".img"}, other, "is of another machine: web, with the UUID 1 (this one's is 2)"},
		{"another format under the name", blank("qcow2", 4*mib), blank("raw", 4*mib), [2]string{".img", ".img"}, mine, "is a qcow2 image, where the volume is raw"},
		{"raw under a qcow2 name", blank("raw", 4*mib), blank("qcow2", 4*mib), [2]string{".qcow2", ".qcow2"}, mine, "is no qcow2 image"},
		{"another format under its name", blank("qcow2", 4*mib), blank("raw", 4*mib), [2]string{".qcow2", ".img"}, mine, "which is this volume in another format than raw"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "web.root"+test.suffix[0])
			if _, err := (image.Maker{}).Ensure(t.Context(), path, test.was, image.Use{Owner: mine}); err != nil {
				t.Fatal(err)
			}
			if m := image.ReadMark(path); m == nil || *m != mine {
				t.Errorf("its mark is %+v", m)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			next := filepath.Join(dir, "web.root"+test.suffix[1])
			made, err := image.Maker{}.Ensure(t.Context(), next, test.is, image.Use{New: true, Owner: test.owner, InUse: func() (bool, error) { return false, nil }})
			if made || (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !errors.Is(err, image.ErrUnusable)) {
				t.Errorf("%v, %v", made, err)
			}
			only(t, dir, filepath.Base(path))
			if after, err := os.ReadFile(path); err != nil || test.want != "" && !bytes.Equal(before, after) {
				t.Errorf("it was touched: %v", err)
			}
			if test.want == "" {
				if got := inspect(t, path); got.VirtualSize != test.is.Size {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// BenchmarkCopy copies an image of 256 MiB, half of it holes, beside cp --sparse=always, both synced. Files that share
// blocks would compare nothing, so cp is told not to.
func BenchmarkCopy(b *testing.B) {
	dir := b.TempDir()
	from := filepath.Join(dir, "image.img")
	file, err := os.Create(from)
	if err != nil {
		b.Fatal(err)
	}
	noise := make([]byte, 4*mib)
	for i := range noise {
		noise[i] = byte(i*2654435761>>7) | 1
	}
	for at := int64(0); at < 256*mib; at += 8 * mib {
		if _, err := file.WriteAt(noise, at); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Truncate(256 * mib); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	v := render.Volume{Kind: render.VolumeCopy, Format: "raw", Backing: from, BackingFormat: "raw"}
	to := filepath.Join(dir, "copy.img")
	var ours, floors []time.Duration
	run := func(f func() error) time.Duration {
		unix.Sync()
		begun := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begun)
		if err := os.Remove(to); err != nil {
			b.Fatal(err)
		}
		return took
	}
	for b.Loop() {
		floors = append(floors, run(func() error {
			if err := exec.Command("cp", "--sparse=always", "--reflink=never", from, to).Run(); err != nil {
				return err
			}
			return exec.Command("sync", to).Run()
		}))
		ours = append(ours, run(func() error {
			_, err := image.Maker{}.Ensure(b.Context(), to, v, image.Use{})
			return err
		}))
	}
	slices.Sort(ours)
	slices.Sort(floors)
	o, f := ours[len(ours)/2], floors[len(floors)/2]
	b.ReportMetric(float64(f.Microseconds())/1000, "ms-floor")
	b.ReportMetric(float64(o.Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(o)/float64(f), "x-floor")
}
