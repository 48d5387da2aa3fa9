package guest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cavaliergopher/cpio"
)

// initramfs is what the guest's root directory holds.
type initramfs struct {
	init    string
	busybox []byte
	applets []string // the names that busybox goes by
	modules []module // in the order of loading
}

func (i initramfs) writeFile(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(file)
	return errors.Join(i.write(zip), zip.Close(), file.Sync(), file.Close())
}

// write writes the archive in the newc format, the one that kernels read. The same contents give the same bytes.
func (i initramfs) write(w io.Writer) error {
	archive := cpio.NewWriter(w)
	for _, dir := range []string{"bin", "dev", "etc", "modules", "proc", "sys"} {
		if err := archive.WriteHeader(&cpio.Header{Name: dir, Mode: cpio.TypeDir | 0o755, Links: 2}); err != nil {
			return err
		}
	}
	type entry struct {
		name string
		mode cpio.FileMode
		data []byte // of a symbolic link: where it leads
	}
	entries := []entry{
		{"init", cpio.TypeReg | 0o755, []byte(i.init)},
		{"bin/busybox", cpio.TypeReg | 0o755, i.busybox},
	}
	for n, m := range i.modules {
		entries = append(entries, entry{fmt.Sprintf("modules/%02d-%s.ko", n, m.name), cpio.TypeReg | 0o644, m.data})
	}
	for _, name := range i.applets {
		if name != "busybox" {
			entries = append(entries, entry{"bin/" + name, cpio.TypeSymlink | 0o777, []byte("busybox")})
		}
	}
	for _, e := range entries {
		header := &cpio.Header{Name: e.name, Mode: e.mode, Links: 1, Size: int64(len(e.data))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
