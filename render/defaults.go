package render

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// The built-in defaults.
const (
	defaultMachine      = "q35"
	defaultPool         = "default"
	defaultFormat       = "qcow2"
	defaultGraceSeconds = 30 // KubeVirt's
)

// fill says what a spec leaves unsaid, so that nothing is left to default. Memory has none: how much a guest needs is
// nobody's guess.
func fill(spec *manifest.InstanceSpec, fleet, instance string) {
	d := &spec.Domain
	fillSize(d)
	for i := range d.CPU.Features {
		if d.CPU.Features[i].Policy == "" {
			d.CPU.Features[i].Policy = "require" // libvirt's default
		}
	}
	for _, n := range []*uint32{&d.CPU.Sockets, &d.CPU.Cores, &d.CPU.Threads} {
		if *n == 0 {
			*n = 1
		}
	}
	if d.Machine == nil {
		d.Machine = &kubevirt.Machine{}
	}
	if d.Machine.Type == "" {
		d.Machine.Type = defaultMachine
	}
	if d.Firmware == nil {
		d.Firmware = &kubevirt.Firmware{}
	}
	if d.Firmware.UUID == "" {
		d.Firmware.UUID = uidOf(domainUUID(fleet, instance))
	}
	fillBootloader(d)
	if spec.TerminationGracePeriodSeconds == nil {
		grace := int64(defaultGraceSeconds)
		spec.TerminationGracePeriodSeconds = &grace
	}
	fillProbe(spec.ReadinessProbe)
	fillDevices(spec, fleet, instance)
	for i := range spec.Volumes {
		if v := spec.Volumes[i].Volume; v != nil {
			fillVolume(v)
		}
		if v := spec.Volumes[i].EmptyDisk; v != nil && v.Image != nil {
			fillImage(v.Image)
		}
		if v := spec.Volumes[i].ISO; v != nil && v.Name != "" && v.Pool == "" {
			v.Pool = defaultPool
		}
		if v := spec.Volumes[i].Network; v != nil && v.Format == "" {
			v.Format = "raw"
		}
	}
}

// fillBootloader does as KubeVirt: EFI means secure boot unless it says false, and secure boot needs SMM. Hyper-V features
// bring along those that they need.
func fillBootloader(d *manifest.DomainSpec) {
	if d.Features == nil {
		d.Features = &kubevirt.Features{}
	}
	if d.Features.ACPI.Enabled == nil {
		d.Features.ACPI.Enabled = ptr(true)
	}
	if d.Features.APIC == nil {
		d.Features.APIC = &kubevirt.FeatureAPIC{}
	}
	if d.Features.APIC.Enabled == nil {
		d.Features.APIC.Enabled = ptr(true)
	}
	if h := d.Features.Hyperv; h != nil {
		for _, need := range manifest.HypervNeeds(h) {
			if need.Is && *need.On == nil {
				*need.On = &kubevirt.FeatureState{Enabled: ptr(true)}
			}
		}
	}
	b := d.Firmware.Bootloader
	if b == nil || b.EFI == nil {
		return
	}
	if b.EFI.SecureBoot == nil {
		b.EFI.SecureBoot = ptr(true)
	}
	if *b.EFI.SecureBoot && d.Features.SMM == nil {
		d.Features.SMM = &kubevirt.FeatureState{Enabled: ptr(true)}
	}
}

// fillSize does as KubeVirt: where the template says nothing of memory or CPUs, the guest has what its resources ask for,
// CPUs as sockets.
func fillSize(d *manifest.DomainSpec) {
	if d.CPU == nil {
		d.CPU = &kubevirt.CPU{}
	}
	first := func(name corev1.ResourceName, lists ...corev1.ResourceList) *manifest.Quantity {
		for _, list := range lists {
			if q, ok := list[name]; ok && q.Sign() > 0 {
				return &q
			}
		}
		return nil
	}
	r := &d.Resources
	if q := first(corev1.ResourceMemory, r.Requests, r.Limits); q != nil && (d.Memory == nil || d.Memory.Guest == nil) {
		if d.Memory == nil {
			d.Memory = &kubevirt.Memory{}
		}
		d.Memory.Guest = q
	}
	if q := first(corev1.ResourceCPU, r.Limits, r.Requests); q != nil && d.CPU.Sockets == 0 && d.CPU.Cores == 0 && d.CPU.Threads == 0 {
		d.CPU.Sockets = uint32(min(q.Value(), math.MaxUint32)) // rounded up
	}
}

func fillVolume(v *manifest.StorageVolume) {
	if v.Pool == "" {
		v.Pool = defaultPool
	}
	if v.Format == "" {
		v.Format = defaultFormat
	}
	if v.Image != nil {
		fillImage(v.Image)
	}
}

// fillImage leaves a container's disk alone: its format is found out.
func fillImage(i *manifest.Image) {
	if i.Path != "" && i.Format == "" {
		i.Format = defaultFormat
	}
}

func ptr[T any](v T) *T { return &v }
