package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// disk is <disk>. Its target's name (vda) is not declared: it is given when the disk is first defined, and kept, so that
// a disk before it can go without it being renamed.
func (b *builder) disk(d *kubevirt.Disk) (*domxml.Element, error) {
	volumes := b.instance.Volumes
	n := slices.IndexFunc(volumes, func(v Volume) bool { return v.Name == d.Name })
	volume := Volume{Format: "raw"} // an empty drive's
	switch {
	case n >= 0:
		volume = volumes[n]
	case d.CDRom == nil:
		return nil, fmt.Errorf("there is no volume named %s", d.Name)
	}
	e := domxml.New("disk")
	driver := e.Append(domxml.New("driver", "name", "qemu", "type", volume.Format))
	source, err := diskSource(e, volume)
	if err != nil {
		return nil, err
	}
	device, target, readonly := "disk", domxml.New("target"), false
	switch {
	case d.CDRom != nil:
		device, readonly = "cdrom", *d.CDRom.ReadOnly
		if d.CDRom.Bus == kubevirt.DiskBusVirtio {
			return nil, errors.New("a cdrom cannot be on the virtio bus: use sata, scsi or usb")
		}
		target.SetAttr("bus", string(d.CDRom.Bus))
		if d.CDRom.Tray != "" {
			target.SetAttr("tray", string(d.CDRom.Tray))
		}
	case d.LUN != nil:
		if volume.Kind != VolumeDevice {
			return nil, fmt.Errorf("a lun needs a block device of the host, and volume %s is none: say block in it, or disk here", d.Name)
		}
		device, readonly = "lun", d.LUN.ReadOnly
		target.SetAttr("bus", string(d.LUN.Bus))
		if d.LUN.Reservation {
			source.Append(domxml.New("reservations", "managed", "yes"))
		}
	default:
		readonly = d.Disk.ReadOnly
		target.SetAttr("bus", string(d.Disk.Bus))
		guestAddress(e, d.Disk.PciAddress)
	}
	readonly = readonly || volume.ReadOnly
	e.SetAttr("device", device)
	e.Append(target)
	if d.Serial != "" {
		text(e, "serial", d.Serial)
	}
	if readonly {
		e.Append(domxml.New("readonly"))
	}
	if isOn(d.Shareable) {
		if volume.Format != "raw" {
			return nil, fmt.Errorf("shareable needs a raw volume, and %s is %s: two machines would each keep their own idea of it", d.Name, volume.Format)
		}
		e.Append(domxml.New("shareable"))
	}
	b.diskDriver(e, driver, d)
	if d.BlockSize != nil && d.BlockSize.Custom != nil {
		size := d.BlockSize.Custom
		e.Append(domxml.New("blockio", "logical_block_size", strconv.FormatUint(uint64(size.Logical), 10),
			"physical_block_size", strconv.FormatUint(uint64(size.Physical), 10)))
	}
	boot(e, d.BootOrder)
	e.Append(alias(d.Name))
	return e, nil
}

// diskSource says where a disk's content is; nil for an empty drive.
func diskSource(e *domxml.Element, v Volume) (*domxml.Element, error) {
	switch v.Kind {
	case "":
		e.SetAttr("type", "file")
		return nil, nil
	case VolumeFile:
		e.SetAttr("type", "file")
		return e.Append(domxml.New("source", "file", v.Path)), nil
	case VolumeDevice:
		e.SetAttr("type", "block")
		return e.Append(domxml.New("source", "dev", v.Path)), nil
	case VolumeFetched:
		e.SetAttr("type", "file")
		return e.Append(domxml.New("source", "file", v.Path)), nil
	case VolumeRemote:
		return remoteSource(e, v), nil
	case VolumeFolder:
		return nil, fmt.Errorf("volume %s is a folder of the host, which a disk cannot have: name a filesystem so, or say hostDisk in the volume", v.Name)
	}
	e.SetAttr("type", "volume")
	source := e.Append(domxml.New("source", "pool", v.Pool, "volume", v.File))
	if v.Encryption != nil {
		source.Append(domxml.New("encryption", "format", "luks")).Append(domxml.New("secret", "type", "passphrase", "uuid", v.Encryption.UUID))
	}
	return source, nil
}

// diskDriver says how QEMU works on a disk.
func (b *builder) diskDriver(e, driver *domxml.Element, d *kubevirt.Disk) {
	set := func(name, value string) {
		if value != "" {
			driver.SetAttr(name, value)
		}
	}
	set("cache", string(d.Cache))
	if d.ErrorPolicy != nil {
		set("error_policy", string(*d.ErrorPolicy))
	}
	if d.IO != "default" {
		set("io", string(d.IO))
	}
	if !onVirtio(d) {
		return
	}
	if isOn(b.spec.Devices.UseVirtioTransitional) {
		e.SetAttr("model", transitional)
	}
	set("iothread", b.threads.of[d.Name])
	if isOn(b.spec.Devices.BlockMultiQueue) {
		set("queues", count(mostCPUs(b.spec.CPU)))
	}
}

// onVirtio says whether QEMU's virtio-blk has the disk: only that takes IO threads and queues of its own.
func onVirtio(d *kubevirt.Disk) bool { return d.Disk != nil && d.Disk.Bus == kubevirt.DiskBusVirtio }
