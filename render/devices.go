package render

import (
	"fmt"
	"slices"
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// alias is how a device carries its name. libvirt keeps user aliases, and nothing else tells one device from another
// once both are defined.
func alias(name string) *domxml.Element { return domxml.New("alias", "name", "ua-"+name) }

// disk is <disk>. Its target's name (vda) is not declared: it is given when the disk is first defined, and kept, so that
// a disk before it can go without it being renamed.
func disk(i *Instance, d *kubevirt.Disk) (*domxml.Element, error) {
	n := slices.IndexFunc(i.Volumes, func(v Volume) bool { return v.Name == d.Name })
	if n < 0 {
		return nil, fmt.Errorf("there is no volume named %s", d.Name)
	}
	volume := i.Volumes[n]
	e := domxml.New("disk")
	driver := domxml.New("driver", "name", "qemu", "type", volume.Format)
	if d.Cache != "" {
		driver.SetAttr("cache", string(d.Cache))
	}
	e.Append(driver)
	if volume.Kind == VolumeFile {
		e.SetAttr("type", "file")
		e.Append(domxml.New("source", "file", volume.Path))
	} else {
		e.SetAttr("type", "volume")
		e.Append(domxml.New("source", "pool", volume.Pool, "volume", volume.File))
	}
	bus, readonly := kubevirt.DiskBus(""), false
	if d.CDRom != nil {
		e.SetAttr("device", "cdrom")
		bus, readonly = d.CDRom.Bus, *d.CDRom.ReadOnly
		if bus == kubevirt.DiskBusVirtio {
			return nil, fmt.Errorf("a cdrom cannot be on the virtio bus: use sata, scsi or usb")
		}
	} else {
		e.SetAttr("device", "disk")
		bus, readonly = d.Disk.Bus, d.Disk.ReadOnly
	}
	e.Append(domxml.New("target", "bus", string(bus)))
	if d.Serial != "" {
		text(e, "serial", d.Serial)
	}
	if readonly {
		e.Append(domxml.New("readonly"))
	}
	boot(e, d.BootOrder)
	e.Append(alias(d.Name))
	return e, nil
}

// nic is <interface>.
func nic(i *Instance, d *manifest.Interface) (*domxml.Element, error) {
	n := slices.IndexFunc(i.Spec.Networks, func(n manifest.Network) bool { return n.Name == d.Name })
	if n < 0 {
		return nil, fmt.Errorf("there is no network named %s", d.Name)
	}
	network := i.Spec.Networks[n]
	e := domxml.New("interface")
	e.Append(domxml.New("mac", "address", d.MacAddress))
	switch {
	case network.Libvirt != nil:
		e.SetAttr("type", "network")
		e.Append(domxml.New("source", "network", network.Libvirt.Network))
	case network.Bridge != "":
		if d.Masquerade != nil {
			return nil, fmt.Errorf("masquerade needs a network that translates addresses, and network %s is the host's bridge %s: say bridge: {}, or connect it to a libvirt network", d.Name, network.Bridge)
		}
		e.SetAttr("type", "bridge")
		e.Append(domxml.New("source", "bridge", network.Bridge))
	case network.User != nil:
		if d.Bridge != nil {
			return nil, fmt.Errorf("bridge cannot join QEMU's user network %s: say masquerade: {}, or connect it to a libvirt network or a bridge", d.Name)
		}
		e.SetAttr("type", "user")
	}
	e.Append(domxml.New("model", "type", d.Model))
	boot(e, d.BootOrder)
	e.Append(alias(d.Name))
	return e, nil
}

func boot(device *domxml.Element, order *uint) {
	if order != nil {
		device.Append(domxml.New("boot", "order", strconv.FormatUint(uint64(*order), 10)))
	}
}
