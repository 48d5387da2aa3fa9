package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner/image"
)

// making is one step that makes volumes.
type making struct {
	r     *Runner
	step  plan.Step
	use   image.Use
	pools map[string]storagePool
	files map[string][]string // by pool
	made  map[string]bool     // by pool
	dirs  map[string]bool     // those with new files
}

// makeVolumes makes the files that a domain needs and that are not there, grows those that are too small, and has
// libvirt know them.
func (r *Runner) makeVolumes(ctx context.Context, s plan.Step) error {
	var names []string
	for _, v := range s.Volumes {
		if v.Pool != "" {
			names = append(names, v.Pool+"/"+v.File)
		}
	}
	release, err := r.claims.make(names)
	if err != nil {
		return err
	}
	defer release()
	m := making{
		r: r, step: s, use: image.Use{Fresh: s.Fresh, InUse: func() (bool, error) { return r.active(ctx, s) }},
		pools: map[string]storagePool{}, files: map[string][]string{}, made: map[string]bool{}, dirs: map[string]bool{},
	}
	for _, v := range s.Volumes {
		if err := m.volume(ctx, v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	for dir := range m.dirs {
		_, err := inFolder(ctx, r, dir, func(context.Context) (struct{}, error) { return struct{}{}, image.Sync(dir) })
		if err != nil {
			return err
		}
	}
	for name, files := range m.files {
		if err := r.announce(ctx, m.pools[name], files, m.made[name]); err != nil {
			return fmt.Errorf("storage pool %q: %w", name, err)
		}
	}
	return nil
}

func (m *making) volume(ctx context.Context, v render.Volume) error {
	r, s := m.r, m.step
	path := v.Path
	if v.Kind == render.VolumeFetched || v.Kind == render.VolumeEmpty && v.Fetch != nil && !s.Fresh && !s.Plug {
		// The first is all that it is. The second is made when a run begins, and can begin then without the network.
		return r.fetch(ctx, s.Domain, v, "")
	}
	use := m.use
	if v.Kind == render.VolumeIgnition {
		if err := makeFolder(ctx, r, path); err != nil {
			return err
		}
	} else if v.Kind != render.VolumeFile {
		p, err := r.poolOf(ctx, m.pools, v.Pool)
		if err != nil {
			return err
		}
		use.New = !slices.ContainsFunc(s.Recorded, func(o metadata.Volume) bool { return o.Pool == v.Pool && o.File == v.File })
		use.Owner = image.Mark{Instance: s.Domain, UUID: s.UUID, Config: s.Of, Volume: v.Name}
		if !p.folder() {
			return r.makeInPool(ctx, p, v, use)
		}
		if path, err = image.Path(p.dir, v.File); err != nil {
			return err
		}
		m.files[v.Pool] = append(m.files[v.Pool], v.File)
	}
	isNew, err := r.ensure(ctx, s.Domain, v, path, use)
	if err != nil {
		return err
	}
	if isNew {
		m.made[v.Pool], m.dirs[filepath.Dir(path)] = true, true
	}
	return nil
}

// makeFile makes one file. A full copy takes as long as it takes.
func (r *Runner) makeFile(ctx context.Context, path string, v render.Volume, use image.Use) (bool, error) {
	dir := filepath.Dir(path)
	if v.Kind == render.VolumeCopy {
		there, err := r.exists(ctx, path)
		if err != nil {
			return false, err
		}
		if !there {
			return r.inTurn(ctx, dir, r.log.With("volume", v.Pool+"/"+v.File, "image", v.Backing), func(ctx context.Context, p image.Progress) (bool, error) {
				use.Progress = p
				return r.images.Ensure(ctx, path, v, use)
			})
		}
	}
	return inFolder(ctx, r, dir, func(ctx context.Context) (bool, error) { return r.images.Ensure(ctx, path, v, use) })
}

// announce has libvirt know the files. One that is not new may be unknown too: of a run that was killed before it came
// to this.
func (r *Runner) announce(ctx context.Context, pool storagePool, files []string, made bool) error {
	if !made {
		known, err := r.knowsAll(ctx, pool, files)
		if err != nil || known {
			return err
		}
	}
	return r.refreshes.do(ctx, pool.pool)
}

// deleteVolumes removes a domain's files from their pools. A file that the running domain has is refused, and so is one that
// is given by its path, because it is the host's.
func (r *Runner) deleteVolumes(ctx context.Context, s plan.Step) error {
	used, err := r.used(ctx, s)
	if err != nil {
		return err
	}
	pools := map[string]storagePool{}
	files := map[string][]string{}
	for _, v := range s.Volumes {
		if v.Pool == "" && render.IsIgnitionName(v.File) {
			if err := r.removeIgnition(ctx, s, v); err != nil {
				return fmt.Errorf("volume %s: %w", v.Name, err)
			}
			continue
		}
		if v.Kind == render.VolumeFile || v.Pool == "" {
			return fmt.Errorf("volume %s: %w: it is a file of the host, in no storage pool", v.Name, ErrImage)
		}
		if used[v.File] {
			return fmt.Errorf("volume %s: %w", v.Name, ErrActive)
		}
		if _, err := r.poolOf(ctx, pools, v.Pool); err != nil {
			return err
		}
		if _, err := image.Path("/", v.File); err != nil {
			return err
		}
		files[v.Pool] = append(files[v.Pool], v.File)
	}
	for name, pool := range pools {
		if !pool.folder() {
			for _, file := range files[name] {
				if err := r.deleteInPool(ctx, pool, file); err != nil {
					return fmt.Errorf("storage pool %q: %w", name, err)
				}
			}
			continue
		}
		_, err := inFolder(ctx, r, pool.dir, func(context.Context) (struct{}, error) {
			return struct{}{}, image.Remove(pool.dir, files[name])
		})
		if err == nil {
			err = r.refreshes.do(ctx, pool.pool)
		}
		if err != nil {
			return fmt.Errorf("storage pool %q: %w", name, err)
		}
	}
	return nil
}

// used are the files that the disks of a running domain have, by their names; none when it does not run.
func (r *Runner) used(ctx context.Context, s plan.Step) (map[string]bool, error) {
	active, err := r.active(ctx, s)
	if err != nil || !active {
		return nil, err
	}
	dom, err := domain(s)
	if err != nil {
		return nil, err
	}
	text, err := readOf(ctx, r, dom.UUID, func(lv *libvirt.Libvirt) (string, error) { return lv.DomainGetXMLDesc(dom, 0) })
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := domxml.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the XML that libvirt gives of it: %w", err)
	}
	used := map[string]bool{}
	var look func(*domxml.Element)
	look = func(e *domxml.Element) { // a disk's source, and those below it: an overlay's backing files, a copy's target
		if e.Name == "source" {
			used[e.Attr("volume")], used[filepath.Base(e.Attr("file"))] = true, true
		}
		for _, c := range e.Children {
			look(c)
		}
	}
	if devices := e.Child("devices"); devices != nil {
		look(devices)
	}
	return used, nil
}

// poolOf finds a pool once in a step, and sweeps its folder once in the runner's life.
func (r *Runner) poolOf(ctx context.Context, found map[string]storagePool, name string) (storagePool, error) {
	if p, ok := found[name]; ok {
		return p, nil
	}
	p, err := r.findPool(ctx, name)
	if err != nil {
		return p, err
	}
	if !p.folder() {
		found[name] = p
		return p, nil
	}
	_, err = inFolder(ctx, r, p.dir, func(context.Context) (struct{}, error) { return struct{}{}, r.checkMount(p) })
	if err != nil {
		return p, err
	}
	if r.folders.sweepNow(p.dir) {
		_, err := inFolder(ctx, r, p.dir, func(context.Context) (struct{}, error) {
			return struct{}{}, image.Sweep(p.dir)
		})
		if err != nil {
			r.log.Warn("cannot remove temporary files that a killed run left", "folder", p.dir, "error", err)
		}
	}
	found[name] = p
	return p, nil
}
