package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// Request names volumes to delete for good.
type Request struct {
	// Volumes are as POOL/NAME.
	Volumes []string `json:"volumes"`
	// Foreign lets what gitvirt did not make for sure be deleted too.
	Foreign bool `json:"foreign,omitempty"`
	// DryRun only says what would be deleted, and what stands in the way.
	DryRun bool `json:"dryRun,omitempty"`
}

// Answer is what became of a request: all of it is done, or nothing.
type Answer struct {
	// Volumes are those that are there of the request's, as they were before.
	Volumes []plan.Stored `json:"volumes"`
	// Refused are the reasons, each with its volume, for which nothing was deleted; empty when nothing stands in the way.
	Refused []string `json:"refused,omitempty"`
	// Deleted are the volumes that are gone; with an Error, those before it.
	Deleted []string `json:"deleted,omitempty"`
	// Error says why it could not be done, or be judged; empty when it could.
	Error string `json:"error,omitempty"`
}

// Delete deletes volumes for good, or says why it does not. It looks afresh, at pools and domains, while nobody can make the
// volumes anew.
func (v *Inventory) Delete(ctx context.Context, r Request) Answer {
	v.mu.Lock()
	defer v.mu.Unlock()
	var a Answer
	fail := func(err error) Answer {
		a.Error = err.Error()
		return a
	}
	names := slices.Compact(slices.Sorted(slices.Values(r.Volumes)))
	for _, name := range names {
		pool, volume, ok := strings.Cut(name, "/")
		if !ok || pool == "" || volume == "" || strings.Contains(volume, "/") {
			return fail(fmt.Errorf("%q is no volume: say POOL/NAME", name))
		}
		release, err := v.opts.Host.Claim(pool, volume)
		if err != nil {
			return fail(err)
		}
		defer release()
	}
	if err := v.opts.Host.Refresh(ctx); err != nil {
		return fail(fmt.Errorf("cannot have libvirt look at its storage pools: %w", err))
	}
	storage, err := v.list(ctx)
	if err != nil {
		return fail(err)
	}
	for _, name := range names {
		n := slices.IndexFunc(storage.Volumes, func(s plan.Stored) bool { return s.Pool+"/"+s.Name == name })
		if n < 0 {
			a.Refused = append(a.Refused, name+": there is no such volume in an active storage pool")
			continue
		}
		a.Volumes = append(a.Volumes, storage.Volumes[n])
	}
	broken := v.opts.View().Broken
	for _, s := range a.Volumes {
		if why := refuse(s, storage, names, r.Foreign, broken); why != "" {
			a.Refused = append(a.Refused, s.Pool+"/"+s.Name+": "+why)
		}
	}
	if len(a.Refused) > 0 || r.DryRun {
		return a
	}
	for _, s := range topFirst(a.Volumes) {
		name := s.Pool + "/" + s.Name
		if err := v.opts.Host.DeleteStored(ctx, s); err != nil {
			return fail(fmt.Errorf("cannot delete %s: %w", name, err))
		}
		a.Deleted = append(a.Deleted, name)
		v.opts.Logger.Info("a volume was deleted, as a person asked", "volume", name, "instance", s.Instance, "config", s.Config)
	}
	v.Look()
	return a
}

// refuse says why a volume is not to be deleted; empty when nothing stands in the way. An image that lies on it does not
// when it goes as well.
func refuse(s plan.Stored, storage plan.Storage, names []string, foreign, broken bool) string {
	users := slices.DeleteFunc(slices.Clone(s.UsedBy), func(who string) bool {
		image, ok := strings.CutPrefix(who, "image ")
		return ok && slices.Contains(names, image)
	})
	switch {
	case len(users) > 0:
		return "it is used by " + strings.Join(users, ", ")
	case s.Wanted:
		return "the revision in force has it for a machine of this host (" + s.Instance + "), or the machine is still defined"
	case len(storage.Unread) > 0:
		return "nobody can say who uses it: cannot read " + strings.Join(storage.Unread, ", ")
	case broken:
		return "the revision in force has documents that cannot be read, and one of them may want it: mend them first (gitvirt check)"
	case s.Made != plan.MadeHere && !foreign:
		return "it has no mark that gitvirt made it: say --foreign to delete it nevertheless"
	}
	return ""
}

// topFirst puts images before those that they lie on, so that a half done deletion leaves no image on nothing.
func topFirst(volumes []plan.Stored) []plan.Stored {
	sorted := slices.Clone(volumes)
	var out []plan.Stored
	for len(sorted) > 0 {
		n := slices.IndexFunc(sorted, func(s plan.Stored) bool {
			return !slices.ContainsFunc(sorted, func(o plan.Stored) bool { return slices.Contains(s.UsedBy, "image "+o.Pool+"/"+o.Name) })
		})
		n = max(n, 0) // a circle cannot be, and would not end
		out = append(out, sorted[n])
		sorted = slices.Delete(sorted, n, n+1)
	}
	return out
}
