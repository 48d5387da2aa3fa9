package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// Interval is how often the volumes are listed when nothing gives reason to. Libvirt opens each of them for it.
const Interval = 10 * time.Minute

// soon is when they are listed again where not all of them could be.
const soon = time.Minute

// Host is where the volumes are.
type Host interface {
	Observe(ctx context.Context) (plan.World, error)
	// Stored lists the volumes, and who uses them.
	Stored(ctx context.Context, world plan.World) (plan.Storage, error)
	// Refresh has libvirt look at its pools again.
	Refresh(ctx context.Context) error
	// Claim keeps a volume from being made until it is released.
	Claim(pool, name string) (release func(), err error)
	// DeleteStored deletes a volume for good.
	DeleteStored(ctx context.Context, v plan.Stored) error
}

// View is what the agent's last pass found.
type View struct {
	// Revision is the commit in force; empty when there is none.
	Revision string
	// Broken says that the revision has documents that cannot be read: what they describe is not known.
	Broken      bool
	Assessments []plan.Assessment
}

// Options are what an inventory works with.
type Options struct {
	Host Host
	// View is the newest, and asks nobody.
	View func() View
	// File is where is kept since when volumes are orphans.
	File   string
	Logger *slog.Logger
}

// Report is what was seen at a time.
type Report struct {
	At      time.Time
	Volumes []plan.Stored
}

// Inventory lists volumes now and then, so that nobody who asks has to wait for libvirt.
type Inventory struct {
	opts   Options
	ask    chan struct{}
	latest atomic.Pointer[Report]

	mu    sync.Mutex // for what is below, and for listing and deleting one after another
	since map[string]time.Time
}

// New makes an inventory and reads what the last one left.
func New(o Options) *Inventory {
	v := &Inventory{opts: o, ask: make(chan struct{}, 1), since: map[string]time.Time{}}
	v.latest.Store(&Report{})
	raw, err := os.ReadFile(o.File)
	if err == nil {
		err = json.Unmarshal(raw, &v.since)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Logger.Warn("it is not known any more since when volumes are orphans", "error", err)
		v.since = map[string]time.Time{}
	}
	return v
}

// Latest is the newest report.
func (v *Inventory) Latest() Report { return *v.latest.Load() }

// Look has the volumes listed soon.
func (v *Inventory) Look() {
	select {
	case v.ask <- struct{}{}:
	default:
	}
}

// Run lists the volumes when there is a revision, at each interval, and when it is asked to, until the context ends.
func (v *Inventory) Run(ctx context.Context) {
	timer := time.NewTimer(Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.ask:
		case <-timer.C:
		}
		timer.Reset(Interval)
		if v.opts.View().Revision == "" {
			continue
		}
		whole, err := v.List(ctx)
		if err != nil && ctx.Err() == nil {
			v.opts.Logger.Warn("cannot list the volumes", "error", err)
		}
		if !whole {
			timer.Reset(soon)
		}
	}
}

// List lists the volumes now, and says whether that was all of them.
func (v *Inventory) List(ctx context.Context) (whole bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	storage, err := v.list(ctx)
	return err == nil && len(storage.Unread) == 0, err
}

func (v *Inventory) list(ctx context.Context) (plan.Storage, error) {
	world, err := v.opts.Host.Observe(ctx)
	if err != nil {
		return plan.Storage{}, err
	}
	storage, err := v.opts.Host.Stored(ctx, world)
	if err != nil {
		return plan.Storage{}, err
	}
	view := v.opts.View()
	if view.Revision == "" {
		return plan.Storage{}, errors.New("no revision is in force: nobody can say which volumes are wanted")
	}
	plan.JudgeStored(storage.Volumes, world, view.Assessments)
	now := time.Now()
	v.date(storage, now)
	v.latest.Store(&Report{At: now, Volumes: storage.Volumes})
	return storage, nil
}

// date says since when volumes are orphans. What could not be read may still be one.
func (v *Inventory) date(storage plan.Storage, now time.Time) {
	since := map[string]time.Time{}
	if len(storage.Unread) > 0 {
		maps.Copy(since, v.since)
	}
	for n := range storage.Volumes {
		s := &storage.Volumes[n]
		key := s.Pool + "/" + s.Name
		if !s.Orphaned {
			delete(since, key)
			continue
		}
		at, known := v.since[key]
		if !known {
			at = now.UTC().Truncate(time.Second)
		}
		since[key], s.OrphanedSince = at, &at
	}
	if maps.Equal(since, v.since) {
		return
	}
	v.since = since
	if err := v.save(); err != nil {
		v.opts.Logger.Warn("it will not be known since when volumes are orphans", "error", err)
	}
}

func (v *Inventory) save() error {
	raw, err := json.MarshalIndent(v.since, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot note orphans: %w", err)
	}
	dir := filepath.Dir(v.opts.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot note orphans: %w", err)
	}
	return renameio.WriteFile(v.opts.File, append(raw, '\n'), 0o600, renameio.WithTempDir(dir))
}
