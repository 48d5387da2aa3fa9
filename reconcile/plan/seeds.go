package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
)

const (
	seedWaits = "the guest has been set up with the one before, and takes this one once the machine is made anew: take its RunState away, " +
		"delete its disks, and put the RunState back"
	seedAnew = "cloud-init sets the guest up with it at the next start"
)

// seedChange is what an edit of a seed means to the guest; SeedNone for another change.
func seedChange(from, to string) render.SeedChange {
	return render.CompareSeeds(path.Base(from), path.Base(to))
}

// seedEffect is the effect of a change of what a guest is set up with: it reads that when it boots, if at all.
func seedEffect(from, to string) (Effect, bool) {
	switch seedChange(from, to) {
	case render.SeedAnew:
		return EffectNextStart, true
	case render.SeedWaits:
		return EffectRebuild, true
	}
	return "", false
}

// named says of which volume a configuration for Ignition is: the domain's XML only has its file.
func (a *Assessment) named(c Change) Change {
	for _, v := range a.Instance.Volumes {
		if v.Kind == render.VolumeIgnition && v.File == path.Base(c.To) {
			c.Path = "volumes[" + v.Name + "]"
		}
	}
	return c
}

// seedWords are what a plan says of the seeds among some changes.
func seedWords(changes []Change) string {
	var words []string
	for _, c := range changes {
		switch seedChange(c.From, c.To) {
		case render.SeedAnew:
			words = append(words, c.Path+": "+seedAnew)
		case render.SeedWaits:
			words = append(words, c.Path+": "+seedWaits)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "; " + strings.Join(words, "; ")
}

// written is the effect of writing a definition, where what of it comes while the machine runs is done apart.
func written(changes []Change) Effect {
	waits := func(c Change) bool { return seedChange(c.From, c.To) == render.SeedWaits }
	if len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool { return !waits(c) }) {
		return EffectRebuild
	}
	return EffectNextStart
}

// keepFirst has a record remember the seeds that a guest was set up with, of a machine that ran.
func keepFirst(old metadata.Metadata, next *metadata.Metadata) {
	if old.Run == 0 {
		return
	}
	for n, v := range next.Volumes {
		o := slices.IndexFunc(old.Volumes, func(o metadata.Volume) bool { return o.Name == v.Name })
		if o < 0 {
			continue
		}
		first := old.Volumes[o].First
		if first == "" {
			first = old.Volumes[o].File
		}
		if first != v.File && seedChange(first, v.File) == render.SeedWaits {
			next.Volumes[n].First = first
		}
	}
}

// stageSeeds notes which seeds the guest has not been set up with, though they are in its drive.
func (a *Assessment) stageSeeds() {
	m := a.Domain.Meta()
	if m == nil {
		return
	}
	for _, v := range a.Instance.Volumes {
		n := find(m.Volumes, v.Pool, v.File)
		if n < 0 || m.Volumes[n].First == "" {
			continue
		}
		at := "volumes[" + v.Name + "]"
		if slices.ContainsFunc(a.Staged, func(s Staged) bool { return s.Path == at }) {
			continue
		}
		a.Staged = append(a.Staged, Staged{Change: Change{Path: at, From: m.Volumes[n].First, To: v.File}, Effect: EffectRebuild, Why: seedWaits})
	}
}
