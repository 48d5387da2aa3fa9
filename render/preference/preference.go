package preference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// moves are the fields of a preference that are fields of a template's spec.
func moves() map[string]string {
	return map[string]string{
		"clock.preferredClockOffset.utc":              "domain.clock.utc",
		"clock.preferredClockOffset.timezone":         "domain.clock.timezone",
		"clock.preferredTimer":                        "domain.clock.timer",
		"cpu.preferredCPUFeatures":                    "domain.cpu.features",
		"devices.preferredAutoattachGraphicsDevice":   "domain.devices.autoattachGraphicsDevice",
		"devices.preferredAutoattachInputDevice":      "domain.devices.autoattachInputDevice",
		"devices.preferredAutoattachMemBalloon":       "domain.devices.autoattachMemBalloon",
		"devices.preferredAutoattachPodInterface":     "domain.devices.autoattachPodInterface",
		"devices.preferredAutoattachSerialConsole":    "domain.devices.autoattachSerialConsole",
		"devices.preferredBlockMultiQueue":            "domain.devices.blockMultiQueue",
		"devices.preferredDisableHotplug":             "domain.devices.disableHotplug",
		"devices.preferredNetworkInterfaceMultiQueue": "domain.devices.networkInterfaceMultiqueue",
		"devices.preferredRng":                        "domain.devices.rng",
		"devices.preferredTPM":                        "domain.devices.tpm",
		"devices.preferredUseVirtioTransitional":      "domain.devices.useVirtioTransitional",
		"devices.preferredVideoType":                  "domain.devices.video.type",
		"features.preferredAcpi":                      "domain.features.acpi",
		"features.preferredApic":                      "domain.features.apic",
		"features.preferredHyperv":                    "domain.features.hyperv",
		"features.preferredKvm":                       "domain.features.kvm",
		"features.preferredPvspinlock":                "domain.features.pvspinlock",
		"features.preferredSmm":                       "domain.features.smm",
		"firmware.preferredEfi":                       "domain.firmware.bootloader.efi",
		"firmware.preferredUseBiosSerial":             "domain.firmware.bootloader.bios.useSerial",
		"firmware.preferredUseSecureBoot":             "domain.firmware.bootloader.efi.secureBoot",
		"machine.preferredMachineType":                "domain.machine.type",
		"preferredTerminationGracePeriodSeconds":      "terminationGracePeriodSeconds",
	}
}

// handled are the fields of a preference that are not moved as they are: those of devices in lists, those that say how
// something else is done, and what is checked.
func handled() []string {
	return []string{
		"annotations", // they become the instance's
		"cpu.preferredCPUTopology", "cpu.spreadOptions", "preferSpreadSocketToCoreRatio",
		"devices.preferredCdromBus", "devices.preferredDiskBus", "devices.preferredLunBus",
		"devices.preferredDiskBlockSize", "devices.preferredDiskCache", "devices.preferredDiskDedicatedIoThread", "devices.preferredDiskIO",
		"devices.preferredInputBus", "devices.preferredInputType",
		"devices.preferredInterfaceMasquerade", "devices.preferredInterfaceModel",
		"devices.preferredPanicDeviceModel", "devices.preferredSoundModel",
		"firmware.preferredUseBios", "firmware.preferredUseEfi",
		"preferredArchitecture", "requirements",
		// The reader warns of these: they have no effect.
		"devices.preferredVirtualGPUOptions", "preferredSubdomain", "volumes.preferredStorageClassName",
	}
}

// Words are a preference, made ready to be put below what machines say. They are never changed.
type Words struct {
	moved   manifest.Tree  // what is the same for all machines
	devices map[string]any // what is preferred for the devices that a machine has
}

// WordsOf makes a preference ready.
func WordsOf(p *manifest.PreferenceSpec) Words {
	var said map[string]any
	text, err := json.Marshal(p)
	if err != nil || json.Unmarshal(text, &said) != nil {
		return Words{} // KubeVirt's types can all be written
	}
	out := manifest.Tree{}
	for from, to := range moves() {
		if value, ok := at(said, from); ok {
			set(out, to, value)
		}
	}
	firmware, _ := said["firmware"].(map[string]any)
	if firmware["preferredUseBios"] == true && firmware["preferredUseBiosSerial"] == nil {
		set(out, "domain.firmware.bootloader.bios", map[string]any{})
	}
	if firmware["preferredUseEfi"] == true && firmware["preferredEfi"] == nil && firmware["preferredUseSecureBoot"] == nil {
		set(out, "domain.firmware.bootloader.efi", map[string]any{})
	}
	devices, _ := said["devices"].(map[string]any)
	return Words{out, devices}
}

// For is what the preference says of what a machine leaves unsaid, as a part of a template's spec. It is for putting below
// the machine's own words.
func (w Words) For(tree manifest.Tree) manifest.Tree {
	devices := w.devices
	out := w.copy()
	listed := map[string][]any{
		"disks":      each(tree, "disks", func(d map[string]any) map[string]any { return disk(d, devices) }),
		"interfaces": each(tree, "interfaces", func(d map[string]any) map[string]any { return nic(d, devices) }),
		"inputs":     each(tree, "inputs", func(d map[string]any) map[string]any { return input(devices) }),
	}
	for list, items := range listed {
		if len(items) > 0 {
			set(out, "domain.devices."+list, items)
		}
	}
	if model := devices["preferredSoundModel"]; model != nil && object(tree, "domain.devices.sound") != nil {
		set(out, "domain.devices.sound", map[string]any{"model": model})
	}
	if model := devices["preferredPanicDeviceModel"]; model != nil {
		if have, _ := at(tree, "domain.devices.panicDevices"); have == nil {
			set(out, "domain.devices.panicDevices", []any{map[string]any{"model": model}})
		}
	}
	return out
}

// copy is what is the same for all machines, with a domain and devices that more can be put into.
func (w Words) copy() manifest.Tree {
	out := maps.Clone(w.moved)
	if out == nil {
		out = manifest.Tree{}
	}
	domain, _ := out["domain"].(map[string]any)
	domain = maps.Clone(domain)
	if domain == nil {
		domain = map[string]any{}
	}
	devices, _ := domain["devices"].(map[string]any)
	if devices = maps.Clone(devices); devices == nil {
		devices = map[string]any{}
	}
	domain["devices"], out["domain"] = devices, domain
	return out
}

// set puts a value at a path of keys.
func set(tree map[string]any, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := tree[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[key] = next
		}
		tree = next
	}
	tree[keys[len(keys)-1]] = value
}

// each makes of each device of a list what is preferred for it, with its name.
func each(tree manifest.Tree, list string, prefer func(map[string]any) map[string]any) []any {
	have, _ := at(tree, "domain.devices."+list)
	items, _ := have.([]any)
	var out []any
	for _, item := range items {
		d, _ := item.(map[string]any)
		name, _ := d["name"].(string)
		if preferred := prefer(d); name != "" && len(preferred) > 0 {
			preferred["name"] = name
			out = append(out, preferred)
		}
	}
	return out
}

func disk(d, preferred map[string]any) map[string]any {
	kind, bus := "disk", preferred["preferredDiskBus"]
	if _, ok := d["cdrom"]; ok {
		kind, bus = "cdrom", preferred["preferredCdromBus"]
	} else if _, ok := d["lun"]; ok {
		kind, bus = "lun", preferred["preferredLunBus"]
	}
	out := map[string]any{}
	target, _ := d[kind].(map[string]any)
	if bus != nil {
		out[kind] = map[string]any{"bus": bus}
	}
	if said := target["bus"]; said != nil {
		bus = said
	}
	for from, to := range map[string]string{"preferredDiskCache": "cache", "preferredDiskIO": "io", "preferredDiskBlockSize": "blockSize"} {
		if value := preferred[from]; value != nil && kind == "disk" {
			out[to] = value
		}
	}
	// Only virtio disks can have a thread of their own.
	if value := preferred["preferredDiskDedicatedIoThread"]; value != nil && kind == "disk" && bus == "virtio" {
		out["dedicatedIOThread"] = value
	}
	return out
}

func nic(d, preferred map[string]any) map[string]any {
	out := map[string]any{}
	if model := preferred["preferredInterfaceModel"]; model != nil && d["sriov"] == nil {
		out["model"] = model
	}
	bound := slices.ContainsFunc([]string{"bridge", "masquerade", "sriov", "macvtap", "slirp", "passt", "binding"}, func(b string) bool { return d[b] != nil })
	if value := preferred["preferredInterfaceMasquerade"]; value != nil && !bound {
		out["masquerade"] = value
	}
	return out
}

func input(preferred map[string]any) map[string]any {
	out := map[string]any{}
	if bus := preferred["preferredInputBus"]; bus != nil {
		out["bus"] = bus
	}
	if kind := preferred["preferredInputType"]; kind != nil {
		out["type"] = kind
	}
	return out
}

// Requirements are what a machine, completed, lacks of what a preference demands.
func Requirements(p *manifest.PreferenceSpec, cpus uint32, memory *resource.Quantity) []manifest.FieldProblem {
	const architecture = "amd64" // there is no other yet
	var problems []manifest.FieldProblem
	wants := p.PreferredArchitecture
	if r := p.Requirements; r != nil {
		if r.CPU != nil && cpus < r.CPU.Guest {
			problems = append(problems, manifest.FieldProblem{Field: "domain.cpu", Message: fmt.Sprintf("the machine has %d vCPUs, and its preference demands %d", cpus, r.CPU.Guest)})
		}
		if r.Memory != nil && (memory == nil || memory.Cmp(r.Memory.Guest) < 0) {
			has := "none"
			if memory != nil {
				has = memory.String()
			}
			problems = append(problems, manifest.FieldProblem{Field: "domain.memory.guest", Message: fmt.Sprintf("the machine has %s, and its preference demands %s", has, r.Memory.Guest.String())})
		}
		if r.Architecture != "" {
			wants = r.Architecture
		}
	}
	if wants != "" && wants != architecture {
		problems = append(problems, manifest.FieldProblem{Field: "architecture", Message: fmt.Sprintf("the machine is %s, and its preference demands %s", architecture, wants)})
	}
	sortProblems(problems)
	return problems
}

func sortProblems(p []manifest.FieldProblem) {
	slices.SortStableFunc(p, func(a, b manifest.FieldProblem) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
}
