package adoption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/render/resource"
)

func domain(change func(*plan.Domain)) plan.Domain {
	const text = `<domain type='kvm'><name>web</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory unit='KiB'>65536</memory><currentMemory unit='KiB'>65536</currentMemory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><on_crash>CRASH</on_crash><devices/></domain>`
	d := plan.Domain{Name: "web", UUID: "11111111-2222-3333-4444-555555555555", ID: -1, State: plan.DomainShutoff, Persistent: true}
	d.Inactive.Packed = plan.Plain(strings.Replace(text, "CRASH", "destroy", 1))
	if change != nil {
		change(&d)
	}
	if d.Active() {
		d.Live = d.Inactive
	}
	return d
}

func documents(texts ...string) Documents {
	var files []manifest.File
	for n, text := range texts {
		files = append(files, manifest.Read(fmt.Sprintf("%d.yaml", n), []byte(text)))
	}
	set := manifest.Collect(files, func(string) ([]byte, bool) { return nil, false })
	return Documents{Set: set, Host: "kvm1", Options: render.Options{Fleet: "test", DomainType: "kvm"}}
}

// TestPower: what documents say of a domain's power changes nothing of it.
func TestPower(t *testing.T) {
	restart := func(d *plan.Domain) {
		d.Inactive.Packed = plan.Plain(strings.Replace(d.Inactive.Text(), "destroy", "restart", 1))
	}
	runs := func(d *plan.Domain) { d.ID, d.State = 1, plan.DomainRunning }
	paused := func(d *plan.Domain) { d.ID, d.State, d.Reason = 1, plan.DomainPaused, "user" }
	for _, tt := range []struct {
		name    string
		change  []func(*plan.Domain)
		auto    bool
		state   manifest.PowerState
		restart manifest.RestartPolicy
	}{
		{"off", nil, false, manifest.StateStopped, manifest.RestartNever},
		{"off, on_crash restart", []func(*plan.Domain){restart}, false, manifest.StateStopped, manifest.RestartOnFailure},
		{"off, autostart", nil, true, manifest.StateManual, manifest.RestartAlways},
		{"runs", []func(*plan.Domain){runs}, false, manifest.StateRunning, manifest.RestartNever},
		{"runs, autostart", []func(*plan.Domain){runs}, true, manifest.StateRunning, manifest.RestartAlways},
		{"paused", []func(*plan.Domain){paused}, false, manifest.StatePaused, manifest.RestartNever},
		{"paused, autostart", []func(*plan.Domain){paused}, true, manifest.StateManual, manifest.RestartAlways},
		{"paused by its disk", []func(*plan.Domain){paused, func(d *plan.Domain) { d.Reason = "ioerror" }}, false, manifest.StateRunning, manifest.RestartNever},
		{"crashed", []func(*plan.Domain){runs, func(d *plan.Domain) { d.State = plan.DomainCrashed }}, false, manifest.StateManual, manifest.RestartNever},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Import(domain(func(d *plan.Domain) {
				for _, f := range tt.change {
					f(d)
				}
				d.Autostart = tt.auto
			}), Host{}, documents())
			if err != nil {
				t.Fatal(err)
			}
			if i := m.Instance; i.State != tt.state || i.RestartPolicy != tt.restart || !i.Adopt {
				t.Errorf("it is %s under %s, adopt %v; want %s under %s", i.State, i.RestartPolicy, i.Adopt, tt.state, tt.restart)
			}
		})
	}
}

// TestNotImported: what stands in the way is said, with what to do.
func TestNotImported(t *testing.T) {
	preset := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachinePreset\nmetadata: {name: all}\nspec:\n  selector: {}\n  domain: {devices: {rng: {}}}\n"
	for _, tt := range []struct {
		name   string
		change func(*plan.Domain)
		beside []string
		want   string
	}{
		{"a name", func(d *plan.Domain) { d.Name = "Web_1" }, nil, `virsh domrename "Web_1" NAME`},
		{"transient", func(d *plan.Domain) { d.Persistent = false }, nil, "make it persistent first"},
		{"ours", func(d *plan.Domain) { d.Inactive.Meta = &metadata.Metadata{} }, nil, "gitvirt's already"},
		{"stuck", func(d *plan.Domain) { d.Stuck = true }, nil, "no answer"},
		{"a job", func(d *plan.Domain) { d.Job = "backup" }, nil, "begun a backup"},
		{"no XML", func(d *plan.Domain) { d.Inactive.Packed = plan.Plain("<domain") }, nil, "cannot read the XML"},
		{"a preset", nil, []string{preset}, `<devices/rng> would change from "" to "model=virtio"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Import(domain(tt.change), Host{}, documents(tt.beside...)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestResources: a network comes through in its own words, one that is not like libvirt keeps it does not.
func TestResources(t *testing.T) {
	network := plan.Resource{Kind: Network, Name: "default", UUID: "11111111-2222-3333-4444-555555555555", Active: true, Persistent: true, Autostart: true}
	network.Inactive = `<network><name>default</name><uuid>11111111-2222-3333-4444-555555555555</uuid><forward mode='nat'><nat><port start='1024' end='65535'/></nat></forward>
<bridge name='virbr0' stp='on' delay='0'/><mac address='52:54:00:00:00:01'/><ip address='192.0.2.1' netmask='255.255.255.0'><dhcp><range start='192.0.2.2' end='192.0.2.9'/></dhcp></ip></network>`
	network.Live = network.Inactive
	text, made, err := ImportResource(network, "lan", documents())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"name: default", "address: 192.0.2.1/24", "start: 192.0.2.2", "forward: {}", "adopt: true"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("it does not say %q:\n%s", line, text)
		}
	}
	if made.Name != "default" || strings.Contains(string(text), "networkXML") {
		t.Errorf("it is of %s:\n%s", made.Name, text)
	}
	pool := plan.Resource{Kind: resource.Pool, Name: "images", UUID: network.UUID, Persistent: true, Inactive: `<pool type='dir'><name>images</name><uuid>` + network.UUID +
		`</uuid><capacity unit='bytes'>0</capacity><source/><target><path>/srv/images</path><permissions><mode>0711</mode><owner>0</owner></permissions></target></pool>`}
	if text, _, err = ImportResource(pool, "images", documents()); err != nil || !strings.Contains(string(text), "path: /srv/images") || !strings.Contains(string(text), "active: false") {
		t.Errorf("%v:\n%s", err, text)
	}
	network.Inactive = "<network"
	if _, _, err = ImportResource(network, "lan", documents()); err == nil {
		t.Error("what cannot be read is imported")
	}
}

// TestNames: documents' names are labels, and no other's.
func TestNames(t *testing.T) {
	taken := map[string]bool{"default": true, "lan": true, "lan-kvm1": true}
	for libvirts, want := range map[string]string{
		"images": "images", "Lab_1": "lab-1", "default": "default-kvm1", "lan": "lan-kvm1-2", "__": "unnamed", strings.Repeat("a", 300): strings.Repeat("a", 40),
	} {
		if got := Name(libvirts, "kvm1.example.org", func(n string) bool { return taken[n] }); got != want {
			t.Errorf("%s becomes %s, want %s", libvirts, got, want)
		}
	}
}
