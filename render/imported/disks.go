package imported

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func (s *sketch) addDisks(all *domxml.Element) {
	var list []any
	for _, d := range all.All("disk") {
		dev := d.Child("target").Attr("dev")
		name, ok := "", false
		if dev != "" {
			name, ok = s.name(d, dev)
		}
		if !ok {
			s.cannot("disk", dev, "a target or an alias that is no name")
			continue
		}
		part := "disk/" + name
		if !s.says(part) {
			s.cannot("disk", dev, s.left[part])
			continue
		}
		disk, source, why := s.disk(d, name)
		if why != "" {
			s.cannot("disk", dev, why)
			continue
		}
		call(d, name)
		s.parts["disk/"+dev] = part
		list = append(list, disk)
		s.disks = append(s.disks, part)
		if source != nil {
			source["name"] = name
			s.volumes = append(s.volumes, source)
			s.volumesOf = append(s.volumesOf, part)
		}
	}
	if len(list) > 0 {
		s.devices["disks"] = list
	}
}

// disk is a disk and its volume, which an empty drive has none of, or why it cannot be said.
func (s *sketch) disk(d *domxml.Element, name string) (disk, volume map[string]any, why string) {
	if volume, why = s.source(d, name); why != "" {
		return nil, nil, why
	}
	target, kind := d.Child("target"), d.Attr("device")
	device := map[string]any{}
	readonly := d.Child("readonly") != nil
	disk = map[string]any{"name": name, kind: device}
	switch {
	case kind == "cdrom" && !readonly:
		return nil, nil, "a cdrom that is written to" // libvirt has every one read-only
	case kind == "cdrom":
		known(device, "bus", target.Attr("bus"), "scsi", "usb")
		known(device, "tray", target.Attr("tray"), "open")
	case volume == nil:
		return nil, nil, "a " + kind + " without a source"
	case kind == "disk":
		known(device, "bus", target.Attr("bus"), "sata", "scsi", "usb")
		if target.Attr("bus") == "virtio" {
			put(device, "pciAddress", address(d))
		}
		if readonly && !onlyRead(volume) {
			device["readonly"] = true
		}
	case kind == "lun":
		if readonly {
			device["readonly"] = true
		}
		if d.Child("source/reservations").Attr("managed") == "yes" {
			device["reservation"] = true
		}
	default:
		return nil, nil, "a " + kind
	}
	s.diskDriver(disk, d)
	bootOrder(disk, d)
	return disk, volume, ""
}

// diskDriver says how QEMU works on a disk, and what the guest sees of it.
func (s *sketch) diskDriver(disk map[string]any, d *domxml.Element) {
	driver := d.Child("driver")
	put(disk, "serial", textOf(d, "serial"))
	known(disk, "cache", driver.Attr("cache"), "none", "writethrough", "writeback")
	known(disk, "io", driver.Attr("io"), "native", "threads")
	put(disk, "errorPolicy", driver.Attr("error_policy"))
	if d.Child("shareable") != nil && driver.Attr("type") == "raw" {
		disk["shareable"] = true
	}
	logical, ok1 := number(d.Child("blockio").Attr("logical_block_size"))
	physical, ok2 := number(d.Child("blockio").Attr("physical_block_size"))
	if ok1 && ok2 {
		disk["blockSize"] = map[string]any{"custom": map[string]any{"logical": logical, "physical": physical}}
	}
}

// source is the volume of a disk, in the terms of a spec, or why those have none for it; neither for an empty drive.
func (s *sketch) source(d *domxml.Element, name string) (volume map[string]any, why string) {
	source, cdrom := d.Child("source"), d.Attr("device") == "cdrom"
	if source == nil {
		return nil, ""
	}
	clean := func(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }
	switch kind := d.Attr("type"); kind {
	case "file":
		p := source.Attr("file")
		switch {
		case p == "":
			return nil, "a file without a path"
		case !clean(p):
			return nil, "a path that is not absolute, or not in its shortest form"
		case cdrom:
			return map[string]any{"iso": map[string]any{"path": p}}, ""
		}
		return map[string]any{"hostDisk": map[string]any{"path": p, "type": "Disk"}}, ""
	case "block":
		p := source.Attr("dev")
		if !clean(p) {
			return nil, "a path that is not absolute, or not in its shortest form"
		}
		return map[string]any{"block": map[string]any{"path": p}}, ""
	case "network":
		return networkDisk(d)
	case "volume":
		if pool := source.Attr("pool"); cdrom {
			iso := map[string]any{"name": source.Attr("volume")}
			unless(iso, "pool", pool, "default")
			return map[string]any{"iso": iso}, ""
		}
		if v := s.storageVolume(source, name); v != nil {
			return map[string]any{"volume": v}, ""
		}
		return nil, "a pool's volume under a name that gitvirt would not give"
	default:
		return nil, "a source of the type " + kind
	}
}

// storageVolume is a volume that has the name which gitvirt gives to those that it makes.
func (s *sketch) storageVolume(source *domxml.Element, name string) map[string]any {
	pool, volume := source.Attr("pool"), source.Attr("volume")
	if s.host.Capacity == nil || pool == "" || volume == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(volume, s.machine+"."+name)
	format := map[string]string{".qcow2": "qcow2", ".img": "raw"}[rest]
	if !ok || format == "" {
		return nil
	}
	size, ok := s.host.Capacity(pool, volume)
	if !ok || size <= 0 {
		return nil
	}
	v := map[string]any{"size": resource.NewQuantity(size, resource.BinarySI).String()}
	unless(v, "pool", pool, "default")
	unless(v, "format", format, "qcow2")
	return v
}
