package render

import (
	"fmt"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/preference"
)

// allocation is which machine of a host has which of the host's devices.
type allocation struct {
	// given are the devices, by machine and by the name that the device has in it.
	given map[string]map[string]manifest.HostDevice
	// short says for a machine's device why it has none.
	short map[string]map[string]string
	// cpus are the host's CPUs that a machine has to itself; noCPUs says why it has none.
	cpus   map[string][]int
	noCPUs map[string]string
}

// wish is a device that a machine wants: its name there, and that of the Host's list.
type wish struct{ name, device string }

// wishes are the hostDevices and gpus of a merged spec.
func wishes(tree manifest.Tree) []wish {
	domain, _ := tree["domain"].(map[string]any)
	devices, _ := domain["devices"].(map[string]any)
	var out []wish
	for _, list := range []string{"gpus", "hostDevices"} {
		items, _ := devices[list].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			name, _ := m["name"].(string)
			device, _ := m["deviceName"].(string)
			if name != "" && device != "" {
				out = append(out, wish{name, device})
			}
		}
	}
	return out
}

// pinned is how many of the host's CPUs a merged spec wants to itself: one for each vCPU, and one for QEMU's own threads
// if it says so.
func pinned(tree manifest.Tree) int {
	domain, _ := tree["domain"].(map[string]any)
	cpu, _ := domain["cpu"].(map[string]any)
	if cpu["dedicatedCpuPlacement"] != true {
		return 0
	}
	n := max(int(preference.VCPUs(tree)), 1)
	if cpu["isolateEmulatorThread"] == true {
		n++
	}
	return n
}

// allocated is who has which of a host's devices: those that are given to a machine by name go first, and then machines
// take what is free, in the order of their names.
func (p *Placement) allocated(host string) allocation {
	if a, ok := p.devices[host]; ok {
		return a
	}
	a := allocation{given: map[string]map[string]manifest.HostDevice{}, short: map[string]map[string]string{},
		cpus: map[string][]int{}, noCPUs: map[string]string{}}
	p.devices[host] = a
	doc := p.set.Hosts[host]
	if doc == nil || len(doc.Spec.Devices) == 0 && doc.Spec.DedicatedCPUs == "" {
		return a
	}
	var cpus []int
	if doc.Spec.DedicatedCPUs != "" {
		cpus, _ = manifest.CPUList(doc.Spec.DedicatedCPUs) // it was checked when it was read
	}
	free := map[string][]manifest.HostDevice{}
	for name, list := range doc.Spec.Devices {
		free[name] = append(free[name], list...)
	}
	holders := map[string][]string{}
	for _, m := range p.Machines {
		if m.Run.Spec.Host != host {
			continue
		}
		in := p.documents(m)
		tree, _ := merged(in)
		tree, _ = underlay(in, tree)
		if n := pinned(tree); n > len(cpus) {
			a.noCPUs[m.Run.Metadata.Name] = fmt.Sprintf("%s wants %d CPUs of the host to itself, and %d are free of those that the Host %s (%s:%d) has for that", m.Run.Metadata.Name, n, len(cpus), host, doc.At.File, doc.At.Line)
		} else if n > 0 {
			a.cpus[m.Run.Metadata.Name], cpus = cpus[:n:n], cpus[n:]
		}
		for _, w := range wishes(tree) {
			if _, known := doc.Spec.Devices[w.device]; !known {
				continue // it is said where the device is rendered
			}
			a.take(m.Run.Metadata.Name, w, free, holders)
		}
	}
	return a
}

// take gives a machine the first device of the list that it may have.
func (a allocation) take(machine string, w wish, free map[string][]manifest.HostDevice, holders map[string][]string) {
	list := free[w.device]
	at := -1
	for i, d := range list {
		if d.Instance == machine {
			at = i
			break
		}
		if d.Instance == "" && at < 0 {
			at = i
		}
	}
	if at < 0 {
		if a.short[machine] == nil {
			a.short[machine] = map[string]string{}
		}
		a.short[machine][w.name] = fmt.Sprintf("the host has no more of %s: they are with %v", w.device, holders[w.device])
		return
	}
	if a.given[machine] == nil {
		a.given[machine] = map[string]manifest.HostDevice{}
	}
	a.given[machine][w.name] = list[at]
	free[w.device] = append(append([]manifest.HostDevice(nil), list[:at]...), list[at+1:]...)
	holders[w.device] = append(holders[w.device], machine)
}
