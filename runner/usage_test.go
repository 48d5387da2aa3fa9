package runner_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// TestUsage: what runs, what is paused and what is off is there, with its disks, interfaces and vCPUs; a QEMU that is frozen
// costs the others nothing but one deadline.
func TestUsage(t *testing.T) {
	s := sandboxtest.Start(t)
	opts := options(t, s)
	opts.Deadlines = runner.Deadlines{Read: 2 * time.Second}
	r := start(t, opts)
	var machines []machine
	for _, name := range []string{"off", "paused", "web"} {
		m := newMachine(name)
		machines = append(machines, m)
		volumes := m.step(plan.OpVolumes)
		volumes.Volumes = []render.Volume{{Name: "root", Kind: render.VolumeBlank, Pool: "default", File: name + ".root.qcow2", Format: "qcow2", Size: 8 << 20}}
		define := m.step(plan.OpDefine)
		define.XML = m.xml(nil, fmt.Sprintf(`<disk type='volume'><driver name='qemu' type='qcow2'/><source pool='default' volume='%s.root.qcow2'/><target dev='vda' bus='virtio'/></disk>`, name))
		steps := []plan.Step{volumes, define}
		if name != "off" {
			run := m.step(plan.OpStart)
			run.Paused = name == "paused"
			steps = append(steps, run)
		}
		if err := r.Apply(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
	}
	all, err := r.Usage(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%d domains, %v", len(all), err)
	}
	value := func(values []plan.UsageValue, stat string) int64 {
		for _, v := range values {
			if v.Stat == stat {
				return int64(v.Value)
			}
		}
		return -1
	}
	for n, state := range []int64{5, 3, 1} {
		u := all[n]
		if u.Name != machines[n].name || u.UUID != machines[n].uuid || value(u.Values, "state.state") != state {
			t.Errorf("%s: %+v", machines[n].name, u)
		}
		if got := value(u.Values, "balloon.maximum"); got != 16<<10 {
			t.Errorf("%s: %d KiB", u.Name, got)
		}
	}
	web := all[2]
	switch {
	case value(web.Values, "cpu.time") <= 0, value(web.Values, "balloon.rss") <= 0:
		t.Errorf("web: %+v", web.Values)
	case len(web.Disks) != 1 || web.Disks[0].Name != "vda" || web.Disks[0].Path == "" || value(web.Disks[0].Values, "capacity") != 8<<20 || value(web.Disks[0].Values, "rd.reqs") < 0:
		t.Errorf("web's disks: %+v", web.Disks)
	case len(web.VCPUs) != 1 || value(web.VCPUs[0].Values, "time") < 0:
		t.Errorf("web's vCPUs: %+v", web.VCPUs)
	}

	defer freeze(t, s, "web")()
	sandboxtest.Wait(t, 20*time.Second, func() bool {
		all, err := r.Usage(t.Context())
		if err != nil {
			if _, err := r.Observe(t.Context()); err != nil {
				t.Fatal(err)
			}
			return false
		}
		names := []string{}
		for _, u := range all {
			names = append(names, u.Name)
		}
		return slices.Contains(names, "off") && slices.Contains(names, "paused")
	}, "the others are known though one is frozen")
}
