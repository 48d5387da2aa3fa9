package render

import (
	"fmt"
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// domainOf is what an instance declares of its domain, in libvirt's language (formatdomain). It is made as a tree and not
// through a typed struct: the tree is what domainXML is merged into and what libvirt's answer is compared with, and it
// says only what is declared. One that is detailed in libvirt's language alone is taken as it is: nothing is put beside it.
func domainOf(i *Instance, o Options, detailed bool) (*domxml.Element, []manifest.FieldProblem) {
	spec := &i.Spec.Domain
	domain := domxml.New("domain", "type", o.DomainType)
	text(domain, "name", i.Name)
	text(domain, "uuid", i.UUID)
	if detailed {
		return domain, nil
	}
	if spec.Memory != nil && spec.Memory.Guest != nil {
		bytes := spec.Memory.Guest.Value()
		for _, name := range []string{"memory", "currentMemory"} {
			text(domain, name, strconv.FormatInt((bytes+1023)/1024, 10)).SetAttr("unit", "KiB")
		}
	}
	cpu := spec.CPU
	text(domain, "vcpu", count(cpu.Sockets*cpu.Cores*cpu.Threads))
	firmware(domain, spec)
	features(domain, spec.Features)
	processor(domain, cpu, o.DomainType)
	devices := domain.Append(domxml.New("devices"))
	var problems []manifest.FieldProblem
	for n := range spec.Devices.Disks {
		d, err := disk(i, &spec.Devices.Disks[n])
		if err != nil {
			problems = append(problems, manifest.FieldProblem{Field: fmt.Sprintf("domain.devices.disks[%d]", n), Message: err.Error()})
			continue
		}
		devices.Append(d)
	}
	for n := range spec.Devices.Interfaces {
		nic, err := nic(i, &spec.Devices.Interfaces[n])
		if err != nil {
			problems = append(problems, manifest.FieldProblem{Field: fmt.Sprintf("domain.devices.interfaces[%d]", n), Message: err.Error()})
			continue
		}
		devices.Append(nic)
	}
	for _, d := range devices.Children {
		if d.Name == "disk" && d.Child("target").Attr("bus") == "scsi" {
			// libvirt's own choice is an emulated LSI adapter, which few guests have a driver for.
			devices.Append(domxml.New("controller", "type", "scsi", "index", "0", "model", "virtio-scsi"))
			break
		}
	}
	consoles(devices)
	if spec.Devices.Rng != nil {
		rng := devices.Append(domxml.New("rng", "model", "virtio"))
		text(rng, "backend", "/dev/urandom").SetAttr("model", "random")
	}
	return domain, problems
}

func text(parent *domxml.Element, name, value string) *domxml.Element {
	e := parent.Append(domxml.New(name))
	e.Text = value
	return e
}

func count(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// consoles are what every guest has: a serial console for `virsh console`, and the guest agent's channel.
func consoles(devices *domxml.Element) {
	serial := devices.Append(domxml.New("serial", "type", "pty"))
	serial.Append(domxml.New("target", "port", "0"))
	console := devices.Append(domxml.New("console", "type", "pty"))
	console.Append(domxml.New("target", "type", "serial", "port", "0"))
	channel := devices.Append(domxml.New("channel", "type", "unix"))
	channel.Append(domxml.New("target", "type", "virtio", "name", "org.qemu.guest_agent.0"))
}

// firmware is <os>. The machine type is libvirt's alias or a versioned name; libvirt turns the first into the second
// when the domain is created, and there it stays.
func firmware(domain *domxml.Element, spec *manifest.DomainSpec) {
	os := domain.Append(domxml.New("os"))
	text(os, "type", "hvm").SetAttr("machine", spec.Machine.Type)
	os.Child("type").SetAttr("arch", "x86_64")
	b := spec.Firmware.Bootloader
	if b == nil {
		return
	}
	if b.BIOS != nil && b.BIOS.UseSerial != nil {
		os.Append(domxml.New("bios", "useserial", yesNo(*b.BIOS.UseSerial)))
	}
	if b.EFI != nil {
		os.SetAttr("firmware", "efi")
		secure := yesNo(*b.EFI.SecureBoot)
		choice := os.Append(domxml.New("firmware"))
		choice.Append(domxml.New("feature", "enabled", secure, "name", "enrolled-keys"))
		choice.Append(domxml.New("feature", "enabled", secure, "name", "secure-boot"))
	}
}

// processor is <cpu>. A guest under KVM sees the host's CPU unless it says otherwise, as in KubeVirt; an emulated one has
// QEMU's default.
func processor(domain *domxml.Element, cpu *kubevirt.CPU, domainType string) {
	e := domain.Append(domxml.New("cpu"))
	switch cpu.Model {
	case "":
		if domainType == "kvm" {
			e.SetAttr("mode", "host-model")
		}
	case "host-model", "host-passthrough", "maximum":
		e.SetAttr("mode", cpu.Model)
	default:
		e.SetAttr("mode", "custom")
		e.SetAttr("match", "exact")
		text(e, "model", cpu.Model)
	}
	e.Append(domxml.New("topology", "sockets", count(cpu.Sockets), "cores", count(cpu.Cores), "threads", count(cpu.Threads)))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
