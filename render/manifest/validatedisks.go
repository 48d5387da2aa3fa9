package manifest

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"
)

func (c *specChecker) disks(disks []kubevirt.Disk, o occupied) {
	const list = "domain.devices.disks"
	for i, d := range disks {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.deviceName(at, d.Name, o)
		c.bootOrder(at, d.BootOrder, o)
		c.diskTarget(at, &d, o)
		if !serialForm.MatchString(d.Serial) {
			c.add(at+".serial", quoted(d.Serial)+" has characters that libvirt does not take; use letters, digits, "+
				"spaces and \"_-.+\"")
		}
		if d.IO == kubevirt.IONative && d.Cache != "" && d.Cache != kubevirt.CacheNone {
			c.add(at+".io", "native works only with cache: none; say that, or threads")
		}
		if bus := busOf(&d); d.DedicatedIOThread != nil && *d.DedicatedIOThread && bus != "" && bus != kubevirt.DiskBusVirtio {
			c.add(at+".dedicatedIOThread", "works only on the virtio bus, and the disk is on "+string(bus)+"; take one out")
		}
		c.blockSize(at+".blockSize", &d)
	}
}

func busOf(d *kubevirt.Disk) kubevirt.DiskBus {
	switch {
	case d.Disk != nil:
		return d.Disk.Bus
	case d.CDRom != nil:
		return d.CDRom.Bus
	case d.LUN != nil:
		return d.LUN.Bus
	}
	return ""
}

func (c *specChecker) diskTarget(at string, d *kubevirt.Disk, o occupied) {
	var said []string
	if t := d.Disk; t != nil {
		said = append(said, "disk")
		c.guestAddress(at+".disk.pciAddress", t.PciAddress, o)
		if t.PciAddress != "" && t.Bus != "" && t.Bus != kubevirt.DiskBusVirtio {
			c.add(at+".disk.pciAddress", "only a disk on the virtio bus has one; this is on "+string(t.Bus))
		}
	}
	if t := d.LUN; t != nil {
		said = append(said, "lun")
		if t.Bus != "" && t.Bus != kubevirt.DiskBusSCSI {
			c.add(at+".lun.bus", "must be scsi: SCSI commands reach the device on no other")
		}
		if d.BlockSize != nil && d.BlockSize.Custom != nil {
			c.add(at+".blockSize", "a lun has the block size of its device; take it out")
		}
	}
	if t := d.CDRom; t != nil {
		said = append(said, "cdrom")
		if t.ReadOnly != nil && !*t.ReadOnly {
			c.warn(at+".cdrom.readonly", "has no effect: a cdrom is never written to; take it out, or say disk")
		}
	}
	if len(said) == 2 {
		c.add(at, "says "+strings.Join(said, " and ")+"; take one out")
	} else if len(said) > 2 {
		c.add(at, "says "+strings.Join(said, " and ")+"; take out all but one")
	}
}

// blockSize checks QEMU's rule: powers of two from 512 bytes to 2 MiB, the physical one no smaller.
func (c *specChecker) blockSize(at string, d *kubevirt.Disk) {
	if d.BlockSize == nil || d.BlockSize.Custom == nil {
		return
	}
	size := d.BlockSize.Custom
	for _, f := range []struct {
		field string
		bytes uint
	}{{"logical", size.Logical}, {"physical", size.Physical}} {
		if f.bytes == 0 && c.partial {
			continue
		}
		if f.bytes < 512 || f.bytes > 2<<20 || bits.OnesCount(f.bytes) != 1 {
			c.add(at+".custom."+f.field, fmt.Sprintf("%d is no block size; say a power of two from 512 to 2097152", f.bytes))
		}
	}
	if size.Logical > size.Physical && size.Physical > 0 {
		c.add(at+".custom", "logical is more than physical; say it the other way round")
	}
}
