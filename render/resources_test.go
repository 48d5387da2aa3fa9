package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// resourcesOf renders what documents say of the host kvm1.
func resourcesOf(t *testing.T, docs ...string) render.Resources {
	t.Helper()
	text := ""
	for _, d := range docs {
		text += "---\napiVersion: gitvirt.io/v1alpha1\n" + d + "\n"
	}
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(text))}, nil)
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	p := render.Place(set, "")
	var instances []*render.Instance
	for _, m := range p.Machines {
		if m.Run.Spec.Host != "kvm1" {
			continue
		}
		i, problems := p.Of(m, render.Options{Fleet: "lab"})
		if i == nil {
			t.Fatal(problems)
		}
		instances = append(instances, i)
	}
	return p.Resources("kvm1", instances, render.Options{Fleet: "lab"})
}

func network(name, spec string) string {
	return fmt.Sprintf("kind: Network\nmetadata: {name: %s}\nspec: {hosts: [kvm1], %s}", name, spec)
}

func addressed(name, address string) string {
	return fmt.Sprintf(`kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: lan, addresses: [%s]}]}}
      networks: [{name: lan, libvirt: {network: lan}}]
---
apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: %s}
spec: {host: kvm1}`, name, address, name)
}

const served = "addresses: [{address: 192.0.2.1/24, dhcp: {hosts: [{macAddress: \"52:54:00:00:00:01\", ip: 192.0.2.2}]}}]"

func TestResourcesOfAHost(t *testing.T) {
	for _, test := range []struct {
		name     string
		docs     []string
		list     string // kinds and names, in order
		problems []string
	}{
		{"those of the host", []string{network("b", "bridge: {name: x}"), network("a", "bridge: {name: br}"), "kind: Network\nmetadata: {name: c}\nspec: {hosts: [kvm2]}",
			"kind: StoragePool\nmetadata: {name: p}\nspec: {hostSelector: {matchLabels: {rack: r}}, path: /a}", "kind: Host\nmetadata: {name: kvm1, labels: {rack: r}}"},
			"Network/a Network/b StoragePool/p", nil},
		{"one name, twice", []string{network("a", "name: x"), network("b", "name: x"), network("c", "name: z")}, "Network/z",
			[]string{"Network/b: spec.name: the Network a (a.yaml:2) has the name x on the same host"}},
		{"one bridge, twice", []string{network("a", "bridge: {name: x}"), network("b", "bridge: {name: x}")}, "Network/a",
			[]string{"Network/b: spec.bridge.name: x is the bridge of the Network a too (a.yaml:2)"}},
		{"one bridge of the host, twice", []string{network("a", "forward: {mode: bridge}, bridge: {name: x}"), network("b", "forward: {mode: bridge}, bridge: {name: x}")}, "Network/a Network/b", nil},
		{"subnets that overlap", []string{network("a", "addresses: [{address: 192.0.2.1/24}]"), network("b", "addresses: [{address: 198.51.100.1/24}, {address: 192.0.2.129/25}]")}, "Network/a",
			[]string{"Network/b: spec.addresses[1].address: 192.0.2.129/25 overlaps with 192.0.2.1/24 of the Network a (a.yaml:2)"}},
		{"one folder, twice", []string{"kind: StoragePool\nmetadata: {name: p}\nspec: {hosts: [kvm1], path: /a}", "kind: StoragePool\nmetadata: {name: q}\nspec: {hosts: [kvm1], path: /a}"}, "StoragePool/p",
			[]string{"StoragePool/q: spec.path: /a is the folder of the StoragePool p too"}},
		{"XML that is none", []string{network("a", "networkXML: <network")}, "", []string{"Network/a: spec.networkXML: is no XML"}},
		{"one address, twice", []string{network("lan", served), addressed("db", "192.0.2.9/24"), addressed("web", "192.0.2.9/24")}, "Network/lan",
			[]string{"VirtualMachineInstanceConfig/web: spec.template.spec.domain.devices.interfaces[0].addresses[0]: the instance web wants 192.0.2.9 on the Network lan (a.yaml:2), and the instance db has it"}},
		{"the address of a host", []string{network("lan", served), addressed("web", "192.0.2.2/24")}, "Network/lan", []string{"and the MAC address 52:54:00:00:00:01 has it"}},
		{"the host's address", []string{network("lan", served), addressed("web", "192.0.2.1/24")}, "Network/lan", []string{"and the host itself has it"}},
	} {
		r := resourcesOf(t, test.docs...)
		var list []string
		for _, x := range r.List {
			list = append(list, string(x.Kind)+"/"+x.Name)
		}
		if got := strings.Join(list, " "); got != test.list {
			t.Errorf("%s: %q, want %q", test.name, got, test.list)
		}
		if len(r.Problems) != len(test.problems) {
			t.Errorf("%s: problems %v, want %d", test.name, r.Problems, len(test.problems))
			continue
		}
		for n, p := range r.Problems {
			if !strings.Contains(p.String(), test.problems[n]) {
				t.Errorf("%s: %s, want %s", test.name, p, test.problems[n])
			}
		}
	}
}

// TestLeases: a fixed address becomes a DHCP host of its network, by the interface's MAC address and the instance's name.
func TestLeases(t *testing.T) {
	r := resourcesOf(t, network("lan", served), addressed("web", "192.0.2.9/24"))
	want := " name='web' ip='192.0.2.9'/>"
	if text := r.List[0].XML.String(); !strings.Contains(text, want) {
		t.Errorf("there is no %s in\n%s", want, text)
	}
}
