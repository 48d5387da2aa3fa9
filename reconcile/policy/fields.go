package policy

import (
	"fmt"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// fieldOf is the field of the spec that an element comes from, as far as it can be told: what domainXML says comes with its
// line, a device of the spec has its name, and the size of a machine stands in one place.
func (c *checker) fieldOf(e *domxml.Element) string {
	own := "domainXML"
	if c.instance.Spec.DomainXMLFrom != "" {
		own = "domainXMLFrom"
	}
	for _, x := range []*domxml.Element{e, c.device} {
		if x != nil && x.Line > 0 {
			return own
		}
	}
	if c.device != nil {
		if f := c.deviceField(c.device.UserAlias()); f != "" {
			return f
		}
	}
	if e != nil && (strings.HasPrefix(e.Name, "kernel") || e.Name == "initrd") && c.instance.Spec.Domain.Firmware != nil && c.instance.Spec.Domain.Firmware.KernelBoot != nil {
		return "domain.firmware.kernelBoot"
	}
	if c.instance.Spec.DomainXML != "" || c.instance.Spec.DomainXMLFrom != "" {
		return own // an attribute of an element that the spec renders too
	}
	return ""
}

// deviceField is where the spec has a device of that name.
func (c *checker) deviceField(name string) string {
	if name == "" {
		return ""
	}
	spec := &c.instance.Spec
	d := &spec.Domain.Devices
	if n := indexOf(spec.Networks, name, networkName); n >= 0 {
		return field("networks", n)
	}
	if n := indexOf(spec.Volumes, name, volumeName); n >= 0 {
		return field("volumes", n)
	}
	if n := indexOf(d.HostDevices, name, func(h kubevirt.HostDevice) string { return h.Name }); n >= 0 {
		return field("domain.devices.hostDevices", n)
	}
	if n := indexOf(d.GPUs, name, func(g kubevirt.GPU) string { return g.Name }); n >= 0 {
		return field("domain.devices.gpus", n)
	}
	if n := indexOf(d.Disks, name, func(d kubevirt.Disk) string { return d.Name }); n >= 0 {
		return field("domain.devices.disks", n)
	}
	if n := indexOf(d.Interfaces, name, func(i manifest.Interface) string { return i.Name }); n >= 0 {
		return field("domain.devices.interfaces", n)
	}
	return "attach"
}

// volumeField is where the spec has a volume.
func (c *checker) volumeField(name, list string, n int) string {
	if strings.HasPrefix(name, "kernelBoot.") {
		return "domain.firmware.kernelBoot.container"
	}
	if list == "volumes" {
		if at := indexOf(c.instance.Spec.Volumes, name, volumeName); at >= 0 {
			n = at
		}
	}
	return fmt.Sprintf("%s[%d]", list, n)
}
