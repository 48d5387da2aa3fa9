package runner

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/errgroup"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/runner/image"
)

// Stored lists the volumes of the host's active pools, and who uses them among the domains of a world: by the volume's name,
// by its path or another path to the same file, and through images that lie on it. Nothing is judged yet of who wants them.
func (r *Runner) Stored(ctx context.Context, world plan.World) (plan.Storage, error) {
	var out plan.Storage
	pools, err := r.activePools(ctx)
	if err != nil {
		return out, fmt.Errorf("cannot list the storage pools: %w", err)
	}
	below := map[string]string{} // by path: the path of the image that it lies on
	for _, p := range pools {
		volumes, err := r.storedIn(ctx, p, below)
		if errors.Is(err, ErrDisconnected) || ctx.Err() != nil {
			return out, err
		}
		if err != nil {
			r.log.Warn("cannot list the volumes of a storage pool", "pool", p.pool.Name, "error", err)
			out.Unread = append(out.Unread, "storage pool "+p.pool.Name)
		}
		out.Volumes = append(out.Volumes, volumes...)
	}
	slices.SortFunc(out.Volumes, func(a, b plan.Stored) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name))
	})
	u := usesOf(world)
	out.Unread = append(out.Unread, u.unread...)
	// Looking at paths may hang where storage does.
	_, err = inFolder(ctx, r, "/", func(context.Context) (struct{}, error) {
		u.mark(out.Volumes, below)
		return struct{}{}, nil
	})
	return out, err
}

// activePools are the host's pools that run, with what libvirt says of them as far as it is known.
func (r *Runner) activePools(ctx context.Context) ([]storagePool, error) {
	pools, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.StoragePool, error) {
		pools, _, err := lv.ConnectListAllStoragePools(1, libvirt.ConnectListStoragePoolsActive)
		return pools, err
	})
	if err != nil {
		return nil, err
	}
	var list []storagePool
	for _, p := range pools {
		text, err := read(ctx, r, func(lv *libvirt.Libvirt) (string, error) { return lv.StoragePoolGetXMLDesc(p, 0) })
		if code(err) == libvirt.ErrNoStoragePool {
			continue
		}
		if err != nil {
			return nil, err
		}
		kind, dir, _ := poolKind(text) // a type in which nothing is made has volumes as well
		list = append(list, storagePool{p, kind, dir})
	}
	return list, nil
}

// Refresh has libvirt look again at the pools that are folders: somebody may have put an image there.
func (r *Runner) Refresh(ctx context.Context) error {
	pools, err := r.activePools(ctx)
	for _, p := range pools {
		if err == nil && p.folder() {
			err = r.refreshes.do(ctx, p.pool)
		}
	}
	return err
}

// storedXML is what is read of a volume's XML (https://libvirt.org/formatstorage.html).
type storedXML struct {
	Name       string `xml:"name"`
	Capacity   int64  `xml:"capacity"`
	Allocation int64  `xml:"allocation"`
	Target     struct {
		Path   string `xml:"path"`
		Format struct {
			Type string `xml:"type,attr"`
		} `xml:"format"`
	} `xml:"target"`
	Backing string `xml:"backingStore>path"`
}

func (r *Runner) storedIn(ctx context.Context, p storagePool, below map[string]string) ([]plan.Stored, error) {
	list, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.StorageVol, error) {
		volumes, _, err := lv.StoragePoolListAllVolumes(p.pool, 1, 0)
		return volumes, err
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []plan.Stored
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, vol := range list {
		group.Go(func() error {
			text, err := read(reading, r, func(lv *libvirt.Libvirt) (string, error) { return lv.StorageVolGetXMLDesc(vol, 0) })
			if code(err) == libvirt.ErrNoStorageVol {
				return nil
			}
			var x storedXML
			if err == nil {
				err = xml.Unmarshal([]byte(text), &x)
			}
			if err != nil {
				if notThere(vol.Key) {
					return nil // it was deleted behind libvirt's back
				}
				return fmt.Errorf("volume %s: %w", vol.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if x.Backing != "" && x.Target.Path != "" {
				below[x.Target.Path] = x.Backing
			}
			all = append(all, plan.Stored{
				Pool: p.pool.Name, Name: x.Name, Path: x.Target.Path, Format: x.Target.Format.Type, Capacity: x.Capacity, Allocation: x.Allocation,
			})
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	_, err = inFolder(ctx, r, cmp.Or(p.dir, p.pool.Name), func(context.Context) (struct{}, error) {
		return struct{}{}, r.owned(p, all)
	})
	return all, err
}

func notThere(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// owned says of a pool's volumes whose they are.
func (r *Runner) owned(p storagePool, volumes []plan.Stored) error {
	for n := range volumes {
		v := &volumes[n]
		var mark *image.Mark
		if p.folder() {
			mark = image.ReadMark(v.Path)
		} else if e, ok, err := r.ledger.noted(v.Pool, v.Name); err != nil {
			return err
		} else if ok {
			mark = &e.Mark
		}
		if mark != nil {
			v.Made, v.Instance, v.Config, v.Volume = plan.MadeHere, mark.Instance, mark.Config, mark.Volume
		} else if instance, name, ok := plan.OwnName(v.Name); ok {
			v.Made, v.Instance, v.Volume = plan.MadePerhaps, instance, name
		}
	}
	return nil
}

// Claim keeps a volume from being made by any step until it is released.
func (r *Runner) Claim(pool, name string) (release func(), err error) {
	return r.claims.remove(pool + "/" + name)
}

// DeleteStored deletes a volume for good. The caller has claimed it, and has seen that nobody uses it; what a process has open
// that libvirt does not know is refused here.
func (r *Runner) DeleteStored(ctx context.Context, v plan.Stored) error {
	pools, err := r.activePools(ctx)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(pools, func(p storagePool) bool { return p.pool.Name == v.Pool })
	if n < 0 {
		return classed{ErrPool, fmt.Errorf("the storage pool %q is not there, or not active", v.Pool)}
	}
	p := pools[n]
	if !p.folder() {
		return r.deleteInPool(ctx, p, v.Name)
	}
	path, err := image.Path(p.dir, v.Name)
	if err != nil {
		return err
	}
	_, err = inFolder(ctx, r, p.dir, func(context.Context) (struct{}, error) {
		locked, err := image.Locked(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return struct{}{}, nil
		case err != nil:
			return struct{}{}, err
		case locked:
			return struct{}{}, fmt.Errorf("a process has %s open that is no domain of this libvirt", path)
		}
		return struct{}{}, image.Remove(p.dir, []string{v.Name})
	})
	if err != nil {
		return err
	}
	return r.refreshes.do(ctx, p.pool)
}
