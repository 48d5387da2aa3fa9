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
	i, d := a.Instance, a.Domain
	follows := i.Rollout != manifest.RolloutStage // the machine follows the config while it runs
	now := m
	now.Digest, now.Revision, now.Applied = "", "", ""
	if d.Live.Meta != nil {
		now = *d.Live.Meta
	}
	before, after := now, now
	for _, v := range m.Volumes {
		if !slices.ContainsFunc(now.Volumes, func(o metadata.Volume) bool { return o.Pool == v.Pool && o.File == v.File }) {
			before.Volumes = append(slices.Clip(before.Volumes), v)
		}
	}
	changed := false
	if follows {
		if all := merged(was, want); was == nil || metadata.Redacted(all) != metadata.Redacted(was) {
			before.Applied, before.Digest, changed = metadata.Pack(all), "", true
		}
		after.Applied, after.Digest, after.Revision, after.Volumes = metadata.Pack(want), m.Digest, m.Revision, m.Volumes
		after.Flavour, after.GraceSeconds, after.DeletionPolicy = m.Flavour, m.GraceSeconds, m.DeletionPolicy
	}
	both := slices.Clone(old)
	for _, t := range i.Temporary {
		if !isOf(both, t) {
			both = append(both, t)
		}
	}
	if len(both) > len(old) {
		before.Temporary, changed = pack(both), true
	}
	after.Temporary = pack(i.Temporary)
	if changed {
		memo.Before = &before
	}
	if len(i.Temporary) != len(old) || len(both) > len(old) || follows && now.Digest != m.Digest {
		memo.After = &after
	}
	if config := m; len(i.Temporary) > 0 {
		config.Slots, config.Volumes = slots, slices.Clone(m.Volumes)
		for _, v := range volumesOf(i.TemporaryVolumes) {
			if !slices.ContainsFunc(config.Volumes, func(o metadata.Volume) bool { return o.Pool == v.Pool && o.File == v.File }) {
				config.Volumes = append(config.Volumes, v)
			}
		}
		if !maps.Equal(config.Slots, m.Slots) || len(config.Volumes) > len(m.Volumes) {
			memo.Config = &config
		}
	}
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
