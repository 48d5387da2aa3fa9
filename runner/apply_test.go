package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestApply does each step twice, because each is safe to do again, and looks at what libvirt has after each.
func TestApply(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, sandboxtest.Start(t)))
	m := newMachine("web")
	first := &metadata.Metadata{Config: "web", Revision: "one", Digest: "d", Run: 1}
	second := &metadata.Metadata{Config: "web", Revision: "two", Digest: "d", Run: 1, Outcome: metadata.OutcomeStarted}
	record := func(record *metadata.Metadata, config, live bool) plan.Step {
		s := m.step(plan.OpMetadata)
		s.Metadata, s.Config, s.Live = record, config, live
		return s
	}
	autostart := func(on bool) plan.Step {
		s := m.step(plan.OpAutostart)
		s.On = on
		return s
	}
	for _, test := range []struct {
		name string
		step plan.Step
		want func(d *plan.Domain) bool
	}{
		{"destroy nothing", m.step(plan.OpDestroy), func(d *plan.Domain) bool { return d == nil }},
		{"shut down nothing", m.step(plan.OpShutdown), func(d *plan.Domain) bool { return d == nil }},
		{"undefine nothing", m.step(plan.OpUndefine), func(d *plan.Domain) bool { return d == nil }},
		{"define", m.define(first), func(d *plan.Domain) bool {
			return d.UUID == m.uuid && d.ID == -1 && !d.Active() && d.State == plan.DomainShutoff && d.Persistent &&
				!d.Autostart && d.Inactive.Meta.Revision == "one" && d.Live.Text() == "" && len(d.Inactive.Hash) == 64
		}},
		{"record", record(second, true, false), func(d *plan.Domain) bool {
			return d.Inactive.Meta.Revision == "two" && d.Inactive.Meta.Outcome == metadata.OutcomeStarted
		}},
		{"autostart", autostart(true), func(d *plan.Domain) bool { return d.Autostart }},
		{"no autostart", autostart(false), func(d *plan.Domain) bool { return !d.Autostart }},
		{"start", m.startPaused(), func(d *plan.Domain) bool {
			return d.Active() && d.State == plan.DomainPaused && d.Live.Meta.Revision == "two" && d.Live.Hash != d.Inactive.Hash
		}},
		{"live record", record(first, false, true), func(d *plan.Domain) bool {
			return d.Live.Meta.Revision == "one" && d.Inactive.Meta.Revision == "two"
		}},
		{"both records", record(first, true, true), func(d *plan.Domain) bool {
			return d.Live.Meta.Revision == "one" && d.Inactive.Meta.Revision == "one"
		}},
		{"define while it runs", m.define(second, "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"),
			func(d *plan.Domain) bool {
				return d.Active() && strings.Contains(d.Inactive.Text(), "<rng") && !strings.Contains(d.Live.Text(), "<rng")
			}},
		{"resume", m.step(plan.OpResume), func(d *plan.Domain) bool { return d.State == plan.DomainRunning }},
		{"start what runs", m.startPaused(), func(d *plan.Domain) bool { return d.State == plan.DomainRunning }},
		{"suspend", m.step(plan.OpSuspend), func(d *plan.Domain) bool {
			return d.State == plan.DomainPaused && d.Reason == "user"
		}},
		{"shut down what is paused", m.step(plan.OpShutdown), func(d *plan.Domain) bool { return d.State == plan.DomainPaused }},
		{"resume again", m.step(plan.OpResume), func(d *plan.Domain) bool { return d.State == plan.DomainRunning }},
		{"shut down", m.step(plan.OpShutdown), func(d *plan.Domain) bool { return d.Active() }}, // there is no guest to obey
		{"destroy", m.step(plan.OpDestroy), func(d *plan.Domain) bool {
			return !d.Active() && d.State == plan.DomainShutoff && d.Reason == "destroyed" && d.Live.Text() == ""
		}},
		{"shut down what is off", m.step(plan.OpShutdown), func(d *plan.Domain) bool { return !d.Active() }},
		{"undefine", m.step(plan.OpUndefine), func(d *plan.Domain) bool { return d == nil }},
	} {
		for _, time := range []string{"first", "second"} {
			if err := r.Apply(t.Context(), []plan.Step{test.step}); err != nil {
				t.Fatalf("%s, the %s time: %v", test.name, time, err)
			}
			if d := find(t, r, "web"); !test.want(d) {
				t.Fatalf("%s, the %s time: there is %+v", test.name, time, d)
			}
		}
	}
}

func TestApplyErrors(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m, other := newMachine("web"), newMachine("other")
	apply(t, r, m.define(nil), m.startPaused(), other.define(nil))

	clash := m.define(nil)
	clash.XML = strings.Replace(clash.XML, m.uuid, newMachine("another").uuid, 1)
	unknown := m.define(nil)
	unknown.XML = strings.Replace(unknown.XML, "<vcpu>", "<surprise/><vcpu>", 1)
	torn := m.define(nil)
	torn.XML = torn.XML[:100]
	live := other.step(plan.OpMetadata)
	live.Metadata, live.Live = &metadata.Metadata{Config: "other"}, true

	for _, test := range []struct {
		name  string
		step  plan.Step
		class error
		want  string
	}{
		{"undefine what runs", m.step(plan.OpUndefine), runner.ErrActive, "cannot undefine web: the domain runs"},
		{"another's name", clash, runner.ErrConflict, "already exists with uuid"},
		{"unknown element", unknown, runner.ErrInvalid, "cannot define web: "},
		{"torn XML", torn, runner.ErrInvalid, "cannot define web: "},
		{"start nothing", newMachine("none").step(plan.OpStart), runner.ErrMissing, "cannot start none: "},
		{"suspend what is off", other.step(plan.OpSuspend), nil, "cannot suspend other: "},
		{"resume what is off", other.step(plan.OpResume), nil, "cannot resume other: "},
		{"live record of what is off", live, nil, "cannot write the record of other: "},
		{"no record", m.step(plan.OpMetadata), nil, "neither what nor where"},
		{"no such step", m.step("dance"), nil, `cannot do "dance" to web`},
		{"no UUID", plan.Step{Op: plan.OpStart, Domain: "web"}, nil, "cannot start web: its UUID"},
	} {
		t.Run(test.name, func(t *testing.T) {
			steps := []plan.Step{test.step, m.step(plan.OpDestroy)}
			err := r.Apply(t.Context(), steps)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got the error %v; it should have %q", err, test.want)
			}
			for _, class := range []error{runner.ErrActive, runner.ErrConflict, runner.ErrInvalid, runner.ErrMissing,
				runner.ErrStuck, runner.ErrDisconnected, runner.ErrPool, runner.ErrImage} {
				if got := errors.Is(err, class); got != (class == test.class) {
					t.Errorf("the error is of the class %q: %v", class, got)
				}
			}
			if d := find(t, r, "web"); d == nil || !d.Active() {
				t.Error("the step after the failed one was done")
			}
		})
	}
}

// TestUndefineKeeps checks that neither snapshots nor a saved state keep a domain from being undefined, and that NVRAM
// stays.
func TestUndefineKeeps(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	virsh(t, s, "vol-create-as", "default", "disk.qcow2", "1M", "--format", "qcow2")
	apply(t, r, m.define(nil, `<disk type='volume' device='disk'><driver name='qemu' type='qcow2'/>
		<source pool='default' volume='disk.qcow2'/><target dev='vda' bus='virtio'/></disk>`), m.startPaused())
	virsh(t, s, "snapshot-create-as", "web", "s1")
	virsh(t, s, "managedsave", "web")
	if d := find(t, r, "web"); !d.ManagedSave || d.Active() {
		t.Fatalf("after a managed save there is %+v", d)
	}
	apply(t, r, m.step(plan.OpUndefine))
	if d := find(t, r, "web"); d != nil {
		t.Errorf("after undefine there is %+v", d)
	}

	nvram := filepath.Join(s.Dir(), "web.fd")
	if err := os.WriteFile(nvram, []byte("boot order"), 0o600); err != nil {
		t.Fatal(err)
	}
	uefi := m.define(nil)
	uefi.XML = strings.Replace(uefi.XML, "</os>", `<loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
		<nvram>`+nvram+`</nvram></os>`, 1)
	apply(t, r, uefi, m.step(plan.OpUndefine))
	if _, err := os.Stat(nvram); err != nil || find(t, r, "web") != nil {
		t.Errorf("after undefining a domain with NVRAM: %v", err)
	}
}

// TestTransient checks that a domain without a definition shows as one, and that autostart is libvirt's to refuse.
func TestTransient(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	r := start(t, options(t, s))
	m := newMachine("web")
	apply(t, r, m.define(&metadata.Metadata{Config: "web"}), m.startPaused())
	virsh(t, s, "undefine", "web")
	d := find(t, r, "web")
	if d == nil || d.Persistent || d.Inactive.Text() != "" || !d.Active() || d.Meta() == nil || d.Meta().Config != "web" {
		t.Fatalf("an undefined domain that runs: %+v", d)
	}
	apply(t, r, m.step(plan.OpDestroy), m.step(plan.OpDestroy))
	if d := find(t, r, "web"); d != nil {
		t.Errorf("after destroying a transient domain: %+v", d)
	}
}
