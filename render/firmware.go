package render

import (
	"path"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// firmware is <os>. The machine type is libvirt's alias or a versioned name; libvirt turns the first into the second
// when the domain is created, and there it stays.
func (b *builder) firmware(domain *domxml.Element) {
	os := domain.Append(domxml.New("os"))
	text(os, "type", "hvm").SetAttr("machine", b.spec.Machine.Type)
	os.Child("type").SetAttr("arch", "x86_64")
	if s := domain.Child("sysinfo"); s != nil && s.Attr("type") == "smbios" {
		os.Append(domxml.New("smbios", "mode", "sysinfo"))
	}
	b.kernel(os)
	boot := b.spec.Firmware.Bootloader
	if boot == nil {
		return
	}
	if boot.BIOS != nil && boot.BIOS.UseSerial != nil {
		os.Append(domxml.New("bios", "useserial", yesNo(*boot.BIOS.UseSerial)))
	}
	if boot.EFI != nil {
		os.SetAttr("firmware", "efi")
		secure := yesNo(*boot.EFI.SecureBoot)
		choice := os.Append(domxml.New("firmware"))
		choice.Append(domxml.New("feature", "enabled", secure, "name", "enrolled-keys"))
		choice.Append(domxml.New("feature", "enabled", secure, "name", "secure-boot"))
	}
}

// kernel boots a kernel of an OCI image, which is brought to the host beforehand.
func (b *builder) kernel(os *domxml.Element) {
	k := b.spec.Firmware.KernelBoot
	if k == nil || k.Container == nil {
		return
	}
	for _, f := range []struct{ element, path string }{{"kernel", k.Container.KernelPath}, {"initrd", k.Container.InitrdPath}} {
		if f.path == "" {
			continue
		}
		fetch := Fetch{Image: k.Container.Image, Path: f.path}
		file := Fetched(b.options.CacheDir, fetch, path.Base(f.path))
		// The name has a dot, so that no device can have it.
		b.instance.Volumes = append(b.instance.Volumes, Volume{
			Name: "kernelBoot." + f.element, Kind: VolumeFetched, Format: "raw", Path: file, Fetch: &fetch,
		})
		text(os, f.element, file)
	}
	if k.KernelArgs != "" {
		text(os, "cmdline", k.KernelArgs)
	}
}

// sysinfo is what the guest reads of itself in the SMBIOS tables, where the spec says anything of it.
func sysinfo(domain *domxml.Element, spec *manifest.DomainSpec) {
	info := domxml.New("sysinfo", "type", "smbios")
	entry := func(table, name, value string) {
		if value != "" {
			text(info.Ensure(table), "entry", value).SetAttr("name", name)
		}
	}
	entry("system", "serial", spec.Firmware.Serial)
	if c := spec.Chassis; c != nil {
		entry("chassis", "manufacturer", c.Manufacturer)
		entry("chassis", "version", c.Version)
		entry("chassis", "serial", c.Serial)
		entry("chassis", "asset", c.Asset)
		entry("chassis", "sku", c.Sku)
	}
	if len(info.Children) > 0 {
		domain.Append(info)
	}
}
