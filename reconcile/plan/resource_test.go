package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/render/resource"
)

const fleet = "lab"

// wantedNetwork is a network of the documents, with what is said in it.
func wantedNetwork(t *testing.T, name, more string) resource.Resource {
	t.Helper()
	id := resource.UUID(fleet, resource.Network, name)
	e, err := domxml.Parse("<network><name>" + name + "</name><uuid>" + id + "</uuid><forward mode='nat'/>" + more + "</network>")
	if err != nil {
		t.Fatal(err)
	}
	return resource.Resource{Kind: resource.Network, Name: name, UUID: id, XML: e, Digest: more, Active: true, Autostart: true}
}

func network(name, id, inactive, live string) plan.Resource {
	xml := func(s string) string {
		if s == "" {
			return ""
		}
		return "<network><name>" + name + "</name><uuid>" + id + "</uuid><forward mode='nat'/>" + strings.TrimPrefix(s, "-") + "</network>"
	}
	return plan.Resource{Kind: resource.Network, Name: name, UUID: id, Active: live != "", Persistent: true, Autostart: true, Inactive: xml(inactive), Live: xml(live)}
}

func runningOn(name, network, port string) plan.Domain {
	text := "<domain id='1'><devices><interface type='network'><mac address='52:54:00:00:00:01'/><source network='" + network + "' portid='" + port + "'/></interface></devices></domain>"
	return plan.Domain{Name: name, UUID: "d", ID: 1, Persistent: true, Live: plan.XML{Packed: plan.Plain(text), Hash: name}, Inactive: plan.XML{Packed: plan.Plain(text), Hash: name}}
}

func TestMakeResources(t *testing.T) {
	ours := resource.UUID(fleet, resource.Network, "lan")
	const subnet, host, other = "<ip address='192.0.2.1' prefix='24'><dhcp>", "<host mac='52:54:00:00:00:01' name='web' ip='192.0.2.2'/>", "</dhcp></ip>"
	base := func(change func(*plan.ResourcesWanted)) plan.ResourcesWanted {
		w := plan.ResourcesWanted{Fleet: fleet, Budget: 3, Now: time.Unix(1000, 0)}
		change(&w)
		return w
	}
	says := func(more string, change ...func(*resource.Resource)) func(*plan.ResourcesWanted) {
		return func(w *plan.ResourcesWanted) {
			r := wantedNetwork(t, "lan", more)
			for _, f := range change {
				f(&r)
			}
			w.List = append(w.List, r)
		}
	}
	for _, test := range []struct {
		name    string
		wanted  plan.ResourcesWanted
		there   []plan.Resource
		domains []plan.Domain
		want    string // effects, reasons and steps
		staged  int
	}{
		{"nothing to do", base(says("")), []plan.Resource{network("lan", ours, "-", "-")}, nil, "", 0},
		{"new", base(says("")), nil, nil, "create New: resource-define resource-autostart resource-start", 0},
		{"stopped", base(says("")), []plan.Resource{network("lan", ours, "-", "")}, nil, "start Inactive: resource-start", 0},
		{"another's", base(says("")), []plan.Resource{network("lan", "x", "-", "-")}, nil, "blocked NotOurs:", 0},
		{"adopted", base(says("<mtu size='9000'/>", func(r *resource.Resource) { r.Adopt = true })), []plan.Resource{network("lan", "x", "-", "-")}, nil,
			"next-start Changed: resource-define", 1},
		{"known as ours", base(func(w *plan.ResourcesWanted) { says("")(w); w.Own = map[string]string{"Network/lan": "x"} }), []plan.Resource{network("lan", "x", "-", "-")}, nil, "", 0},
		{"live", base(says(subnet + host + other)), []plan.Resource{network("lan", ours, subnet+other, subnet+other)}, nil, "live Changed: resource-define network-update", 0},
		{"live only", base(says(subnet + host + other)), []plan.Resource{network("lan", ours, subnet+host+other, subnet+other)}, nil, "live Changed: network-update", 0},
		{"a restart that waits", base(says("<mtu size='9000'/>")), []plan.Resource{network("lan", ours, "-", "-")}, nil, "next-start Changed: resource-define", 1},
		{"staged already", base(says("<mtu size='9000'/>")), []plan.Resource{network("lan", ours, "<mtu size='9000'/>", "-")}, nil, "", 1},
		{"a restart", base(says("<mtu size='9000'/>", func(r *resource.Resource) { r.Restart = true })), []plan.Resource{network("lan", ours, "<mtu size='9000'/>", "-")},
			[]plan.Domain{runningOn("web", "lan", "p")}, "restart Changed: resource-stop resource-start replug", 0},
		{"drift", base(func(w *plan.ResourcesWanted) { says("")(w); w.Known = map[string]string{"Network/lan": ""} }),
			[]plan.Resource{network("lan", ours, "<dns><txt name='a' value='b'/></dns>", "-")}, nil, "next-start Drift: resource-define", 0},
		{"a machine that has lost it", base(says("")), []plan.Resource{func() plan.Resource {
			r := network("lan", ours, "-", "-")
			r.Ports = map[string]bool{"q": true}
			return r
		}()}, []plan.Domain{runningOn("web", "lan", "p")}, "live Unplugged: replug", 0},
		{"a machine that has not", base(says("")), []plan.Resource{func() plan.Resource {
			r := network("lan", ours, "-", "-")
			r.Ports = map[string]bool{"p": true}
			return r
		}()}, []plan.Domain{runningOn("web", "lan", "p")}, "", 0},
		{"gone", base(func(*plan.ResourcesWanted) {}), []plan.Resource{network("lan", ours, "-", "-")}, nil, "remove NotWanted: resource-stop resource-undefine", 0},
		{"gone, and another's", base(func(*plan.ResourcesWanted) {}), []plan.Resource{network("lan", "x", "-", "-")}, nil, "", 0},
		{"gone, and in use", base(func(*plan.ResourcesWanted) {}), []plan.Resource{network("lan", ours, "-", "-")}, []plan.Domain{runningOn("web", "lan", "p")}, "blocked InUse:", 0},
		{"gone, in a revision that is incomplete", base(func(w *plan.ResourcesWanted) { w.Incomplete = true }), []plan.Resource{network("lan", ours, "-", "-")}, nil, "blocked IncompleteRevision:", 0},
		{"broken", base(func(w *plan.ResourcesWanted) { w.Broken = map[string]string{"Network/lan": "why"} }), []plan.Resource{network("lan", ours, "-", "-")}, nil, "blocked InvalidDocument:", 0},
		{"forbidden", base(func(w *plan.ResourcesWanted) { says("")(w); w.Forbidden = map[string]string{"Network/lan": "why"} }), nil, nil, "blocked Policy:", 0},
		{"suspended", base(func(w *plan.ResourcesWanted) { says("")(w); w.Suspended = &plan.Suspension{Reason: "work"} }), nil, nil, "blocked Suspended:", 0},
		{"backing off", base(func(w *plan.ResourcesWanted) {
			says("")(w)
			w.NotBefore = map[string]time.Time{"Network/lan": time.Unix(2000, 0)}
		}), nil, nil, "create New:", 0},
		{"stuck", base(says("")), []plan.Resource{{Kind: resource.Network, Name: "lan", UUID: ours, Stuck: true}}, nil, "", 0},
	} {
		all := plan.MakeResources(test.wanted, test.there, plan.World{Domains: test.domains})
		var said []string
		staged := 0
		for _, a := range all {
			staged += len(a.Staged)
			for _, b := range a.Actions {
				line := string(b.Effect) + " " + b.Reason + ":"
				for _, s := range b.Steps {
					line += " " + string(s.Op)
				}
				said = append(said, line)
			}
		}
		if got := strings.Join(said, "; "); got != test.want || staged != test.staged {
			t.Errorf("%s: %q and %d staged, want %q and %d", test.name, got, staged, test.want, test.staged)
		}
	}
}

// TestADepartingMachineKeepsItsAddress until it is off.
func TestADepartingMachineKeepsItsAddress(t *testing.T) {
	ours := resource.UUID(fleet, resource.Network, "lan")
	const without, with = "<ip address='192.0.2.1' prefix='24'/>", "<ip address='192.0.2.1' prefix='24'><dhcp><host mac='a' name='web' ip='192.0.2.2'/></dhcp></ip>"
	w := plan.ResourcesWanted{Fleet: fleet, List: []resource.Resource{wantedNetwork(t, "lan", without)}}
	web := runningOn("web", "other", "")
	web.Inactive.Meta = &metadata.Metadata{}
	for active, want := range map[bool]int{true: 0, false: 1} {
		if web.ID = -1; active {
			web.ID = 1
		}
		all := plan.MakeResources(w, []plan.Resource{network("lan", ours, with, with)}, plan.World{Domains: []plan.Domain{web}})
		if got := len(all[0].Actions); got != want {
			t.Errorf("active %v: %d actions, want %d: %+v", active, got, want, all[0].Actions)
		}
	}
}

// TestAwait: what needs a network or a pool that is not there yet is not tried, and a note says why; the rest goes on.
func TestAwait(t *testing.T) {
	machine := func(name, device string, volumes ...render.Volume) plan.Assessment {
		e, err := domxml.Parse("<domain><devices>" + device + "</devices></domain>")
		if err != nil {
			t.Fatal(err)
		}
		return plan.Assessment{Name: name, Instance: &render.Instance{Name: name, Domain: e, Volumes: volumes}, Actions: []plan.Action{
			{Instance: name, Effect: plan.EffectCreate, Steps: []plan.Step{{Op: plan.OpDefine}}},
			{Instance: name, Effect: plan.EffectStart, Steps: []plan.Step{{Op: plan.OpStart}}},
		}}
	}
	const onLAN = "<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lan'/></interface>"
	lan := wantedNetwork(t, "lan", "<ip address='192.0.2.1' prefix='24'><dhcp><host mac='52:54:00:00:00:01' name='web' ip='192.0.2.2'/></dhcp></ip>")
	pool := lan
	pool.Kind, pool.Name = resource.Pool, "vms"
	serves := network("lan", lan.UUID, "-", "-")
	for _, test := range []struct {
		name    string
		machine plan.Assessment
		there   []plan.Resource
		note    string
	}{
		{"a network", machine("web", onLAN), nil, "it waits: the network lan is not there yet"},
		{"an address", machine("web", onLAN), []plan.Resource{serves}, ""},
		{"a pool", machine("web", "", render.Volume{Name: "root", Pool: "vms"}), nil, "it waits: the storage pool vms is not there yet"},
		{"a pool's volume", machine("web", "<disk type='volume'><source pool='vms' volume='x'/></disk>"), nil, "it waits: the storage pool vms is not there yet"},
		{"something else", machine("web", "<interface type='network'><source network='default'/></interface>", render.Volume{Pool: "default"}), nil, ""},
	} {
		w := plan.ResourcesWanted{Fleet: fleet, List: []resource.Resource{lan, pool}}
		all := []plan.Assessment{test.machine}
		p := plan.Plan{}
		plan.Await(&p, all, plan.MakeResources(w, test.there, plan.World{}))
		note := ""
		for _, n := range all[0].Notes {
			note = n.Message
		}
		if note != test.note || len(p.Actions) != 2 || len(p.Actions[0].Steps) != 1 || (len(p.Actions[1].Steps) == 0) != (test.note != "") {
			t.Errorf("%s: note %q, actions %+v", test.name, note, p.Actions)
		}
	}
	// The network is there, and does not know the machine's address yet.
	w := plan.ResourcesWanted{Fleet: fleet, List: []resource.Resource{lan}}
	const without = "<ip address='192.0.2.1' prefix='24'><dhcp><range start='192.0.2.100' end='192.0.2.199'/></dhcp></ip>"
	all, p := []plan.Assessment{machine("web", onLAN)}, plan.Plan{}
	plan.Await(&p, all, plan.MakeResources(w, []plan.Resource{network("lan", lan.UUID, without, without)}, plan.World{}))
	if len(all[0].Notes) != 1 || !strings.Contains(all[0].Notes[0].Message, "is told its address first") {
		t.Errorf("notes %+v", all[0].Notes)
	}
}
