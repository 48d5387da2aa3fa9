package runner

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
)

// Capacity is the size of a storage volume in bytes, as a guest sees it; false where there is no such volume.
func (r *Runner) Capacity(ctx context.Context, pool, volume string) (int64, bool, error) {
	size, err := read(ctx, r, func(lv *libvirt.Libvirt) (uint64, error) {
		p, err := lv.StoragePoolLookupByName(pool)
		if err != nil {
			return 0, err
		}
		v, err := lv.StorageVolLookupByName(p, volume)
		if err != nil {
			return 0, err
		}
		_, size, _, err := lv.StorageVolGetInfo(v)
		return size, err
	})
	switch c := code(err); {
	case c == libvirt.ErrNoStoragePool, c == libvirt.ErrNoStorageVol, c == libvirt.ErrOperationInvalid:
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("cannot ask for the size of %s in the pool %s: %w", volume, pool, err)
	}
	return int64(size), true, nil
}
