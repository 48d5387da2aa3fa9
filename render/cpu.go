package render

import (
	"errors"
	"strconv"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// hypervisorDefault is the CPU of a domain that says none, by the word that virt-install has for it.
const hypervisorDefault = "hypervisor-default"

// vcpu is <vcpu>: the most that there can be, and how many of them there are when the guest starts. What is between can
// be plugged into the running guest.
func vcpu(domain *domxml.Element, cpu *kubevirt.CPU) {
	e := text(domain, "vcpu", count(mostCPUs(cpu)))
	if cpu.MaxSockets > cpu.Sockets {
		e.SetAttr("current", count(cpu.Sockets*cpu.Cores*cpu.Threads))
	}
}

// mostCPUs is how many virtual CPUs the guest can come to have.
func mostCPUs(cpu *kubevirt.CPU) uint32 {
	return max(cpu.Sockets, cpu.MaxSockets) * cpu.Cores * cpu.Threads
}

// pin is <cputune>: the host's CPUs that a machine has to itself, which are the host's word.
func (b *builder) pin(domain *domxml.Element) {
	cpu := b.spec.CPU
	if !cpu.DedicatedCPUPlacement {
		if cpu.IsolateEmulatorThread {
			b.problem("domain.cpu.isolateEmulatorThread", errors.New("goes with dedicatedCpuPlacement: say that too, or take it out"))
		}
		return
	}
	vcpus := int(cpu.Sockets * cpu.Cores * cpu.Threads)
	switch {
	case b.input.NoCPUs != "":
		b.problem("domain.cpu.dedicatedCpuPlacement", errors.New(b.input.NoCPUs+": add to spec.dedicatedCPUs of the Host"))
		return
	case len(b.input.CPUs) < vcpus:
		b.problem("domain.cpu.dedicatedCpuPlacement", errors.New("no Host says which of its CPUs machines may have to themselves: add spec.dedicatedCPUs to the Host"))
		return
	}
	tune := domain.Append(domxml.New("cputune"))
	for n, on := range b.input.CPUs[:vcpus] {
		tune.Append(domxml.New("vcpupin", "vcpu", strconv.Itoa(n), "cpuset", strconv.Itoa(on)))
	}
	if cpu.IsolateEmulatorThread {
		tune.Append(domxml.New("emulatorpin", "cpuset", strconv.Itoa(b.input.CPUs[vcpus])))
	}
}

// processor is <cpu>. A guest under KVM sees the host's CPU unless it says otherwise, as in KubeVirt; an emulated one has
// QEMU's default, and where it asks for the host's own all that QEMU can emulate.
func processor(domain *domxml.Element, cpu *kubevirt.CPU, domainType string) {
	e := domain.Append(domxml.New("cpu"))
	custom := func(model string) {
		e.SetAttr("mode", "custom")
		e.SetAttr("match", "exact")
		text(e, "model", model)
	}
	switch cpu.Model {
	case "":
		if domainType == "kvm" {
			e.SetAttr("mode", "host-model")
		} else if len(cpu.Features) > 0 {
			custom("qemu64") // QEMU's default; libvirt demands a model that the features are of
		}
	case "host-passthrough":
		// To libvirt, maximum is the same under KVM; QEMU has no host-passthrough without.
		e.SetAttr("mode", cpu.Model)
		if domainType == "qemu" {
			e.SetAttr("mode", "maximum")
		}
	case hypervisorDefault:
		// Nothing is said of a model, and QEMU takes its own: kvm64 or qemu64.
	case "host-model", "maximum":
		e.SetAttr("mode", cpu.Model)
	default:
		custom(cpu.Model)
	}
	e.Append(domxml.New("topology", "sockets", count(max(cpu.Sockets, cpu.MaxSockets)), "cores", count(cpu.Cores), "threads", count(cpu.Threads)))
	for _, f := range cpu.Features {
		e.Append(domxml.New("feature", "policy", f.Policy, "name", f.Name))
	}
}
