package runner

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/image"
)

// extent is what a pool may have rounded a volume's size up by, in bytes: LVM's extents have 4 MiB unless somebody chose
// otherwise.
const extent = 64 << 20

// makeInPool makes a raw volume in a pool that is no folder, through libvirt, and grows it. That it was made is not enough to
// tell that it is filled: see image.Fill.
func (r *Runner) makeInPool(ctx context.Context, p storagePool, v render.Volume, use image.Use) error {
	switch {
	case !v.Persistent():
		return classed{ErrPool, fmt.Errorf("the storage pool %q is of type %s, and this volume is a file: its pool has to be a folder (dir, fs, netfs)", v.Pool, p.kind)}
	case v.Format != "raw":
		return classed{ErrPool, fmt.Errorf("the storage pool %q is of type %s, whose volumes are raw: say format: raw", v.Pool, p.kind)}
	}
	vol, there, err := r.inPool(ctx, p, v.File)
	if err != nil {
		return err
	}
	noted, known, err := r.ledger.noted(v.Pool, v.File)
	if err != nil {
		return err
	}
	if !there {
		if v.Kind == render.VolumeCopy {
			if err := r.fetch(ctx, use.Owner.Instance, v, ""); err != nil {
				return err
			}
			if v.Size, err = image.CopySize(v); err != nil {
				return err
			}
		}
		noted, known = entered{Mark: use.Owner, Making: true}, true
		if err := r.ledger.note(v.Pool, v.File, noted); err != nil {
			return err
		}
		if vol, err = r.createInPool(ctx, p, v); err != nil {
			return err
		}
	}
	if use.New {
		if err := r.takeInPool(ctx, vol, v, noted, known, use); err != nil {
			return err
		}
	}
	return r.growInPool(ctx, vol, v, use)
}

// takeInPool fills a volume that is new, or was left half made, and judges one of an earlier machine.
func (r *Runner) takeInPool(ctx context.Context, vol libvirt.StorageVol, v render.Volume, noted entered, known bool, use image.Use) error {
	if known && noted.UUID != "" && noted.UUID != use.Owner.UUID {
		return classed{ErrImage, fmt.Errorf("%s is there in the pool %s, and is of another machine, %s, with the UUID %s", v.File, v.Pool, noted.Instance, noted.UUID)}
	}
	path, err := read(ctx, r, func(lv *libvirt.Libvirt) (string, error) { return lv.StorageVolGetPath(vol) })
	if err != nil {
		return err
	}
	half := known && noted.Making
	if !half {
		if half, err = inFolder(ctx, r, path, func(context.Context) (bool, error) { return image.Unfinished(path) }); err != nil {
			return err
		}
	}
	if half {
		if err := r.fetch(ctx, use.Owner.Instance, v, ""); err != nil {
			return err
		}
		begun := func() error { return r.ledger.note(v.Pool, v.File, entered{Mark: use.Owner}) }
		log := r.log.With("volume", v.Pool+"/"+v.File)
		_, err := r.inTurn(ctx, v.Pool, log, func(ctx context.Context, p image.Progress) (bool, error) {
			return true, r.images.Fill(ctx, path, v, begun, p)
		})
		return err
	}
	has, err := r.capacity(ctx, vol)
	if err == nil && v.Size > 0 && has >= v.Size+extent {
		err = classed{ErrImage, fmt.Errorf("%s is there in the pool %s, from an earlier machine of this name, and has %d bytes, more than the %d of volume %s: "+
			"a disk never shrinks: say the size that it has, or give the new volume another name", v.File, v.Pool, has, v.Size, v.Name)}
	}
	return err
}

func (r *Runner) growInPool(ctx context.Context, vol libvirt.StorageVol, v render.Volume, use image.Use) error {
	has, err := r.capacity(ctx, vol)
	if err != nil || has >= v.Size {
		return err
	}
	if inUse, err := use.InUse(); inUse || err != nil {
		return err
	}
	return r.resizeInPool(ctx, vol, v.Size)
}

func (r *Runner) resizeInPool(ctx context.Context, vol libvirt.StorageVol, size int64) error {
	_, err := call(ctx, r.changes, r.opts.Deadlines.Start, watcher{}, func(lv *libvirt.Libvirt) (struct{}, error) {
		return struct{}{}, lv.StorageVolResize(vol, uint64(size), 0)
	})
	return err
}

// growUnder grows a running disk's volume where it is in a pool that is no folder: QEMU cannot do that itself.
func (r *Runner) growUnder(ctx context.Context, s plan.Step) error {
	for _, v := range s.Volumes {
		p, err := r.findPool(ctx, v.Pool)
		if err != nil || p.folder() {
			return err
		}
		vol, there, err := r.inPool(ctx, p, v.File)
		if err != nil {
			return err
		}
		if !there {
			return classed{ErrPool, fmt.Errorf("there is no volume %s in the pool %s", v.File, v.Pool)}
		}
		has, err := r.capacity(ctx, vol)
		if err == nil && has < v.Size {
			err = r.resizeInPool(ctx, vol, v.Size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) capacity(ctx context.Context, vol libvirt.StorageVol) (int64, error) {
	return read(ctx, r, func(lv *libvirt.Libvirt) (int64, error) {
		_, capacity, _, err := lv.StorageVolGetInfo(vol)
		return int64(capacity), err
	})
}

func (r *Runner) inPool(ctx context.Context, p storagePool, name string) (libvirt.StorageVol, bool, error) {
	vol, err := read(ctx, r, func(lv *libvirt.Libvirt) (libvirt.StorageVol, error) { return lv.StorageVolLookupByName(p.pool, name) })
	if code(err) == libvirt.ErrNoStorageVol {
		return vol, false, nil
	}
	return vol, err == nil, err
}

func (r *Runner) createInPool(ctx context.Context, p storagePool, v render.Volume) (libvirt.StorageVol, error) {
	type size struct {
		Unit  string `xml:"unit,attr"`
		Bytes int64  `xml:",chardata"`
	}
	text, err := xml.Marshal(struct {
		XMLName  xml.Name `xml:"volume"`
		Name     string   `xml:"name"`
		Capacity size     `xml:"capacity"`
	}{Name: v.File, Capacity: size{"bytes", v.Size}})
	if err != nil {
		return libvirt.StorageVol{}, fmt.Errorf("cannot describe the volume: %w", err)
	}
	vol, err := call(ctx, r.changes, r.opts.Deadlines.Start, watcher{}, func(lv *libvirt.Libvirt) (libvirt.StorageVol, error) {
		return lv.StorageVolCreateXML(p.pool, string(text), 0)
	})
	if err != nil && !errors.Is(err, ErrStuck) && !errors.Is(err, ErrDisconnected) {
		err = classed{ErrPool, fmt.Errorf("cannot make %s in the storage pool %q: %w", v.File, v.Pool, err)}
	}
	return vol, err
}

func (r *Runner) deleteInPool(ctx context.Context, p storagePool, name string) error {
	vol, there, err := r.inPool(ctx, p, name)
	if err == nil && there {
		_, err = call(ctx, r.changes, r.opts.Deadlines.Start, watcher{}, func(lv *libvirt.Libvirt) (struct{}, error) {
			return struct{}{}, lv.StorageVolDelete(vol, 0)
		})
	}
	if err != nil {
		return err
	}
	return r.ledger.forget(p.pool.Name, name)
}
