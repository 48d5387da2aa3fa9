package render

import (
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
	if d.CPU == nil {
		d.CPU = &kubevirt.CPU{}
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
	for i := range d.Devices.Disks {
		fillDisk(&d.Devices.Disks[i])
	}
	for i := range d.Devices.Interfaces {
		nic := &d.Devices.Interfaces[i]
		if nic.Model == "" {
			nic.Model = "virtio"
		}
		if nic.MacAddress == "" {
			nic.MacAddress = macAddress(fleet, instance, nic.Name)
		}
	}
	for i := range spec.Volumes {
		if v := spec.Volumes[i].Volume; v != nil {
			fillVolume(v)
		}
		if v := spec.Volumes[i].EmptyDisk; v != nil && v.Image != nil {
			fillImage(v.Image)
		}
	}
}

// fillBootloader does as KubeVirt: EFI means secure boot unless it says false, and secure boot needs SMM.
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

func fillDisk(disk *kubevirt.Disk) {
	if disk.Disk == nil && disk.CDRom == nil {
		disk.Disk = &kubevirt.DiskTarget{}
	}
	if disk.Disk != nil && disk.Disk.Bus == "" {
		disk.Disk.Bus = kubevirt.DiskBusVirtio
	}
	if disk.CDRom != nil {
		if disk.CDRom.Bus == "" {
			disk.CDRom.Bus = kubevirt.DiskBusSATA
		}
		if disk.CDRom.ReadOnly == nil {
			disk.CDRom.ReadOnly = ptr(true)
		}
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
