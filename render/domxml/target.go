package domxml

import (
	"strings"
)

// targetPrefix is what the names of a bus's disks begin with, as libvirt's formatdomain page has them.
var targetPrefix = map[string]string{
	"virtio": "vd", "scsi": "sd", "sata": "sd", "usb": "sd", "ide": "hd", "fdc": "fd", "xen": "xvd",
}

// nameTargets gives each disk that has no target name one that no other disk has, or had, here or as the domain runs. SATA,
// SCSI and USB disks share their letters.
func nameTargets(devices *Element, before Slots, live *Element) {
	used := map[string]bool{}
	for _, d := range live.Child("devices").All("disk") {
		used[d.Child("target").Attr("dev")] = true
	}
	for _, s := range before {
		used[s.Dev] = true
	}
	disks := devices.All("disk")
	for _, d := range disks {
		used[d.Child("target").Attr("dev")] = true
	}
	for _, d := range disks {
		target := d.Ensure("target")
		if target.Attr("dev") != "" {
			continue
		}
		prefix := targetPrefix[target.Attr("bus")]
		if prefix == "" {
			prefix = "vd"
		}
		dev := before[d.UserAlias()].Dev
		for n := 0; !strings.HasPrefix(dev, prefix) || dev == ""; n++ {
			if name := prefix + letters(n); !used[name] {
				dev = name
			}
		}
		used[dev] = true
		target.Attrs = append([]Attr{{"dev", dev}}, target.Attrs...)
	}
}

// letters counts a, b, … z, aa, ab, …
func letters(n int) string {
	s := string(rune('a' + n%26))
	if n < 26 {
		return s
	}
	return letters(n/26-1) + s
}
