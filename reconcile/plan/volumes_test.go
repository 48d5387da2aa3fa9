package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// fetching are volumes that an image in a registry is needed for.
func fetching() []render.Volume {
	fetch := &render.Fetch{Image: "registry.example/debian:12"}
	return []render.Volume{
		{Name: "scratch", Kind: render.VolumeEmpty, Pool: "default", File: "a.scratch.qcow2", Format: "qcow2", Size: 1 << 20},
		{Name: "image", Kind: render.VolumeEmpty, Pool: "default", File: "a.image.qcow2", Format: "qcow2", Backing: "/cache/disk", Fetch: fetch},
		{Name: "kernel", Kind: render.VolumeFetched, Path: "/cache/vmlinuz", Fetch: fetch},
	}
}

// volumeSteps are an instance's steps at volumes, as op, freshness and names, with each action that they belong to.
func volumeSteps(p Plan) []string {
	var all []string
	for _, a := range p.Actions {
		for _, s := range a.Steps {
			if s.Op != OpVolumes && s.Op != OpDeleteVolumes {
				continue
			}
			var names []string
			for _, v := range s.Volumes {
				names = append(names, v.Name)
			}
			all = append(all, fmt.Sprintf("%s %s fresh=%v %v", a.Effect, s.Op, s.Fresh, names))
		}
	}
	return all
}

// TestFetchedVolumes: an image is there before the run that is on ends for it, an instance that is not to run waits for no
// registry, and what is fetched is no instance's own.
func TestFetchedVolumes(t *testing.T) {
	was := instance(t, "a")
	now := func(state manifest.PowerState, rollout manifest.Rollout) *render.Instance {
		i := instance(t, "a")
		i.State, i.Rollout = state, rollout
		i.Volumes = append(i.Volumes, fetching()...)
		i.Digest += "2"
		return i
	}
	domain := func(i *render.Instance, running bool) []Domain {
		xml, meta := creation(i)
		meta.Run, meta.UID, meta.Outcome = 1, "u", metadata.OutcomeStarted
		d := Domain{Name: "a", UUID: i.UUID, ID: -1, State: DomainShutoff, Persistent: true}
		if !running {
			meta.Outcome = metadata.OutcomeStopped
		}
		meta.Put(xml)
		d.Inactive = XML{Packed: Plain(xml.String()), Hash: "1", Meta: &meta}
		if running {
			d.ID, d.State, d.Live = 1, DomainRunning, d.Inactive
		}
		return []Domain{d}
	}
	tests := map[string]struct {
		wanted  *render.Instance
		domains []Domain
		want    []string
	}{
		"created to run": {now(manifest.StateRunning, ""), nil, []string{
			"create volumes fresh=false [root image kernel]", "start volumes fresh=true [scratch image]"}},
		"created to be stopped": {now(manifest.StateStopped, ""), nil, []string{"create volumes fresh=false [root]"}},
		"edited while it runs":  {now(manifest.StateRunning, ""), domain(was, true), []string{"next-start volumes fresh=false [root image kernel]"}},
		"edited and stopped":    {now(manifest.StateStopped, ""), domain(was, true), []string{"next-start volumes fresh=false [root]"}},
		"started": {now(manifest.StateRunning, ""), domain(was, false), []string{
			"next-start volumes fresh=false [root image kernel]", "start volumes fresh=true [root scratch image kernel]"}},
		"no longer named": {was, domain(now(manifest.StateRunning, ""), false), []string{
			"next-start volumes fresh=false [root]", "start volumes fresh=true [root]", "start delete-volumes fresh=false [scratch image]"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := Make(Wanted{Host: "h", Instances: []*render.Instance{tt.wanted}}, World{Domains: tt.domains}, Memory{Now: time.Unix(1000, 0)})
			if got := volumeSteps(p); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
		})
	}
	for _, v := range record(now(manifest.StateRunning, ""), nil).Volumes {
		if v.Name == "kernel" || v.Name == "image" && v.Keep {
			t.Errorf("the record has %+v", v)
		}
	}
}
