package reconcile_test

import (
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// shape is what a machine is, and what its RunState says.
type shape struct {
	rollout   string
	guest     int // MiB
	sockets   int
	disks     map[string]string // buses by name
	nics      []string
	down      bool // the first NIC's link
	limit     int  // bytes a second of disk a; 0: none
	cache     string
	temporary []string // disks of this run alone
	run       int
	boots     *guest.Image // nil: it is paused, and nothing runs in it
	console   string
}

func (s shape) clone() shape {
	s.disks, s.nics, s.temporary = maps.Clone(s.disks), slices.Clone(s.nics), slices.Clone(s.temporary)
	return s
}

func (s shape) documents() string {
	var disks, volumes, nics, networks, spareDisks, spareVolumes []string
	for _, name := range slices.Sorted(maps.Keys(s.disks)) {
		more := ""
		if name == "a" && s.cache != "" {
			more = ", cache: " + s.cache
		}
		disks = append(disks, fmt.Sprintf("{name: %s, disk: {bus: %s}%s}", name, s.disks[name], more))
		volumes = append(volumes, fmt.Sprintf("{name: %s, volume: {size: 1Mi}}", name))
	}
	for n, name := range s.nics {
		state := ""
		if n == 0 && s.down {
			state = ", state: down"
		}
		nics = append(nics, fmt.Sprintf("{name: %s%s}", name, state))
		networks = append(networks, fmt.Sprintf("{name: %s, user: {}}", name))
	}
	for _, name := range s.temporary {
		spareDisks = append(spareDisks, fmt.Sprintf("{name: %s}", name))
		spareVolumes = append(spareVolumes, fmt.Sprintf("{name: %s, volume: {size: 1Mi}}", name))
	}
	xml := ""
	if s.limit > 0 {
		xml = fmt.Sprintf("<disk><alias name='ua-a'/><iotune><total_bytes_sec>%d</total_bytes_sec></iotune></disk>", s.limit)
	}
	state, boot, grace := "Paused", "", 0
	if s.boots != nil {
		state, grace = "Running", 30
		boot = fmt.Sprintf("<os><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>",
			html.EscapeString(s.boots.Kernel), html.EscapeString(s.boots.Initrd), html.EscapeString(s.boots.Cmdline))
		xml += fmt.Sprintf("<serial type='file'><source path='%s' append='on'/><target port='0'/></serial>"+
			"<console type='file'><source path='%s' append='on'/><target type='serial' port='0'/></console>", s.console, s.console)
	}
	attach := ""
	if len(s.temporary) > 0 {
		attach = fmt.Sprintf(", attach: {disks: [%s], volumes: [%s]}", strings.Join(spareDisks, ", "), strings.Join(spareVolumes, ", "))
	}
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec:
  rollout: %s
  template:
    spec:
      terminationGracePeriodSeconds: %d
      domain:
        memory: {guest: %dMi, maxGuest: 160Mi}
        cpu: {sockets: %d, maxSockets: 2}
        devices: {disks: [%s], interfaces: [%s]}
      volumes: [%s]
      networks: [%s]
      domainXML: "<domain>%s<devices>%s</devices></domain>"
---
`, s.rollout, grace, s.guest, s.sockets, strings.Join(disks, ", "), strings.Join(nics, ", "), strings.Join(volumes, ", "), strings.Join(networks, ", "),
		boot, xml) + run("web", fmt.Sprintf("state: %s, run: %d%s", state, s.run, attach))
}

// edit changes one thing or a few, at random.
func (s *shape) edit(r *rand.Rand) {
	s.rollout = []string{"Stage", "Live", "Live", "Live", "Restart"}[r.IntN(5)]
	toggle := func(list []string, name string) []string {
		if i := slices.Index(list, name); i >= 0 {
			return slices.Delete(slices.Clone(list), i, i+1)
		}
		return slices.Insert(slices.Clone(list), r.IntN(len(list)+1), name)
	}
	for range 1 + r.IntN(2) {
		switch r.IntN(12) {
		case 0, 1, 2:
			name := string(rune('b' + r.IntN(5)))
			if _, ok := s.disks[name]; ok {
				delete(s.disks, name)
			} else {
				s.disks[name] = []string{"virtio", "virtio", "virtio", "scsi", "usb", "sata"}[r.IntN(6)]
			}
			s.temporary = slices.DeleteFunc(s.temporary, func(t string) bool { return t == name })
		case 3, 4:
			s.nics = toggle(s.nics, fmt.Sprintf("nic%d", r.IntN(3)))
		case 5:
			s.down = !s.down
		case 6:
			s.limit = []int{0, 1 << 20, 2 << 20}[r.IntN(3)]
		case 7:
			s.cache = []string{"", "none", "writeback"}[r.IntN(3)]
		case 8:
			s.sockets = 1 + r.IntN(2)
		case 9:
			s.guest = 96 + 32*r.IntN(3)
		case 10:
			s.run++
		case 11: // what was plugged in for a run may become a disk of the machine, and the other way round
			name := string(rune('b' + r.IntN(5)))
			if _, ok := s.disks[name]; !ok || slices.Contains(s.temporary, name) {
				s.temporary = toggle(s.temporary, name)
			} else if s.disks[name] == "virtio" {
				delete(s.disks, name)
				s.temporary = append(s.temporary, name)
			}
		}
	}
}

// look is a plan by an agent that does nothing.
func (a *agent) look() status.Facts {
	a.t.Helper()
	facts, err := a.newLoop().Look(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return facts
}

// placesOf are where the named devices of a domain are, and what their MACs and target names are.
func placesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	e, err := domxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{}
	for _, d := range e.Child("devices").Children {
		if d.UserAlias() == "" {
			continue
		}
		place := d.Child("mac").Attr("address")
		if d.Name == "disk" {
			place += d.Child("target").Attr("bus") + " " + d.Child("target").Attr("dev")
		}
		if a := d.Child("address"); a != nil {
			place += " " + strings.TrimSpace(a.String())
		}
		places[d.Name+" "+d.UserAlias()] = place
	}
	return places
}

// sequence edits a machine at random, and compares what the plan says beforehand with what becomes of it.
func (b bed) sequence(t *testing.T, s shape, seed uint64, edits int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	a := newAgent(t, b.libvirt)
	if s.boots != nil {
		a.policy.HostPaths = []string{filepath.Dir(s.boots.Kernel), filepath.Dir(s.console)}
		a.restart()
	}
	booted := 0
	up := func() {
		if s.boots == nil {
			return
		}
		booted++
		sandboxtest.Wait(t, time.Minute, func() bool {
			text, err := os.ReadFile(s.console)
			return err == nil && guest.Boots(string(text)) >= booted
		}, "the guest is up")
	}
	a.repo.commit(t, s.documents(), 100)
	b.reach(t, a, "the first shape")
	up()
	inactive, live := placesOf(t, a.domain("web").Inactive.Text()), placesOf(t, a.domain("web").Live.Text())
	for n := range edits {
		s.edit(r)
		before, waited := a.domain("web").ID, a.assessment("web").Staged
		a.repo.commit(t, s.documents(), 100)
		foretold := a.look()
		b.reach(t, a, fmt.Sprintf("shape %d of seed %d", n, seed))
		d := a.domain("web")
		if d.ID != before {
			up()
		}
		b.foretold(t, foretold, a, d.ID != before, live, waited)
		for what, old := range map[string]map[string]string{d.Inactive.Text(): inactive, d.Live.Text(): live} {
			for name, place := range placesOf(t, what) {
				if was := old[name]; was != "" && was != place && strings.Fields(was)[0] == strings.Fields(place)[0] {
					t.Errorf("%s moved from %s to %s", name, was, place)
				}
			}
		}
		now := placesOf(t, d.Live.Text())
		inactive = placesOf(t, d.Inactive.Text())
		for name, place := range inactive {
			if running := now[name]; running != "" && running != place && strings.Fields(running)[0] == strings.Fields(place)[0] {
				t.Errorf("%s is at %s in the definition, and runs at %s", name, place, running)
			}
		}
		live = now
		if t.Failed() {
			t.Fatalf("seed %d, edit %d:\n%s", seed, n, s.documents())
		}
	}
	s.boots = nil
	a.repo.commit(t, machineDocs("other", "", "16Mi", "", "root"), 100)
	b.reach(t, a, "nothing")
}

// foretold compares a plan with what was done.
func (b bed) foretold(t *testing.T, facts status.Facts, a *agent, restarted bool, live map[string]string, waited []plan.Staged) {
	t.Helper()
	restarts := 0
	refusable := false // by a paused guest: what it does not give up, a restart takes, where the rollout says so
	effects := map[string]plan.Effect{}
	for _, action := range facts.Plan.Actions {
		if action.Effect == plan.EffectRestart || action.Effect == plan.EffectStop {
			restarts++
		}
		for _, c := range action.Changes {
			effects[c.Path] = action.Effect
			refusable = refusable || action.Effect == plan.EffectLive && c.To == "" && a.domain("web").State == plan.DomainPaused
		}
	}
	staged := map[string]plan.Staged{}
	for _, c := range a.assessment("web").Staged {
		staged[c.Path] = c
	}
	if refused := slices.ContainsFunc(a.assessment("web").Staged, func(s plan.Staged) bool { return s.Why != "" }); restarted != (restarts > 0) && !refused && !refusable {
		t.Errorf("the plan said %d stops, and restarted is %v", restarts, restarted)
		for _, action := range facts.Plan.Actions {
			t.Logf("it said: %s %s %v %s", action.Effect, action.Reason, action.Changes, action.Message)
		}
		t.Logf("done: %v; staged before: %v; now: %v", a.acted, waited, a.assessment("web").Staged)
	}
	for path, effect := range effects {
		waits, ok := staged[path]
		for of, s := range staged {
			if strings.HasPrefix(path, of) { // a device that waits, waits with all that it is
				waits, ok = s, true
			}
		}
		switch {
		case effect == plan.EffectLive && ok && waits.Why == "":
			t.Errorf("%s was to come live, and waits", path)
		case path == "domain.memory.guest" && a.domain("web").State == plan.DomainPaused:
			// A paused guest gives nothing back: it may have what is wanted already.
		case effect == plan.EffectNextStart && !ok && !restarted && live[running(path)] == "" &&
			!slices.ContainsFunc(waited, func(s plan.Staged) bool { return s.Path == path }):
			// What runs already, for this run alone or because an edit is taken back that had not come, is nothing to wait for.
			t.Errorf("%s was to wait for the next start, and does not", path)
		}
	}
}

// running is the device of a field, as placesOf has it.
func running(path string) string {
	name, _ := strings.CutSuffix(path[strings.IndexByte(path, '[')+1:], "]")
	if strings.HasPrefix(path, "domain.devices.interfaces") {
		return "interface " + name
	}
	return "disk " + name
}

// TestSequences edits machines at random on a real libvirtd: what the plan says is what happens, no device moves, and then
// there is nothing left to do. GITVIRT_TIMES says how many times the usual number of sequences are tried.
func TestSequences(t *testing.T) {
	s := sandboxtest.Start(t)
	b, stop := realBed(t, s)
	defer stop()
	first := shape{rollout: "Stage", guest: 96, sockets: 1, disks: map[string]string{"a": "virtio"}, nics: []string{"nic0"}, run: 1}
	for seed := range uint64(3 * times(t)) {
		if !t.Run(fmt.Sprintf("paused %d", seed), func(t *testing.T) { b.sequence(t, first.clone(), seed, 12) }) {
			return
		}
	}
	image := sandboxtest.Guest(t)
	for seed := range uint64(2 * times(t)) {
		if !t.Run(fmt.Sprintf("booted %d", seed), func(t *testing.T) {
			s := first.clone()
			s.boots, s.console = &image, filepath.Join(t.TempDir(), "console")
			b.sequence(t, s, 1000+seed, 10)
		}) {
			return
		}
	}
}

// times is how much of what is tried at random, or in all combinations, is tried: GITVIRT_TIMES as much as usually.
func times(t *testing.T) int {
	t.Helper()
	n := 1
	if s := os.Getenv("GITVIRT_TIMES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatalf("GITVIRT_TIMES=%s: %v", s, err)
		}
	}
	return n
}
