package manifest

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

func (c *specChecker) networks(networks []Network) {
	names := seen{}
	for i, n := range networks {
		at := "networks[" + strconv.Itoa(i) + "]"
		c.label(at+".name", n.Name)
		names.again(&c.checker, "networks", "name", n.Name, "network", i)
		if n.VLAN != nil && (*n.VLAN < 1 || *n.VLAN > 4094) {
			c.add(at+".vlan", "is not a VLAN's tag: say 1 to 4094")
		}
		c.networkSource(at, n.NetworkSource)
	}
}

// pciForm is DOMAIN:BUS:SLOT.FUNCTION, as lspci -D prints it.
var pciForm = regexp.MustCompile(`^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-1][0-9a-fA-F]\.[0-7]$`)

func (c *checker) pciAddress(field, address string) {
	if !pciForm.MatchString(address) {
		c.add(field, quoted(address)+" is not a PCI address; write it as lspci -D does, such as 0000:65:00.1")
	}
}

// device checks the name of a network device: at most 15 characters (the kernel's IFNAMSIZ, less the final zero byte).
func (c *checker) device(field, name, what string) {
	if name == "" {
		c.add(field, "is missing; say the name of "+what)
	} else if len(name) > 15 || strings.ContainsAny(name, "/ \t\r\n\x00") {
		c.add(field, quoted(name)+" is not the name of "+what+": at most 15 letters, no spaces, no \"/\"")
	}
}

func (c *specChecker) networkSource(at string, n NetworkSource) {
	var set []string
	if n.Libvirt != nil {
		set = append(set, "libvirt")
		if n.Libvirt.Network == "" && !c.partial {
			c.add(at+".libvirt.network", "is missing; say a libvirt network's name")
		}
	}
	if n.Bridge != "" {
		set = append(set, "bridge")
		c.device(at+".bridge", n.Bridge, "a bridge")
	}
	if n.Direct != nil {
		set = append(set, "direct")
		if n.Direct.Dev != "" || !c.partial {
			c.device(at+".direct.dev", n.Direct.Dev, "a network device of the host")
		}
	}
	if n.PCI != "" {
		set = append(set, "pci")
		c.pciAddress(at+".pci", n.PCI)
	}
	if n.User != nil {
		set = append(set, "user")
	}
	if n.Pod != nil {
		set = append(set, "pod")
	}
	if n.Multus != nil {
		set = append(set, "multus")
		if n.Multus.NetworkName == "" && !c.partial {
			c.add(at+".multus.networkName", "is missing; say a network's name")
		}
	}
	c.oneOf(at, set, []string{"libvirt", "bridge", "direct", "pci", "user"}, c.partial)
}

func (c *specChecker) volumes(volumes []Volume) {
	names := seen{}
	for i, v := range volumes {
		at := "volumes[" + strconv.Itoa(i) + "]"
		c.label(at+".name", v.Name)
		names.again(&c.checker, "volumes", "name", v.Name, "volume", i)
		c.volumeSource(at, v.VolumeSource)
	}
}

func (c *specChecker) volumeSource(at string, v VolumeSource) {
	var set []string
	said := func(name string, is bool, check func(at string)) {
		if is {
			set = append(set, name)
			check(at + "." + name)
		}
	}
	needs := func(field, what string) func(string) {
		return func(at string) {
			if field == "" && !c.partial {
				c.add(at, "is missing "+what)
			}
		}
	}
	said("volume", v.Volume != nil, func(at string) { c.storageVolume(at, v.Volume) })
	said("containerDisk", v.ContainerDisk != nil, func(at string) { c.containerDisk(at, v.ContainerDisk) })
	said("emptyDisk", v.EmptyDisk != nil, func(at string) {
		if !v.EmptyDisk.Capacity.IsZero() || !c.partial && v.EmptyDisk.Image == nil {
			c.size(at+".capacity", &v.EmptyDisk.Capacity)
		}
		c.image(at+".image", v.EmptyDisk.Image)
		if v.EmptyDisk.Image != nil && v.EmptyDisk.Image.Copy {
			c.add(at+".image.copy", "cannot be said of an emptyDisk: it begins anew at every run, as an overlay on the image; take it out")
		}
	})
	said("hostDisk", v.HostDisk != nil, func(at string) { c.hostDisk(at, v.HostDisk) })
	said("block", v.Block != nil, func(at string) {
		if v.Block.Path != "" || !c.partial {
			c.hostPath(at+".path", v.Block.Path)
		}
	})
	said("hostPath", v.HostPath != nil, func(at string) {
		if v.HostPath.Path != "" || !c.partial {
			c.hostPath(at+".path", v.HostPath.Path)
		}
	})
	said("cloudInitNoCloud", v.CloudInitNoCloud != nil, func(at string) { c.cloudInit(at, v.CloudInitNoCloud) })
	said("cloudInitConfigDrive", v.CloudInitConfigDrive != nil, func(at string) { c.cloudInit(at, v.CloudInitConfigDrive) })
	said("ignition", v.Ignition != nil, func(at string) { c.ignition(at, v.Ignition) })
	said("iso", v.ISO != nil, func(at string) { c.iso(at, v.ISO) })
	said("network", v.Network != nil, func(at string) { c.networkDisk(at, v.Network) })
	if v.PersistentVolumeClaim != nil {
		said("persistentVolumeClaim", true, needs(v.PersistentVolumeClaim.ClaimName, "a claimName"))
	}
	if v.DataVolume != nil {
		said("dataVolume", true, needs(v.DataVolume.Name, "a name"))
	}
	if e := v.Ephemeral; e != nil {
		claim := ""
		if e.PersistentVolumeClaim != nil {
			claim = e.PersistentVolumeClaim.ClaimName
		}
		said("ephemeral", true, needs(claim, "a persistentVolumeClaim with a claimName"))
	}
	c.oneOf(at, set, []string{"volume", "containerDisk", "emptyDisk", "hostDisk", "block", "hostPath", "cloudInitNoCloud",
		"cloudInitConfigDrive", "ignition", "iso", "network"}, c.partial)
}

func (c *specChecker) storageVolume(at string, v *StorageVolume) {
	c.size(at+".size", v.Size)
	if v.Size == nil && v.Image == nil && !c.partial {
		c.add(at, "has neither a size nor an image; say one")
	}
	if strings.ContainsAny(v.Pool, "/\n") {
		c.add(at+".pool", quoted(v.Pool)+" is not a pool's name")
	}
	c.image(at+".image", v.Image)
	if e := v.Encryption; e != nil {
		c.secretRef(at+".encryption.secretRef", e.SecretRef)
		if v.Format == "raw" {
			c.add(at+".encryption", "needs a qcow2 volume; take out the format")
		}
	}
}

// imageForm is what a registry's client can make something of: [HOST[:PORT]/]NAME[:TAG][@DIGEST].
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$`)

func (c *checker) imageName(field, name string) {
	if name == "" {
		c.add(field, "is missing; say the image's name")
	} else if !imageForm.MatchString(name) {
		c.add(field, quoted(name)+" is not an image's name: write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST")
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

// base64 checks an encoded text. What is wrong with it is told without it: it is secret.
func (c *specChecker) base64(field, text string) {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		c.add(field, fmt.Sprintf("is not base64: %v", err))
	}
}

// addresses checks the fixed addresses of an interface.
func (c *specChecker) addresses(at string, addresses []string) {
	for i, a := range addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			c.add(fmt.Sprintf("%s.addresses[%d]", at, i), quoted(a)+" is not an address with the length of its prefix, such as 192.0.2.10/24")
		}
	}
}
