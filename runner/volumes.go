package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/image"
)

// makeVolumes makes the files that a domain needs and that are not there, grows those that are too small, and has
// libvirt know them.
func (r *Runner) makeVolumes(ctx context.Context, s plan.Step) error {
	use := image.Use{Fresh: s.Fresh, InUse: func() (bool, error) { return r.active(ctx, s) }}
	pools := map[string]storagePool{}
	files := map[string][]string{}
	made := map[string]bool{} // by pool
	dirs := map[string]bool{} // those with new files
	for _, v := range s.Volumes {
		path := v.Path
		if v.Kind == render.VolumeFetched || v.Kind == render.VolumeEmpty && v.Fetch != nil && !s.Fresh && !s.Plug {
			// The first is all that it is. The second is made when a run begins, and can begin then without the network.
			if err := r.fetch(ctx, s.Domain, v, ""); err != nil {
				return fmt.Errorf("volume %s: %w", v.Name, err)
			}
			continue
		}
		if v.Kind != render.VolumeFile {
			p, err := r.poolOf(ctx, pools, v.Pool)
			if err != nil {
				return err
			}
			if path, err = image.Path(p.dir, v.File); err != nil {
				return err
			}
			files[v.Pool] = append(files[v.Pool], v.File)
		}
		isNew, err := r.ensure(ctx, s.Domain, v, path, use)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		if isNew {
			made[v.Pool], dirs[filepath.Dir(path)] = true, true
		}
	}
	for dir := range dirs {
		_, err := inFolder(ctx, r, dir, func(context.Context) (struct{}, error) { return struct{}{}, image.Sync(dir) })
		if err != nil {
			return err
		}
	}
	for name, pool := range pools {
		if err := r.announce(ctx, pool, files[name], made[name]); err != nil {
			return fmt.Errorf("storage pool %q: %w", name, err)
		}
	}
	return nil
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
		if v.Kind == render.VolumeFile || v.Pool == "" {
			return fmt.Errorf("volume %s: %w: it is a file of the host, in no storage pool", v.Name, ErrImage)
		}
		if used[v.File] {
			return fmt.Errorf("volume %s: %w", v.Name, ErrActive)
		}
		p, err := r.poolOf(ctx, pools, v.Pool)
		if err != nil {
			return err
		}
		if _, err := image.Path(p.dir, v.File); err != nil {
			return err
		}
		files[v.Pool] = append(files[v.Pool], v.File)
	}
	for name, pool := range pools {
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

// perFolder is how many files are made in a folder at once. Each folder has its own count, so that one on storage that
// hangs holds up only the machines that need it.
const perFolder = 8

// folders keeps what is known of the folders that files are made in.
type folders struct {
	mu    sync.Mutex
	turns map[string]*semaphore.Weighted
	swept map[string]bool
}

func newFolders() *folders {
	return &folders{turns: map[string]*semaphore.Weighted{}, swept: map[string]bool{}}
}

func (f *folders) turn(dir string) *semaphore.Weighted {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.turns[dir] == nil {
		f.turns[dir] = semaphore.NewWeighted(perFolder)
	}
	return f.turns[dir]
}

func (f *folders) sweepNow(dir string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := !f.swept[dir]
	f.swept[dir] = true
	return now
}

// inFolder does work on files. Storage that hangs blocks it in the kernel, where no context reaches, so it is given
// up on at the deadline, and keeps its turn until it returns.
func inFolder[T any](ctx context.Context, r *Runner, dir string, work func(context.Context) (T, error)) (T, error) {
	var none T
	limit := r.opts.Deadlines.Start
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		classed{ErrStuck, fmt.Errorf("the storage of %s gave no answer within %v", dir, limit)})
	defer cancel()
	turn := r.folders.turn(dir)
	if err := turn.Acquire(ctx, 1); err != nil {
		return none, context.Cause(ctx)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	started := r.work.start(func() {
		value, err := work(ctx)
		turn.Release(1)
		done <- result{value, err}
	})
	if !started {
		turn.Release(1)
		return none, errClosed
	}
	select {
	case res := <-done:
		return res.value, res.err
	case <-ctx.Done():
	}
	// What can be told to stop, stops now: qemu-img is killed. A moment is given for it to clean up.
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case res := <-done:
		return res.value, res.err
	case <-grace.C:
		return none, context.Cause(ctx)
	}
}
