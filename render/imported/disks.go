package imported

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render/domxml"
)

func (s *sketch) addDisks(all *domxml.Element) {
	var list []any
	for _, d := range children(all, "disk") {
		target := d.Child("target")
		if target.Attr("dev") == "" {
			continue
		}
		name, ok := s.name(d, target.Attr("dev"))
		if !ok || !s.says("disk/"+name) {
			continue
		}
		device := map[string]any{"bus": target.Attr("bus")}
		disk := map[string]any{"name": name}
		_, readonly := has(d, "readonly")
		source, empty := s.source(d, name)
		switch d.Attr("device") {
		case "disk":
			if source == nil {
				continue
			}
			if readonly {
				device["readonly"] = true
			}
			if target.Attr("bus") == "virtio" {
				put(device, "pciAddress", address(d))
			}
			disk["disk"] = device
		case "cdrom":
			if source == nil && !empty {
				continue
			}
			if !readonly {
				continue // libvirt has every CD-ROM read-only
			}
			put(device, "tray", target.Attr("tray"))
			disk["cdrom"] = device
		default:
			continue
		}
		put(disk, "serial", textOf(d, "serial"))
		driver := d.Child("driver")
		put(disk, "cache", driver.Attr("cache"))
		put(disk, "io", driver.Attr("io"))
		put(disk, "errorPolicy", driver.Attr("error_policy"))
		if _, shared := has(d, "shareable"); shared && driver.Attr("type") == "raw" {
			disk["shareable"] = true
		}
		logical, ok1 := number(d.Child("blockio").Attr("logical_block_size"))
		physical, ok2 := number(d.Child("blockio").Attr("physical_block_size"))
		if ok1 && ok2 {
			disk["blockSize"] = map[string]any{"custom": map[string]any{"logical": logical, "physical": physical}}
		}
		bootOrder(disk, d)
		call(d, name)
		s.parts["disk/"+target.Attr("dev")] = "disk/" + name
		list = append(list, disk)
		s.disks = append(s.disks, "disk/"+name)
		if source != nil {
			source["name"] = name
			s.volumes = append(s.volumes, source)
			s.volumesOf = append(s.volumesOf, "disk/"+name)
		}
	}
	if len(list) > 0 {
		s.devices["disks"] = list
	}
}

func has(e *domxml.Element, name string) (*domxml.Element, bool) {
	c := e.Child(name)
	return c, c != nil
}

// source is the volume of a disk, in the terms of a spec; nil when those have none for it, or when the drive is empty.
func (s *sketch) source(d *domxml.Element, name string) (volume map[string]any, empty bool) {
	source := d.Child("source")
	if source == nil {
		return nil, true
	}
	file := func(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }
	switch d.Attr("type") {
	case "file":
		if p := source.Attr("file"); file(p) {
			return map[string]any{"hostDisk": map[string]any{"path": p, "type": "Disk"}}, false
		}
	case "block":
		if p := source.Attr("dev"); file(p) {
			return map[string]any{"block": map[string]any{"path": p}}, false
		}
	case "volume":
		if v := s.storageVolume(source, name); v != nil {
			return map[string]any{"volume": v}, false
		}
	}
	return nil, false
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
	if pool != "default" {
		v["pool"] = pool
	}
	if format != "qcow2" {
		v["format"] = format
	}
	return v
}
