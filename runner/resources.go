package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/resource"
)

// ObserveResources returns the host's networks and storage pools, sorted by kind and name. It asks for two lists; of those that
// are interesting it tells what is known of them, too. One about which there is no answer in time is Stuck.
func (r *Runner) ObserveResources(ctx context.Context, interesting func(plan.Resource) bool) ([]plan.Resource, error) {
	sets, err := r.listResources(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot observe libvirt's networks and storage pools: %w", err)
	}
	var all []plan.Resource
	for o := range sets {
		all = append(all, plan.Resource{Kind: o.kind, Name: o.name, UUID: o.uuid})
	}
	slices.SortFunc(all, func(a, b plan.Resource) int {
		if a.Key() < b.Key() {
			return -1
		}
		return 1
	})
	var chosen []int
	for i := range all {
		if interesting(all[i]) {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) == 0 {
		return all, nil
	}
	if err := r.readResources(ctx, all, chosen); err != nil {
		return nil, fmt.Errorf("cannot observe libvirt's networks and storage pools: %w", err)
	}
	return all, nil
}

// listed is what a list tells of a network or a pool.
type listed struct {
	kind       resource.Kind
	name, uuid string
}

// listResources lists networks and pools with a flag; the flags of both kinds have the same values.
func (r *Runner) listResources(ctx context.Context, flags uint32) (map[listed]bool, error) {
	var networks []libvirt.Network
	var pools []libvirt.StoragePool
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		networks, err = read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.Network, error) {
			list, _, err := lv.ConnectListAllNetworks(1, libvirt.ConnectListAllNetworksFlags(flags)) // with 0 it returns their number only
			return list, err
		})
		return absent(err)
	})
	group.Go(func() (err error) {
		pools, err = read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.StoragePool, error) {
			list, _, err := lv.ConnectListAllStoragePools(1, libvirt.ConnectListAllStoragePoolsFlags(flags))
			return list, err
		})
		return absent(err)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	set := make(map[listed]bool, len(networks)+len(pools))
	for _, n := range networks {
		set[listed{resource.Network, n.Name, uuid.UUID(n.UUID).String()}] = true
	}
	for _, p := range pools {
		set[listed{resource.Pool, p.Name, uuid.UUID(p.UUID).String()}] = true
	}
	return set, nil
}

// absent takes a driver that is not installed for one that has nothing.
func absent(err error) error {
	if code(err) == libvirt.ErrNoSupport {
		return nil
	}
	return err
}

// readResources fills in what is to be known of some.
func (r *Runner) readResources(ctx context.Context, all []plan.Resource, chosen []int) error {
	group, inner := errgroup.WithContext(ctx)
	sets := make([]map[listed]bool, 3)
	for i, flag := range []uint32{uint32(libvirt.ConnectListNetworksActive), uint32(libvirt.ConnectListNetworksPersistent), uint32(libvirt.ConnectListNetworksAutostart)} {
		group.Go(func() (err error) {
			sets[i], err = r.listResources(inner, flag)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, ctx = errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(readers, len(chosen)) {
		group.Go(func() error {
			for n := next.Add(1); n <= int64(len(chosen)); n = next.Add(1) {
				o := &all[chosen[n-1]]
				bare := listed{o.Kind, o.Name, o.UUID}
				o.Active, o.Persistent, o.Autostart = sets[0][bare], sets[1][bare], sets[2][bare]
				err := r.readResource(ctx, o)
				switch {
				case err == nil:
				case ctx.Err() != nil, errors.Is(err, ErrDisconnected), r.reads.late.Load() >= r.reads.maxLate:
					return err
				default: // trouble with one is no trouble of the others
					r.log.Warn("cannot read a network or storage pool", "resource", o.Key(), "error", err)
					o.Stuck = true
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *Runner) readResource(ctx context.Context, o *plan.Resource) error {
	if r.calls.unread(o.UUID) {
		return classed{ErrStuck, errors.New("libvirt has not answered an earlier question about it")}
	}
	id, err := uuid.Parse(o.UUID)
	if err != nil {
		return err
	}
	get := func(inactive bool) (string, error) {
		return readOf(ctx, r, libvirt.UUID(id), func(lv *libvirt.Libvirt) (string, error) {
			if o.Kind == resource.Pool {
				var flags libvirt.StorageXMLFlags
				if inactive {
					flags = libvirt.StorageXMLInactive
				}
				return lv.StoragePoolGetXMLDesc(libvirt.StoragePool{Name: o.Name, UUID: libvirt.UUID(id)}, flags)
			}
			var flags uint32
			if inactive {
				flags = uint32(libvirt.NetworkXMLInactive)
			}
			return lv.NetworkGetXMLDesc(libvirt.Network{Name: o.Name, UUID: libvirt.UUID(id)}, flags)
		})
	}
	if o.Persistent {
		if o.Inactive, err = get(true); err != nil {
			return err
		}
	}
	if !o.Active {
		return nil
	}
	if o.Live, err = get(false); err != nil || o.Kind != resource.Network {
		return err
	}
	return r.readPorts(ctx, o, libvirt.UUID(id))
}

// readPorts finds which interfaces an active network is connected to. Libvirt before 5.5 does not tell.
func (r *Runner) readPorts(ctx context.Context, o *plan.Resource, id libvirt.UUID) error {
	ports, err := readOf(ctx, r, id, func(lv *libvirt.Libvirt) ([]libvirt.NetworkPort, error) {
		list, _, err := lv.NetworkListAllPorts(libvirt.Network{Name: o.Name, UUID: id}, 1, 0)
		return list, err
	})
	if err != nil {
		return absent(err)
	}
	o.Ports = make(map[string]bool, len(ports))
	for _, p := range ports {
		o.Ports[uuid.UUID(p.UUID).String()] = true
	}
	return nil
}
