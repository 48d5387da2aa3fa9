package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestCopiedVolume starts a machine on a full copy whose image is gone, and has it come back to what was written there.
func TestCopiedVolume(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	image := rawImage(t, 4*mib)
	for _, format := range []string{"qcow2", "raw"} {
		v := render.Volume{Name: "root", Kind: render.VolumeCopy, Pool: "default", File: "web." + format + ".img", Format: format, Size: 8 * mib, Backing: image, BackingFormat: "raw"}
		apply(t, r, m.makeVolumes(v))
		gone := image + ".gone"
		if err := os.Rename(image, gone); err != nil {
			t.Fatal(err)
		}
		apply(t, r, m.makeVolumes(v), m.define(nil, disks([]render.Volume{v})...), m.startPaused(), m.step(plan.OpDestroy), m.step(plan.OpUndefine), m.makeVolumes(v))
		if err := os.Rename(gone, image); err != nil {
			t.Fatal(err)
		}
		v.Size = 2 * mib
		if err := r.Apply(t.Context(), []plan.Step{m.makeVolumes(v)}); !errors.Is(err, runner.ErrImage) || !strings.Contains(fmt.Sprint(err), "a disk never shrinks: say at least 8Mi") {
			t.Errorf("%s, smaller than it is: %v", format, err)
		}
		// Of a machine that is defined, a person grew it: it stays so, and its machine starts.
		grown := m.makeVolumes(v)
		grown.Recorded = []metadata.Volume{{Name: v.Name, Pool: v.Pool, File: v.File, Size: v.Size}}
		apply(t, r, grown)
	}
}

// TestManyCopies makes more copies at once than have turns. A small file does not wait for them, and all are made.
func TestManyCopies(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.QemuImg = slowConvert(t, "sleep 0.3")
	r := start(t, opts)
	image := rawImage(t, mib)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	copied := 0
	for i := range 7 {
		m := newMachine(fmt.Sprintf("m%d", i))
		v := render.Volume{Name: "root", Kind: render.VolumeCopy, Pool: "default", File: m.name + ".root.qcow2", Format: "qcow2", Backing: image, BackingFormat: "raw"}
		all.Go(func() {
			if err := r.Apply(ctx, []plan.Step{m.makeVolumes(v)}); err != nil {
				t.Error(err)
			}
			mu.Lock()
			copied++
			mu.Unlock()
		})
	}
	time.Sleep(100 * time.Millisecond)
	apply(t, r, newMachine("small").makeVolumes(render.Volume{Name: "d", Kind: render.VolumeBlank, Pool: "default", File: "small.d.img", Format: "raw", Size: mib}))
	mu.Lock()
	if copied == 7 {
		t.Error("the small file waited for all copies")
	}
	mu.Unlock()
	all.Wait()
	cancel()
}

// TestStuckCopy has copies that do not go on: they are given up, those that wait behind them too, nothing is left of them, and
// small files are made meanwhile.
func TestStuckCopy(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.QemuImg = slowConvert(t, "exec sleep 600")
	opts.Deadlines.Start = 4 * time.Second
	r := start(t, opts)
	image := rawImage(t, mib)
	var all sync.WaitGroup
	for i := range 3 {
		m := newMachine(fmt.Sprintf("m%d", i))
		v := render.Volume{Name: "root", Kind: render.VolumeCopy, Pool: "default", File: m.name + ".root.qcow2", Format: "qcow2", Backing: image, BackingFormat: "raw"}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if i == 2 {
				time.Sleep(50 * time.Millisecond)
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond) // it would have its turn once the others are given up
				defer cancel()
			}
			err := r.Apply(ctx, []plan.Step{m.makeVolumes(v)})
			if i < 2 && (!errors.Is(err, runner.ErrStuck) || !strings.Contains(fmt.Sprint(err), "has not gone on for 4s")) || err == nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	apply(t, r, newMachine("small").makeVolumes(render.Volume{Name: "d", Kind: render.VolumeBlank, Pool: "default", File: "small.d.img", Format: "raw", Size: mib}))
	all.Wait()
	left, err := os.ReadDir(s.PoolDir())
	if err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}

// slowConvert is a qemu-img that does something else before it converts.
func slowConvert(t *testing.T, before string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "qemu-img")
	script := "#!/bin/sh\ncase $1 in convert) " + before + ";; esac\nexec qemu-img \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnmounted takes the file system of a pool away behind libvirt's back: nothing is made in the folder below it, by a later
// agent neither, and once it is there again the machine has its volume.
func TestUnmounted(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.LedgerFile = filepath.Join(s.Dir(), "volumes.json")
	m := newMachine("web")
	v := render.Volume{Name: "data", Kind: render.VolumeBlank, Pool: "default", File: "web.data.img", Format: "raw", Size: mib}
	apply(t, start(t, opts), m.makeVolumes(v))
	precious := bytes.Repeat([]byte("precious"), mib/8)
	if err := os.WriteFile(filepath.Join(s.PoolDir(), v.File), precious, 0o600); err != nil {
		t.Fatal(err)
	}
	away := s.PoolDir() + ".away"
	if err := os.Rename(s.PoolDir(), away); err != nil {
		t.Fatal(err)
	}
	r := start(t, opts)
	remove := m.step(plan.OpDeleteVolumes)
	remove.Volumes = []render.Volume{v}
	try := func(want string) {
		t.Helper()
		for _, step := range []plan.Step{m.makeVolumes(v), remove} {
			if err := r.Apply(t.Context(), []plan.Step{step}); !errors.Is(err, runner.ErrPool) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v", step.Op, err)
			}
		}
	}
	try("is not there")
	if err := os.Mkdir(s.PoolDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	try("is empty, and not the one that volumes were made in before: mount its file system")
	if left, err := os.ReadDir(s.PoolDir()); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
	if err := os.Remove(s.PoolDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, s.PoolDir()); err != nil {
		t.Fatal(err)
	}
	apply(t, r, m.makeVolumes(v))
	if got, err := os.ReadFile(filepath.Join(s.PoolDir(), v.File)); err != nil || !bytes.Equal(got, precious) {
		t.Errorf("it has lost its content: %v", err)
	}
}
