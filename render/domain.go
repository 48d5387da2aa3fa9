package render

import (
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// builder makes the domain of an instance, and collects what is wrong with it.
type builder struct {
	instance *Instance
	spec     *manifest.DomainSpec
	options  Options
	input    Input
	threads  threads
	problems []manifest.FieldProblem
}

func (b *builder) problem(field string, err error) {
	b.problems = append(b.problems, manifest.FieldProblem{Field: field, Message: err.Error()})
}

// domainOf is what an instance declares of its domain, in libvirt's language (formatdomain). It is made as a tree and not
// through a typed struct: the tree is what domainXML is merged into and what libvirt's answer is compared with, and it
// says only what is declared. One that is detailed in libvirt's language alone is taken as it is: nothing is put beside it.
func domainOf(i *Instance, in Input, o Options, detailed bool) (*domxml.Element, []manifest.FieldProblem) {
	spec := &i.Spec.Domain
	domain := domxml.New("domain", "type", o.DomainType)
	text(domain, "name", i.Name)
	text(domain, "uuid", i.UUID)
	if detailed {
		return domain, nil
	}
	b := &builder{instance: i, spec: spec, options: o, input: in, threads: spread(spec)}
	memory(domain, spec)
	vcpu(domain, spec.CPU)
	if b.threads.total > 0 {
		text(domain, "iothreads", count(b.threads.total))
	}
	sysinfo(domain, spec)
	b.ignition(domain)
	b.firmware(domain)
	features(domain, spec.Features)
	processor(domain, spec.CPU, o.DomainType)
	b.pin(domain)
	clock(domain, spec.Clock)
	b.devices(domain.Append(domxml.New("devices")))
	return domain, b.problems
}

func (b *builder) devices(devices *domxml.Element) {
	spec := &b.spec.Devices
	add := func(e *domxml.Element, err error, list string, n int) {
		if err != nil {
			b.problem(at(list, n), err)
		} else if e != nil {
			devices.Append(e)
		}
	}
	for n := range spec.Disks {
		e, err := b.disk(&spec.Disks[n])
		add(e, err, "disks", n)
	}
	for n := range spec.Filesystems {
		e, err := b.filesystem(&spec.Filesystems[n])
		add(e, err, "filesystems", n)
	}
	for n := range spec.Interfaces {
		e, err := b.nic(&spec.Interfaces[n])
		add(e, err, "interfaces", n)
	}
	b.controllers(devices)
	b.consoles(devices)
	for n := range spec.HostDevices {
		d := &spec.HostDevices[n]
		e, err := b.hostDevice(d.Name, d.DeviceName)
		add(e, err, "hostDevices", n)
	}
	for n := range spec.GPUs {
		e, err := b.gpu(&spec.GPUs[n])
		add(e, err, "gpus", n)
	}
	b.extras(devices)
}

// controllers are those that libvirt would choose otherwise.
func (b *builder) controllers(devices *domxml.Element) {
	for _, d := range devices.Children {
		if d.Name == "disk" && d.Child("target").Attr("bus") == "scsi" {
			// libvirt's own choice is an emulated LSI adapter, which few guests have a driver for.
			devices.Append(domxml.New("controller", "type", "scsi", "index", "0", "model", b.virtio("virtio-scsi")))
			break
		}
	}
	if isOn(b.spec.Devices.UseVirtioTransitional) {
		devices.Append(domxml.New("controller", "type", "virtio-serial", "index", "0", "model", transitional))
	}
	if b.spec.Devices.DisableHotplug {
		// With the root said, no spare ports for later are put behind it: libvirt adds those that the devices need.
		root := "pcie-root"
		if m := b.spec.Machine.Type; m == "pc" || strings.HasPrefix(m, "pc-i440fx-") {
			root = "pci-root"
		}
		devices.Append(domxml.New("controller", "type", "pci", "index", "0", "model", root))
	}
}

// transitional is libvirt's model of virtio devices that guests from before virtio 1.0 know too.
const transitional = "virtio-transitional"

// virtio is the model of a virtio device, given libvirt's usual one.
func (b *builder) virtio(model string) string {
	if isOn(b.spec.Devices.UseVirtioTransitional) {
		return transitional
	}
	return model
}

// consoles are what every guest has that does not say otherwise: a serial console for `virsh console`, and the guest agent's channel.
func (b *builder) consoles(devices *domxml.Element) {
	if on := b.spec.Devices.AutoattachSerialConsole; on == nil || *on {
		serial := devices.Append(domxml.New("serial", "type", "pty"))
		serial.Append(domxml.New("target", "port", "0"))
		console := devices.Append(domxml.New("console", "type", "pty"))
		console.Append(domxml.New("target", "type", "serial", "port", "0"))
	}
	if on := b.spec.Devices.AutoattachGuestAgent; on != nil && !*on {
		return
	}
	channel := devices.Append(domxml.New("channel", "type", "unix"))
	channel.Append(domxml.New("target", "type", "virtio", "name", "org.qemu.guest_agent.0"))
}
