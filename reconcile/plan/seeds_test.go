package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// The names of seeds, of one instance-id and of others.
const (
	seedOne   = "a.init-0000000000000001.iso"
	seedTwo   = "a.init-0000000000000002.iso"
	seedThree = "a.init-0000000000000002-00000003.iso"
	ignOne    = "/c/ignition/a.first-0000000000000001.ign"
	ignTwo    = "/c/ignition/a.first-0000000000000002.ign"
)

// TestSeedsAreNeverChangedLive: the drive keeps the seed that the guest booted with, whatever the rollout, and no restart is made
// for one.
func TestSeedsAreNeverChangedLive(t *testing.T) {
	drive := func(file string) string {
		return `<disk type='volume' device='cdrom'><driver name='qemu' type='raw'/><source pool='default' volume='` + file +
			`'/><target dev='sda' bus='scsi'/><readonly/><alias name='ua-init'/></disk>`
	}
	fwcfg := func(file string) string {
		return `<sysinfo type='fwcfg'><entry name='opt/com.coreos/config' file='` + file + `'/></sysinfo>`
	}
	for _, rollout := range []manifest.Rollout{manifest.RolloutStage, manifest.RolloutLive, manifest.RolloutRestart} {
		for _, test := range []struct {
			name                     string
			devices, before          string
			rest, restBefore, effect string
		}{
			{"another content", drive(seedTwo), drive(seedOne), "", "", "volumes[init] rebuild false " + seedWaits},
			{"another instance-id", drive(seedThree), drive(seedOne), "", "", "volumes[init] next-start false"},
			{"Ignition", "", "", fwcfg(ignTwo), fwcfg(ignOne), "volumes rebuild false " + seedWaits},
		} {
			var staged []string
			liveOf(t, domainWith(t, test.devices, test.rest), domainWith(t, test.before, test.restBefore), rollout, func(_ *Memory, a *Assessment) {
				for _, s := range a.Staged {
					staged = append(staged, strings.TrimSpace(fmt.Sprintf("%s %s %v %s", s.Path, s.Effect, s.Restart, s.Why)))
				}
				for _, action := range a.Actions {
					if action.Effect == EffectRestart {
						t.Errorf("%s, %s: restarted: %s", rollout, test.name, action.Message)
					}
					for _, s := range action.Steps {
						if s.Op == OpUpdate || s.Op == OpAttach || s.Op == OpDetach {
							t.Errorf("%s, %s: %s %s", rollout, test.name, s.Op, s.XML)
						}
					}
				}
			})
			if len(staged) != 1 || staged[0] != test.effect {
				t.Errorf("%s, %s: staged %q, want %q", rollout, test.name, staged, test.effect)
			}
		}
	}
}

// TestTheFirstSeedIsRemembered: the guest has been set up with one seed for as long as the instance-id is the same.
func TestTheFirstSeedIsRemembered(t *testing.T) {
	record := func(run int64, file, first string) metadata.Metadata {
		return metadata.Metadata{Run: run, Volumes: []metadata.Volume{{Name: "root", File: "a.root.qcow2"}, {Name: "init", Pool: "default", File: file, First: first}}}
	}
	for _, test := range []struct {
		name            string
		old             metadata.Metadata
		file, wantFirst string
		staged          bool
	}{
		{"never ran", record(0, seedOne, ""), seedTwo, "", false},
		{"edited", record(1, seedOne, ""), seedTwo, seedOne, true},
		{"edited again", record(2, seedTwo, seedOne), "a.init-0000000000000004.iso", seedOne, true},
		{"edited back", record(2, seedTwo, seedOne), seedOne, "", false},
		{"another instance-id", record(2, seedTwo, seedOne), seedThree, "", false},
		{"no seed any more", record(1, seedOne, ""), "a.init.qcow2", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			next := record(test.old.Run, test.file, "")
			keepFirst(test.old, &next)
			if got := next.Volumes[1].First; got != test.wantFirst {
				t.Errorf("the first is %q, want %q", got, test.wantFirst)
			}
			a := Assessment{Domain: &Domain{Persistent: true, Inactive: XML{Meta: &next}},
				Instance: &render.Instance{Volumes: []render.Volume{{Name: "init", Pool: "default", File: test.file}}}}
			a.stageSeeds()
			if (len(a.Staged) == 1) != test.staged || test.staged && (a.Staged[0].Effect != EffectRebuild || a.Staged[0].From != seedOne) {
				t.Errorf("staged %+v", a.Staged)
			}
		})
	}
}

// TestAPlanTellsWhatAnEditOfASeedIs: the message of the action says it, and its effect where nothing else is in it.
func TestAPlanTellsWhatAnEditOfASeedIs(t *testing.T) {
	waits, anew, other := Change{"volumes[init]", seedOne, seedTwo}, Change{"volumes[init]", seedOne, seedThree}, Change{"domain.memory.guest", "1Gi", "2Gi"}
	for _, test := range []struct {
		changes []Change
		effect  Effect
		words   string
	}{
		{[]Change{waits}, EffectRebuild, "; volumes[init]: " + seedWaits},
		{[]Change{waits, other}, EffectNextStart, "; volumes[init]: " + seedWaits},
		{[]Change{anew}, EffectNextStart, "; volumes[init]: " + seedAnew},
		{[]Change{other}, EffectNextStart, ""},
		{nil, EffectNextStart, ""},
	} {
		if effect, words := written(test.changes), seedWords(test.changes); effect != test.effect || words != test.words {
			t.Errorf("%v: %s %q", test.changes, effect, words)
		}
	}
}
