package web_test

import (
	"bytes"
	"crypto/sha512"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// TestForms fetches images in every form, from a server and from a file: what a guest would see is the same in all.
func TestForms(t *testing.T) {
	t.Parallel()
	raw := disk(t, "-O", "raw")
	qcow2 := disk(t, "-O", "qcow2")
	vmdk := disk(t, "-O", "vmdk")
	stream := disk(t, "-O", "vmdk", "-o", "subformat=streamOptimized")
	for name, test := range map[string]struct {
		content []byte
		format  string // of what is put in place
	}{
		"disk.qcow2": {qcow2, "qcow2"}, "disk.raw": {raw, "raw"}, "disk.vmdk": {vmdk, "qcow2"}, "stream.vmdk": {stream, "qcow2"},
		"disk.raw.xz": {run(t, raw, "xz", "-c"), "raw"}, "disk.raw.gz": {run(t, raw, "gzip", "-c"), "raw"},
		"disk.raw.zst": {run(t, raw, "zstd", "-qc"), "raw"}, "disk.qcow2.xz": {run(t, qcow2, "xz", "-9", "-c"), "qcow2"},
		"disk.vmdk.gz": {run(t, vmdk, "gzip", "-c"), "qcow2"}, "two members.raw.xz": {append(run(t, raw[:mib], "xz", "-c"), run(t, raw[mib:], "xz", "-c")...), "raw"},
		"a name says nothing": {run(t, raw, "zstd", "-qc"), "raw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{s.put("/images/it", test.content, `"one"`), escape(file)} {
				dir := filepath.Join(t.TempDir(), "url", "0123456789abcdef")
				to := filepath.Join(dir, "disk")
				f := fetcher(t, download.Options{})
				got, err := f.Fetch(t.Context(), source(at, test.content), to, "web")
				if err != nil || got != digest(test.content) {
					t.Fatalf("from %s: %s, %v", at, got, err)
				}
				if format, err := image.Content(to); format != test.format || err != nil {
					t.Errorf("it is %s, %v", format, err)
				}
				seen := filepath.Join(t.TempDir(), "seen")
				run(t, nil, "qemu-img", "convert", "-f", test.format, "-O", "raw", to, seen)
				if !bytes.Equal(read(t, seen), raw) {
					t.Error("a guest would see something else")
				}
				if all := names(t, dir); all != "disk disk.digest" {
					t.Errorf("there are %s", all)
				}
				info, err := os.Stat(to)
				if err != nil || info.Mode() != 0o444 {
					t.Errorf("its mode is %v, %v", info.Mode(), err)
				}
			}
		})
	}
}

// TestChecksums finds an image's checksum in a list, and keeps what it found.
func TestChecksums(t *testing.T) {
	t.Parallel()
	content := []byte("an image")
	s := newSite(t)
	at := s.put("/12/disk.raw", content, `"one"`)
	long := fmt.Sprintf("%x", sha512.Sum512(content))
	short := strings.TrimPrefix(digest(content), "sha256:")
	for name, test := range map[string]struct{ list, want, err string }{
		"coreutils":      {list: strings.Repeat("0", 64) + "  other\n" + short + "  disk.raw\n", want: "sha256:" + short},
		"binary":         {list: short + " *disk.raw\n", want: "sha256:" + short},
		"in a folder":    {list: short + "  ./12/disk.raw\n", want: "sha256:" + short},
		"sha512":         {list: long + "  disk.raw", want: "sha512:" + long},
		"BSD":            {list: "SHA256 (disk.raw) = " + short + "\n", want: "sha256:" + short},
		"both":           {list: "SHA256 (disk.raw) = " + short + "\nSHA512 (disk.raw) = " + long + "\n", want: "sha512:" + long},
		"signed":         {list: "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + long + "  disk.raw\n-----BEGIN PGP SIGNATURE-----\n", want: "sha512:" + long},
		"alone":          {list: strings.ToUpper(short) + "\n", want: "sha256:" + short},
		"Windows":        {list: short + "  disk.raw\r\n", want: "sha256:" + short},
		"not there":      {list: short + "  disk.raw.old\n", err: "no line for disk.raw"},
		"MD5":            {list: "d41d8cd98f00b204e9800998ecf8427e  disk.raw\n", err: "no other is strong enough"},
		"a lie":          {list: "MD5 (disk.raw) = " + short + "\n", err: "no other is strong enough"},
		"two":            {list: short + "  disk.raw\n" + strings.Repeat("0", 64) + "  disk.raw\n", err: "several for disk.raw"},
		"no list at all": {list: "<html>", err: "no line for disk.raw"},
		"too long":       {list: strings.Repeat("x", 5<<20), err: "they have more than"},
		"of another":     {list: strings.Repeat("0", 64) + "  disk.raw\n", err: "it has sha256:" + short},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(at, nil)
			src.Sum, src.Checksums = "", s.put("/sums", []byte(test.list), `"one"`)
			to := filepath.Join(t.TempDir(), "a", "disk")
			got, err := fetcher(t, download.Options{}).Fetch(t.Context(), src, to, "web")
			if test.err != "" {
				if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), test.err) {
					t.Errorf("it gives %v", err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("it gives %s, %v", got, err)
			}
			// The list moves on, and what is gone is to come back as it was.
			s.put("/sums", []byte(strings.Repeat("0", 64)+"  disk.raw\n"), `"one"`)
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			if got, err := fetcher(t, download.Options{}).Fetch(t.Context(), src, to, "web"); err != nil || got != test.want {
				t.Errorf("again it gives %s, %v", got, err)
			}
			if pinned, err := src.Pinned(to); !pinned || err != nil {
				t.Errorf("it is not pinned: %v", err)
			}
		})
	}
}

// TestRefused: what would show a guest files of the host, or fill its disk, is not put in place, and nothing is left of it.
func TestRefused(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	backed := filepath.Join(t.TempDir(), "backed")
	run(t, nil, "qemu-img", "create", "-q", "-f", "qcow2", "-b", secret, "-F", "raw", backed)
	vmdk := disk(t, "-O", "vmdk")
	parent := bytes.Replace(vmdk, []byte("createType="), []byte("parentFileNameHint=\"/etc/shadow\"\ncreateType="), 1)
	flat := []byte("# Disk DescriptorFile\nversion=1\nCID=1\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\nRW 8 FLAT \"" + secret + "\" 0\n")
	hidden := bytes.Clone(vmdk)
	copy(hidden[12:20], make([]byte, 8)) // no capacity: QEMU would take the descriptor's extents
	zeroes := run(t, make([]byte, 64*mib), "xz", "-c")
	wide := run(t, noise(1000), "xz", "-c", "--lzma2=dict=1GiB")
	for name, test := range map[string]struct {
		content []byte
		format  string
		err     string
	}{
		"a backing file":        {content: read(t, backed), err: "names another file"},
		"packed":                {content: run(t, read(t, backed), "xz", "-c"), err: "names another file"},
		"a parent":              {content: parent, err: "names a parent"},
		"a descriptor":          {content: flat, err: "data in other files"},
		"a descriptor, packed":  {content: run(t, flat, "gzip", "-c"), err: "data in other files"},
		"a header without size": {content: hidden, err: "data in other files"},
		"another format":        {content: vmdk, format: "qcow2", err: "it is a vmdk image, and its format says qcow2"},
		"a bomb":                {content: zeroes, err: "more than 33554432 bytes"},
		"a bomb of memory":      {content: wide, err: "more than 64 MiB of memory"},
		"half a compression":    {content: zeroes[:len(zeroes)/2], err: "cannot be unpacked"},
		"no compression":        {content: append([]byte{0x1f, 0x8b}, "garbage"...), err: "cannot be unpacked"},
		"nothing":               {content: []byte{}, err: "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			src := source(s.put("/it", test.content, `"one"`), test.content)
			src.Format = test.format
			dir := filepath.Join(t.TempDir(), "a")
			f := fetcher(t, download.Options{Limit: 32 * mib})
			err := fetch(t, f, src, filepath.Join(dir, "disk"))
			if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("it gives %v", err)
			}
			if all := names(t, dir); all != "" {
				t.Errorf("left are %s", all)
			}
			if again := fetch(t, f, src, filepath.Join(dir, "disk")); again == nil || again.Error() != err.Error() {
				t.Errorf("again it gives %v", again)
			}
		})
	}
}

// TestSparse: unpacked zeroes take no room.
func TestSparse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	raw := append(make([]byte, 32*mib), "end"...)
	for name, content := range map[string][]byte{"packed": run(t, raw, "xz", "-c"), "plain": raw} {
		to := filepath.Join(t.TempDir(), "a", "disk")
		if err := fetch(t, fetcher(t, download.Options{}), source(s.put("/"+name, content, `"one"`), content), to); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(to, &st); err != nil || st.Size != int64(len(raw)) || st.Blocks*512 > 64<<10 {
			t.Errorf("%s: of %d bytes it takes %d, %v", name, st.Size, st.Blocks*512, err)
		}
	}
}
