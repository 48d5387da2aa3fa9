package render

import (
	"slices"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// fillDevices says what the devices leave unsaid.
func fillDevices(spec *manifest.InstanceSpec, fleet, instance string) {
	d := &spec.Domain.Devices
	for i := range d.Disks {
		fillDisk(&d.Disks[i])
	}
	for i := range d.Interfaces {
		nic := &d.Interfaces[i]
		host := slices.ContainsFunc(spec.Networks, func(n manifest.Network) bool { return n.Name == nic.Name && n.PCI != "" })
		if nic.Model == "" && !host {
			nic.Model = "virtio"
		}
		if nic.MacAddress == "" {
			nic.MacAddress = macAddress(fleet, instance, nic.Name)
		}
	}
	if isOn(d.AutoattachInputDevice) && len(d.Inputs) == 0 {
		d.Inputs = []kubevirt.Input{{Name: "input", Type: kubevirt.InputTypeTablet}}
	}
	for i := range d.Inputs {
		if d.Inputs[i].Bus == "" {
			d.Inputs[i].Bus = kubevirt.InputBusUSB
		}
	}
	if w := d.Watchdog; w != nil && w.I6300ESB != nil && w.I6300ESB.Action == "" {
		w.I6300ESB.Action = kubevirt.WatchdogActionReset
	}
	if d.Sound != nil && d.Sound.Model == "" {
		d.Sound.Model = "ich9"
	}
	for i := range d.PanicDevices {
		if d.PanicDevices[i].Model == nil {
			d.PanicDevices[i].Model = ptr(kubevirt.Isa) // libvirt's default on x86
		}
	}
	fillGraphics(d)
}

// fillGraphics gives a machine a picture where the template asks for one, or says how it is made. VGA is what every
// guest knows.
func fillGraphics(d *manifest.Devices) {
	if d.AutoattachGraphicsDevice == nil && d.Video != nil {
		d.AutoattachGraphicsDevice = ptr(true)
	}
	if !isOn(d.AutoattachGraphicsDevice) {
		return
	}
	if d.Video == nil {
		d.Video = &kubevirt.VideoDevice{}
	}
	if d.Video.Type == "" {
		d.Video.Type = "vga"
	}
}

func fillDisk(disk *kubevirt.Disk) {
	if disk.Disk == nil && disk.CDRom == nil && disk.LUN == nil {
		disk.Disk = &kubevirt.DiskTarget{}
	}
	if disk.Disk != nil && disk.Disk.Bus == "" {
		disk.Disk.Bus = kubevirt.DiskBusVirtio
	}
	if disk.LUN != nil && disk.LUN.Bus == "" {
		disk.LUN.Bus = kubevirt.DiskBusSCSI
	}
	if disk.CDRom != nil {
		if disk.CDRom.Bus == "" {
			disk.CDRom.Bus = kubevirt.DiskBusSATA
		}
		if disk.CDRom.ReadOnly == nil {
			disk.CDRom.ReadOnly = ptr(true)
		}
	}
	if disk.IO == kubevirt.IONative && disk.Cache == "" {
		disk.Cache = kubevirt.CacheNone // io=native works with no other
	}
}
