package plan

import (
	"maps"
	"slices"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// record says what the records have to say. A change of a running machine is two writes that nobody can make at once: the
// machine's, and that of the record by which what is taken out of a document later is known to be ours. So the record is
// written first, and says what was declared together with what is about to be; a device that it names and that never came
// does no harm. Once nothing is left to be changed, it says what is declared, and no more.
func (a *Assessment) record(memo *Memo, slots domxml.Slots, m metadata.Metadata, want, was *domxml.Element, old []*domxml.Element) {
	i := a.Instance
	now := m
	now.Digest, now.Revision, now.Applied = "", "", ""
	if live := a.Domain.Live.Meta; live != nil {
		now = *live
	}
	follows := i.Rollout != manifest.RolloutStage // the machine follows the config while it runs
	both := slices.Clone(old)
	for _, t := range i.Temporary {
		if !isOf(both, t) {
			both = append(both, t)
		}
	}
	if slices.ContainsFunc(memo.Behind, func(b Behind) bool { return b.Effect == EffectLive }) {
		before, changed := now, len(both) > len(old)
		before.Volumes = joined(now.Volumes, m.Volumes)
		if changed {
			before.Temporary = pack(both)
		}
		if follows {
			if all := merged(was, want); was == nil || metadata.Redacted(all) != metadata.Redacted(was) {
				before.Applied, before.Digest, changed = metadata.Pack(all), "", true
			}
		}
		if changed {
			memo.Before = &before
		}
		memo.Config = a.plugged(slots, m)
	}
	behind := slices.ContainsFunc(memo.Behind, func(b Behind) bool { return !b.Guests })
	if differs := len(i.Temporary) != len(old) || len(both) > len(old); !behind && (differs || follows && now.Digest != m.Digest) {
		after := now
		after.Temporary = pack(i.Temporary)
		if follows {
			after.Applied, after.Digest, after.Revision, after.Volumes = metadata.Pack(want), m.Digest, m.Revision, m.Volumes
			after.Secrets = m.Secrets
			after.Flavour, after.GraceSeconds, after.DeletionPolicy = m.Flavour, m.GraceSeconds, m.DeletionPolicy
		}
		memo.After = &after
	}
}

// plugged is what the inactive XML's record has to say of temporary devices: their places, and their volumes. It is nil when
// it says so.
func (a *Assessment) plugged(slots domxml.Slots, m metadata.Metadata) *metadata.Metadata {
	if len(a.Instance.Temporary) == 0 {
		return nil
	}
	next := m
	next.Slots, next.Volumes = slots, joined(m.Volumes, volumesOf(a.Instance.TemporaryVolumes))
	if maps.Equal(next.Slots, m.Slots) && len(next.Volumes) == len(m.Volumes) {
		return nil
	}
	return &next
}

// merged is what was said together with what is; what only a start brings stays what it was at the start.
func merged(was, want *domxml.Element) *domxml.Element {
	if was == nil {
		return want
	}
	return domxml.AsStarted(domxml.Merge(was, want), was)
}

// pack is the form of Metadata's Temporary.
func pack(devices []*domxml.Element) string {
	if len(devices) == 0 {
		return ""
	}
	all := domxml.New("devices")
	all.Children = devices
	return metadata.Pack(all)
}
