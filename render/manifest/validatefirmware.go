package manifest

import (
	"path"

	kubevirt "kubevirt.io/api/core/v1"
)

func (c *specChecker) firmware(f *kubevirt.Firmware, features *kubevirt.Features) {
	if f == nil {
		return
	}
	if f.UUID != "" && !uuidForm.MatchString(string(f.UUID)) {
		c.add("domain.firmware.uuid", quoted(string(f.UUID))+" is not a UUID")
	}
	c.line("domain.firmware.serial", f.Serial)
	c.bootloader(f.Bootloader, features)
	c.kernelBoot(f.KernelBoot)
}

func (c *specChecker) bootloader(b *kubevirt.Bootloader, features *kubevirt.Features) {
	const at = "domain.firmware.bootloader"
	if b == nil {
		return
	}
	if b.BIOS != nil && b.EFI != nil {
		c.add(at, "says bios and efi; take one out")
	}
	if b.EFI == nil {
		return
	}
	if p := b.EFI.Persistent; p != nil && !*p {
		c.add(at+".efi.persistent", "cannot be false: a machine keeps its NVRAM; take it out")
	}
	secure := On(b.EFI.SecureBoot) // KubeVirt's default
	if secure && features != nil && features.SMM != nil && !On(features.SMM.Enabled) {
		c.add(at+".efi.secureBoot", "needs features.smm, which is off; say secureBoot: false, or take features.smm out")
	}
}

func (c *specChecker) kernelBoot(k *kubevirt.KernelBoot) {
	const at = "domain.firmware.kernelBoot"
	if k == nil || c.partial {
		return
	}
	if k.Container == nil {
		c.add(at+".container", "is missing; say the image that holds the kernel")
		return
	}
	c.imageName(at+".container.image", k.Container.Image)
	if k.Container.KernelPath == "" {
		c.add(at+".container.kernelPath", "is missing; say the kernel's path in the image, such as /boot/vmlinuz")
	}
	for _, f := range []struct{ field, path string }{{"kernelPath", k.Container.KernelPath}, {"initrdPath", k.Container.InitrdPath}} {
		if p := f.path; p != "" && (!path.IsAbs(p) || path.Clean(p) != p || p == "/") {
			c.add(at+".container."+f.field, quoted(p)+" is not a path in the image; write it from the root, such as /boot/vmlinuz")
		}
	}
	c.line(at+".kernelArgs", k.KernelArgs)
}
