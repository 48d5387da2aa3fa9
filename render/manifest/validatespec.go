package manifest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"
)

// maxCPUs is more than any machine type of QEMU takes; it keeps the product of a topology from overflowing.
const maxCPUs = 1 << 14

// specChecker checks a template's spec.
type specChecker struct {
	checker
	partial bool // another document may supply what is missing
}

func (c *specChecker) check(spec *InstanceSpec) {
	c.domain(&spec.Domain)
	orders := map[uint]string{}
	c.disks(spec.Domain.Devices.Disks, orders)
	c.interfaces(spec.Domain.Devices.Interfaces, orders)
	c.networks(spec.Networks)
	c.volumes(spec.Volumes)
}

func (c *specChecker) domain(d *kubevirt.DomainSpec) {
	if cpu := d.CPU; cpu != nil {
		product := uint64(1)
		for _, n := range []uint32{cpu.Sockets, cpu.Cores, cpu.Threads} {
			product = min(product, maxCPUs+1) * uint64(max(n, 1))
		}
		if product > maxCPUs {
			c.add("domain.cpu", fmt.Sprintf("sockets × cores × threads is more than %d", maxCPUs))
		}
	}
	if d.Memory != nil {
		c.size("domain.memory.guest", d.Memory.Guest)
	}
	f := d.Firmware
	if f == nil {
		return
	}
	if f.UUID != "" && !uuidForm.MatchString(string(f.UUID)) {
		c.add("domain.firmware.uuid", quoted(string(f.UUID))+" is not a UUID")
	}
	if f.Bootloader != nil && f.Bootloader.BIOS != nil && f.Bootloader.EFI != nil {
		c.add("domain.firmware.bootloader", "says bios and efi; take one out")
	}
}

func (c *specChecker) disks(disks []kubevirt.Disk, orders map[uint]string) {
	const list = "domain.devices.disks"
	names := seen{}
	for i, d := range disks {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.label(at+".name", d.Name)
		names.again(&c.checker, list, "name", d.Name, "disk", i)
		c.bootOrder(at, d.BootOrder, orders)
		if d.Disk != nil && d.CDRom != nil {
			c.add(at, "says disk and cdrom; take one out")
		}
		if !serialForm.MatchString(d.Serial) {
			c.add(at+".serial", quoted(d.Serial)+" has characters that libvirt does not take; use letters, digits, "+
				"spaces and \"_-.+\"")
		}
	}
}

func (c *specChecker) interfaces(interfaces []kubevirt.Interface, orders map[uint]string) {
	const list = "domain.devices.interfaces"
	names, macs := seen{}, seen{}
	for i, n := range interfaces {
		at := list + "[" + strconv.Itoa(i) + "]"
		c.label(at+".name", n.Name)
		names.again(&c.checker, list, "name", n.Name, "interface", i)
		c.bootOrder(at, n.BootOrder, orders)
		if n.Bridge != nil && n.Masquerade != nil {
			c.add(at, "says bridge and masquerade; take one out")
		}
		if n.MacAddress != "" {
			c.mac(at+".macAddress", n.MacAddress)
			macs.again(&c.checker, list, "macAddress", strings.ReplaceAll(strings.ToLower(n.MacAddress), "-", ":"), "address", i)
		}
	}
}

// mac checks an address. Libvirt refuses multicast ones.
func (c *specChecker) mac(field, mac string) {
	if !macForm.MatchString(mac) {
		c.add(field, quoted(mac)+" is not a MAC address, such as 52:54:00:12:34:56")
		return
	}
	if first, err := strconv.ParseUint(mac[:2], 16, 8); err != nil || first&1 == 1 {
		c.add(field, quoted(mac)+" is a multicast address; the first byte must be even")
	}
}

// bootOrder checks that no two devices have the same place in the order.
func (c *specChecker) bootOrder(at string, order *uint, orders map[uint]string) {
	if order == nil {
		return
	}
	if first, ok := orders[*order]; ok {
		c.add(at+".bootOrder", fmt.Sprintf("%s has %d too; no two devices can", first, *order))
		return
	}
	orders[*order] = at
}

func (c *specChecker) networks(networks []Network) {
	names := seen{}
	for i, n := range networks {
		at := "networks[" + strconv.Itoa(i) + "]"
		c.label(at+".name", n.Name)
		names.again(&c.checker, "networks", "name", n.Name, "network", i)
		var set []string
		if n.Libvirt != nil {
			set = append(set, "libvirt")
			if n.Libvirt.Network == "" && !c.partial {
				c.add(at+".libvirt.network", "is missing; say a libvirt network's name")
			}
		}
		if n.Bridge != "" {
			set = append(set, "bridge")
			// The kernel's bound on an interface's name, IFNAMSIZ, less the final zero byte.
			if len(n.Bridge) > 15 || strings.ContainsAny(n.Bridge, "/ \t\r\n\x00") {
				c.add(at+".bridge", quoted(n.Bridge)+" is not a bridge's name: at most 15 letters, no spaces, no \"/\"")
			}
		}
		if n.User != nil {
			set = append(set, "user")
		}
		c.oneOf(at, set, []string{"libvirt", "bridge", "user"}, c.partial)
	}
}

func (c *specChecker) volumes(volumes []Volume) {
	names := seen{}
	for i, v := range volumes {
		at := "volumes[" + strconv.Itoa(i) + "]"
		c.label(at+".name", v.Name)
		names.again(&c.checker, "volumes", "name", v.Name, "volume", i)
		var set []string
		if v.Volume != nil {
			set = append(set, "volume")
			c.storageVolume(at+".volume", v.Volume)
		}
		if v.EmptyDisk != nil {
			set = append(set, "emptyDisk")
			if !v.EmptyDisk.Capacity.IsZero() || !c.partial {
				c.size(at+".emptyDisk.capacity", &v.EmptyDisk.Capacity)
			}
		}
		if v.HostDisk != nil {
			set = append(set, "hostDisk")
			c.hostDisk(at+".hostDisk", v.HostDisk)
		}
		if v.CloudInitNoCloud != nil {
			set = append(set, "cloudInitNoCloud")
			c.cloudInit(at+".cloudInitNoCloud", v.CloudInitNoCloud)
		}
		c.oneOf(at, set, []string{"volume", "emptyDisk", "hostDisk", "cloudInitNoCloud"}, c.partial)
	}
}

func (c *specChecker) storageVolume(at string, v *StorageVolume) {
	c.size(at+".size", v.Size)
	if v.Size == nil && v.Image == nil && !c.partial {
		c.add(at, "has neither a size nor an image; say one")
	}
	if strings.ContainsAny(v.Pool, "/\n") {
		c.add(at+".pool", quoted(v.Pool)+" is not a pool's name")
	}
	if v.Image == nil {
		return
	}
	if v.Image.Path != "" || !c.partial {
		c.hostPath(at+".image.path", v.Image.Path)
	}
	if v.Format == "raw" {
		c.add(at+".format", "a volume with an image is a qcow2 overlay on it; take out the format")
	}
}

func (c *specChecker) hostDisk(at string, d *HostDisk) {
	if d.Path != "" || !c.partial {
		c.hostPath(at+".path", d.Path)
	}
	if d.Type == "" && !c.partial {
		c.add(at+".type", "is missing; say Disk (the file is there) or DiskOrCreate")
	}
	c.size(at+".capacity", d.Capacity)
	if d.Type == "DiskOrCreate" && d.Capacity == nil && !c.partial {
		c.add(at+".capacity", "is missing; a file that is to be made needs one")
	}
}

func (c *specChecker) cloudInit(at string, s *CloudInitNoCloud) {
	both := func(plain, encoded string) {
		c.add(at+"."+encoded, "cannot be said together with "+plain+"; take one out")
	}
	if s.UserData != "" && s.UserDataBase64 != "" {
		both("userData", "userDataBase64")
	}
	if s.NetworkData != "" && s.NetworkDataBase64 != "" {
		both("networkData", "networkDataBase64")
	}
	c.base64(at+".userDataBase64", s.UserDataBase64)
	c.base64(at+".networkDataBase64", s.NetworkDataBase64)
	if *s == (CloudInitNoCloud{}) && !c.partial {
		c.add(at, "has no data; say userData")
	}
}

// base64 checks an encoded text. What is wrong with it is told without it: it is secret.
func (c *specChecker) base64(field, text string) {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		c.add(field, fmt.Sprintf("is not base64: %v", err))
	}
}

// references checks that disks and volumes, and interfaces and networks, belong together.
func (c *specChecker) references(spec *InstanceSpec) {
	disks, interfaces, networks, volumes := seen{}, seen{}, seen{}, seen{}
	for i, v := range spec.Volumes {
		volumes[v.Name] = i
	}
	for i, n := range spec.Networks {
		networks[n.Name] = i
	}
	for i, d := range spec.Domain.Devices.Disks {
		disks[d.Name] = i
		if _, ok := volumes[d.Name]; !ok {
			c.add(fmt.Sprintf("domain.devices.disks[%d]", i), "there is no volume of the name "+quoted(d.Name)+"; add one to volumes")
		}
	}
	for i, n := range spec.Domain.Devices.Interfaces {
		interfaces[n.Name] = i
		if _, ok := networks[n.Name]; !ok {
			c.add(fmt.Sprintf("domain.devices.interfaces[%d]", i), "there is no network of the name "+quoted(n.Name)+"; add one to networks")
		}
	}
	for i, v := range spec.Volumes {
		if _, ok := disks[v.Name]; !ok {
			c.add(fmt.Sprintf("volumes[%d]", i), "no disk has the name "+quoted(v.Name)+"; add one to domain.devices.disks")
		}
	}
	for i, n := range spec.Networks {
		if _, ok := interfaces[n.Name]; !ok {
			c.add(fmt.Sprintf("networks[%d]", i), "no interface has the name "+quoted(n.Name)+"; add one to domain.devices.interfaces")
		}
	}
}
