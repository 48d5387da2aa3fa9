package manifest

import "fmt"

// references checks that disks, filesystems and volumes, and interfaces and networks, belong together.
func (c *specChecker) references(spec *InstanceSpec) {
	users, interfaces, networks, volumes := seen{}, seen{}, seen{}, seen{}
	for i, v := range spec.Volumes {
		volumes[v.Name] = i
	}
	for i, n := range spec.Networks {
		networks[n.Name] = i
	}
	volume := func(at, name string) {
		users[name] = 0
		if _, ok := volumes[name]; !ok {
			c.add(at, "there is no volume of the name "+quoted(name)+"; add one to volumes")
		}
	}
	for i, d := range spec.Domain.Devices.Disks {
		if n, ok := volumes[d.Name]; ok && spec.Volumes[n].ISO != nil && d.CDRom == nil {
			c.add(fmt.Sprintf("domain.devices.disks[%d]", i), "its volume is an iso, which is for a cdrom; say cdrom: {}")
		}
		if _, ok := volumes[d.Name]; ok || d.CDRom == nil { // a drive without a volume is empty, as in KubeVirt
			volume(fmt.Sprintf("domain.devices.disks[%d]", i), d.Name)
		}
	}
	for i, f := range spec.Domain.Devices.Filesystems {
		volume(fmt.Sprintf("domain.devices.filesystems[%d]", i), f.Name)
	}
	for i, n := range spec.Domain.Devices.Interfaces {
		interfaces[n.Name] = i
		if _, ok := networks[n.Name]; !ok {
			c.add(fmt.Sprintf("domain.devices.interfaces[%d]", i), "there is no network of the name "+quoted(n.Name)+"; add one to networks")
		}
	}
	for i, v := range spec.Volumes {
		_, used := users[v.Name]
		if v.Ignition != nil && used {
			c.add(fmt.Sprintf("volumes[%d]", i), "an ignition configuration is no disk; take out the disk "+quoted(v.Name))
		}
		if used || v.Ignition != nil {
			continue
		}
		list := "no disk has the name " + quoted(v.Name) + "; add one to domain.devices.disks"
		if v.HostPath != nil {
			list = "no filesystem has the name " + quoted(v.Name) + "; add one to domain.devices.filesystems"
		}
		c.add(fmt.Sprintf("volumes[%d]", i), list)
	}
	for i, n := range spec.Networks {
		if _, ok := interfaces[n.Name]; !ok {
			c.add(fmt.Sprintf("networks[%d]", i), "no interface has the name "+quoted(n.Name)+"; add one to domain.devices.interfaces")
		}
	}
}
