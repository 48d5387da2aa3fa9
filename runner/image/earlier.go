package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// checkEarlier judges a file that is there under a volume's name, and that the machine's record does not have: it is of an
// earlier machine of this name, or of another host's. What fits is taken as it is. It is refused where it is another
// machine's, of another format, or larger than the volume says: a disk never shrinks.
func checkEarlier(path string, v render.Volume, owner Mark) error {
	if m := ReadMark(path); m != nil && owner.UUID != "" && m.UUID != owner.UUID {
		return unusable("%s is there, and is of another machine: %s, with the UUID %s (this one's is %s): rename it, or take its attribute %s away to take it over",
			path, m.Instance, m.UUID, owner.UUID, markName)
	}
	h, err := readHead(path)
	if err != nil {
		return err
	}
	size := h.length
	switch {
	case v.Format == formatQcow2 && !h.qcow2:
		return unusable("%s is there, from an earlier machine of this name, and is no qcow2 image", path)
	case v.Format == formatRaw && h.qcow2:
		return unusable("%s is there, from an earlier machine of this name, and is a qcow2 image, where the volume is raw: convert it (qemu-img convert), or rename it", path)
	case h.qcow2:
		size = h.virtual
	}
	if v.Size > 0 && size > v.Size {
		return unusable("%s is there, from an earlier machine of this name, and has %d bytes, more than the %d of volume %s: a disk never shrinks: "+
			"say at least %s, or give the new volume another name", path, size, v.Size, v.Name, quantity(size))
	}
	return nil
}

// checkSibling refuses to make a volume beside one of the same name in the other format: who gives a volume another format
// does not mean an empty one.
func checkSibling(path string, v render.Volume) error {
	if !v.Persistent() || v.Kind == render.VolumeFile {
		return nil
	}
	suffix := filepath.Ext(path)
	other := map[string]string{".qcow2": ".img", ".img": ".qcow2"}[suffix]
	if other == "" {
		return nil
	}
	sibling := strings.TrimSuffix(path, suffix) + other
	_, err := os.Lstat(sibling)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return unusable("there is %s already, which is this volume in another format than %s: say the format that it has, convert it (qemu-img convert), "+
		"or give the new volume another name", sibling, v.Format)
}

// quantity is a number of bytes as a document says it, in the largest unit that it is whole in.
func quantity(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}
