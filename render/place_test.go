package render_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestSpreadMovesNoMoreThanItMust grows and shrinks groups of all small sizes, and adds hosts to them.
func TestSpreadMovesNoMoreThanItMust(t *testing.T) {
	const most = 40
	for hosts := 1; hosts <= 12; hosts++ {
		whole := render.Spread(most, hosts)
		for members := 0; members <= most; members++ {
			at := render.Spread(members, hosts)
			if !slices.Equal(at, whole[:members]) {
				t.Fatalf("%d members on %d hosts: one more moves others: %v, %v", members, hosts, at, whole)
			}
			load := make([]int, hosts)
			for _, h := range at {
				load[h]++
			}
			if members >= hosts && slices.Min(load) == 0 || members <= hosts && members > 0 && slices.Max(load) > 1 {
				t.Errorf("%d members on %d hosts are not spread: %v", members, hosts, load)
			}
			if fair := (members + hosts - 1) / hosts; slices.Max(load) > fair+1 {
				t.Errorf("%d members on %d hosts: %v, and %d would be fair", members, hosts, load, fair)
			}
			moved := 0
			for i, h := range render.Spread(members, hosts+1) {
				if h == at[i] {
					continue
				}
				moved++
				if h != hosts {
					t.Errorf("%d members: host %d comes, and member %d goes from %d to %d", members, hosts, i, at[i], h)
				}
			}
			if share := (members + hosts) / (hosts + 1); moved > share {
				t.Errorf("%d members: host %d comes and takes over %d, and its share is %d", members, hosts, moved, share)
			}
		}
	}
}

// fleet is a repository with hosts, a group and machines that are placed by labels, its documents in any order.
func fleet(r *rand.Rand, hosts []string, replicas int) *manifest.Set {
	docs := []string{
		"kind: VirtualMachineInstanceConfig\nmetadata: {name: web}\nspec: {template: {spec: {domain: {memory: {guest: 1Gi}}}}}\n",
		fmt.Sprintf("kind: VirtualMachineGroup\nmetadata: {name: web}\nspec: {replicas: %d, hostSelector: {matchLabels: {role: vm}}}\n", replicas),
	}
	for _, h := range hosts {
		docs = append(docs, "kind: Host\nmetadata: {name: "+h+", labels: {role: vm}}\n")
	}
	for i := range 30 {
		docs = append(docs, fmt.Sprintf("kind: RunState\nmetadata: {name: single-%d}\nspec: {config: web, placement: {hostSelector: {matchLabels: {role: vm}}}}\n", i))
	}
	r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	var files []manifest.File
	for i, d := range docs {
		files = append(files, manifest.Read(fmt.Sprintf("%d.yaml", i), []byte("apiVersion: gitvirt.io/v1alpha1\n"+d)))
	}
	return manifest.Collect(files, func(string) ([]byte, bool) { return nil, false })
}

func hostsOf(t *testing.T, set *manifest.Set) map[string]string {
	t.Helper()
	p := render.Place(set, "")
	if all := append(slices.Clone(set.Problems), p.Problems...); len(all) > 0 {
		t.Fatal(all)
	}
	at := map[string]string{}
	for _, m := range p.Machines {
		at[m.Run.Metadata.Name] = m.Run.Spec.Host
	}
	return at
}

// TestPlacementIsOneForAllAgents reads the same documents in other orders, and adds and removes members and hosts.
func TestPlacementIsOneForAllAgents(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("kvm%d", i+1))
	}
	for round := range 40 {
		hosts := slices.Clone(names[:2+r.IntN(9)])
		replicas := 1 + r.IntN(20)
		at := hostsOf(t, fleet(r, hosts, replicas))
		if again := hostsOf(t, fleet(r, hosts, replicas)); !cmp.Equal(at, again) {
			t.Fatalf("round %d: another order gives another placement: %s", round, cmp.Diff(at, again))
		}
		for name, h := range hostsOf(t, fleet(r, hosts, replicas+1)) {
			if before, was := at[name]; was && before != h {
				t.Errorf("round %d: one more member moves %s from %s to %s", round, name, before, h)
			}
		}
		next := names[len(hosts)]
		for name, h := range hostsOf(t, fleet(r, append(slices.Clone(hosts), next), replicas)) {
			if h != at[name] && h != next {
				t.Errorf("round %d: %s comes, and %s goes from %s to %s", round, next, name, at[name], h)
			}
		}
		gone := r.IntN(len(hosts))
		for name, h := range hostsOf(t, fleet(r, slices.Delete(slices.Clone(hosts), gone, gone+1), replicas)) {
			if strings.HasPrefix(name, "single-") && at[name] != hosts[gone] && h != at[name] {
				t.Errorf("round %d: %s goes away, and %s goes from %s to %s", round, hosts[gone], name, at[name], h)
			}
		}
	}
}

// TestDevicesOfAHostAreGivenOnce gives each of a host's devices to one machine, and says who has them when there are no more.
func TestDevicesOfAHostAreGivenOnce(t *testing.T) {
	docs := `
apiVersion: gitvirt.io/v1alpha1
kind: Host
metadata: {name: kvm1}
spec:
  devices:
    example.org/gpu: [{pci: "0000:65:00.0"}, {pci: "0000:66:00.0", instance: c}, {pci: "0000:67:00.0"}]
---
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: web}
spec: {template: {spec: {domain: {memory: {guest: 1Gi}, devices: {gpus: [{name: gpu, deviceName: example.org/gpu}]}}}}}
`
	for _, name := range []string{"a", "b", "c", "d"} {
		docs += "---\napiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata: {name: " + name + "}\nspec: {config: web, host: kvm1}\n"
	}
	set := manifest.Collect([]manifest.File{manifest.Read("a.yaml", []byte(docs))}, nil)
	p := render.Place(set, "")
	got := map[string]string{}
	for _, m := range p.Machines {
		i, problems := p.Of(m, render.Options{Fleet: "f"})
		if i == nil {
			got[m.Run.Metadata.Name] = problems[0].Field + ": " + problems[0].Message
			continue
		}
		address := i.Domain.Child("devices/hostdev/source/address")
		got[m.Run.Metadata.Name] = address.Attr("bus")
	}
	want := map[string]string{
		"a": "0x65", "b": "0x67", "c": "0x66",
		"d": "spec.template.spec.domain.devices.gpus[0]: the host has no more of example.org/gpu: they are with [a b c]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
