package runner

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Existing is a network or a storage pool that libvirt has.
type Existing struct {
	Name, UUID string
	// XML is its definition: the inactive one where there are two.
	XML       string
	Active    bool
	Autostart bool
	// Persistent says that it has a definition.
	Persistent bool
}

// Networks are libvirt's, in no order.
func (r *Runner) Networks(ctx context.Context) ([]Existing, error) {
	all, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.Network, error) {
		list, _, err := lv.ConnectListAllNetworks(1, 0) // with 0 it returns their number only
		return list, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list libvirt's networks: %w", err)
	}
	return eachOf(ctx, all, func(ctx context.Context, n libvirt.Network) (Existing, error) {
		e, err := read(ctx, r, func(lv *libvirt.Libvirt) (Existing, error) {
			return examine(n.Name, n.UUID,
				func() (int32, error) { return lv.NetworkIsActive(n) },
				func() (int32, error) { return lv.NetworkIsPersistent(n) },
				func() (int32, error) { return lv.NetworkGetAutostart(n) },
				func(persistent bool) (string, error) {
					if persistent {
						return lv.NetworkGetXMLDesc(n, uint32(libvirt.NetworkXMLInactive))
					}
					return lv.NetworkGetXMLDesc(n, 0)
				})
		})
		if err != nil {
			return e, fmt.Errorf("cannot read libvirt's network %s: %w", n.Name, err)
		}
		return e, nil
	})
}

// StoragePools are libvirt's, in no order.
func (r *Runner) StoragePools(ctx context.Context) ([]Existing, error) {
	all, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.StoragePool, error) {
		list, _, err := lv.ConnectListAllStoragePools(1, 0)
		return list, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list libvirt's storage pools: %w", err)
	}
	return eachOf(ctx, all, func(ctx context.Context, p libvirt.StoragePool) (Existing, error) {
		e, err := read(ctx, r, func(lv *libvirt.Libvirt) (Existing, error) {
			return examine(p.Name, p.UUID,
				func() (int32, error) { return lv.StoragePoolIsActive(p) },
				func() (int32, error) { return lv.StoragePoolIsPersistent(p) },
				func() (int32, error) { return lv.StoragePoolGetAutostart(p) },
				func(persistent bool) (string, error) {
					if persistent {
						return lv.StoragePoolGetXMLDesc(p, libvirt.StorageXMLInactive)
					}
					return lv.StoragePoolGetXMLDesc(p, 0)
				})
		})
		if err != nil {
			return e, fmt.Errorf("cannot read libvirt's storage pool %s: %w", p.Name, err)
		}
		return e, nil
	})
}

// examine asks all there is to know.
func examine(name string, id libvirt.UUID, active, persistent, autostart func() (int32, error), xml func(persistent bool) (string, error)) (Existing, error) {
	e := Existing{Name: name, UUID: uuid.UUID(id).String()}
	for _, ask := range []struct {
		of func() (int32, error)
		to *bool
	}{{active, &e.Active}, {persistent, &e.Persistent}, {autostart, &e.Autostart}} {
		n, err := ask.of()
		if err != nil {
			return e, err
		}
		*ask.to = n == 1
	}
	var err error
	e.XML, err = xml(e.Persistent)
	return e, err
}

// eachOf asks about several things at once.
func eachOf[T any](ctx context.Context, list []T, ask func(context.Context, T) (Existing, error)) ([]Existing, error) {
	out := make([]Existing, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for n, item := range list {
		group.Go(func() (err error) {
			out[n], err = ask(ctx, item)
			return err
		})
	}
	return out, group.Wait()
}

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
