package image

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// FuzzVMDK: what is taken for a VMware disk that stands alone has its data in itself: a capacity of its own, no parent, and one
// extent at most..
func FuzzVMDK(f *testing.F) {
	dir := f.TempDir()
	for n, args := range [][]string{{"-o", "subformat=monolithicSparse"}, {"-o", "subformat=streamOptimized"}, {"-o", "subformat=monolithicFlat"}} {
		path := filepath.Join(dir, string(rune('a'+n))+".vmdk")
		args = append(append([]string{"create", "-q", "-f", "vmdk"}, args...), path, "1M")
		if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
			f.Fatalf("%v: %s", err, out)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		b = b[:min(len(b), 4096)]
		f.Add(b)
		f.Add(bytes.Replace(b, []byte("SPARSE"), []byte("FLAT  "), 1))
		f.Add(bytes.Replace(b, []byte("createType"), []byte("parentFileNameHint=\"x\"\ncreateType"), 1))
	}
	f.Add([]byte("KDMV"))
	f.Add([]byte("COWD"))
	f.Add([]byte("  # Disk descriptorFile\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		is, refused := parseVMDK(b)
		if !is && (refused != "" || bytes.HasPrefix(b, []byte(vmdkMagic)) || bytes.HasPrefix(b, []byte(cowdMagic))) {
			t.Fatalf("it is none, and %q", refused)
		}
		if is && refused == "" && (len(b) < 512 || binary.LittleEndian.Uint64(b[12:]) == 0 || bytes.Contains(b[512:], []byte("parentFileNameHint"))) {
			t.Errorf("it is taken")
		}
	})
}
