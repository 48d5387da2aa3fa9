package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// A field is where a part of the domain's XML comes from in a template's spec, in KubeVirt's words.
type field struct {
	xml    *regexp.Regexp
	spec   string
	amount bool // a number of KiB
}

// fieldTable is in order: the first that matches counts. What matches none was said in domainXML, or is shown as if it
// was.
var fieldTable = []field{
	{regexp.MustCompile(`^memory$`), "domain.memory.guest", true},
	{regexp.MustCompile(`^currentMemory$`), "domain.memory.guest", true},
	{regexp.MustCompile(`^cpu/topology@(cores|sockets|threads)$`), "domain.cpu.$1", false},
	{regexp.MustCompile(`^cpu(@mode|/model)$`), "domain.cpu.model", false},
	{regexp.MustCompile(`^os/type@machine$`), "domain.machine.type", false},
	{regexp.MustCompile(`^os@firmware$|^os/firmware.*`), "domain.firmware.bootloader.efi", false},
	{regexp.MustCompile(`^os/bios@useserial$`), "domain.firmware.bootloader.bios.useSerial", false},
	{regexp.MustCompile(`^memoryBacking/hugepages.*$`), "domain.memory.hugepages", false},
	{regexp.MustCompile(`^vcpu(@current)?$`), "domain.cpu", false},
	{regexp.MustCompile(`^cpu/feature\[([^]]*)\].*$`), "domain.cpu.features[$1]", false},
	{regexp.MustCompile(`^iothreads$`), "domain.ioThreadsPolicy", false},
	{regexp.MustCompile(`^os/(kernel|initrd)$`), "domain.firmware.kernelBoot.container", false},
	{regexp.MustCompile(`^os/cmdline$`), "domain.firmware.kernelBoot.kernelArgs", false},
	{regexp.MustCompile(`^sysinfo/system/entry\[serial\]$`), "domain.firmware.serial", false},
	{regexp.MustCompile(`^sysinfo/chassis/entry\[([a-z]+)\]$`), "domain.chassis.$1", false},
	{regexp.MustCompile(`^clock/timer\[kvmclock\].*$`), "domain.clock.timer.kvm", false},
	{regexp.MustCompile(`^clock/timer\[hypervclock\].*$`), "domain.clock.timer.hyperv", false},
	{regexp.MustCompile(`^clock/timer\[([a-z]+)\].*$`), "domain.clock.timer.$1", false},
	{regexp.MustCompile(`^clock@(offset|adjustment|basis|timezone)$`), "domain.clock", false},
	{regexp.MustCompile(`^features/([a-z_]+)(@state)?$`), "domain.features.$1", false},
	{regexp.MustCompile(`^features/hyperv/([a-z_]+)(@state)?$`), "domain.features.hyperv.$1", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/target@bus$`), "domain.devices.disks[$1].bus", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@cache$`), "domain.devices.disks[$1].cache", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@io$`), "domain.devices.disks[$1].io", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@error_policy$`), "domain.devices.disks[$1].errorPolicy", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@iothread$`), "domain.devices.disks[$1].dedicatedIOThread", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@queues$`), "domain.devices.blockMultiQueue", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/blockio.*$`), "domain.devices.disks[$1].blockSize", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/address.*$`), "domain.devices.disks[$1].disk.pciAddress", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/target@tray$`), "domain.devices.disks[$1].cdrom.tray", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/shareable$`), "domain.devices.disks[$1].shareable", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/source/reservations.*$`), "domain.devices.disks[$1].lun.reservation", false},
	{regexp.MustCompile(`^devices/(?:disk|interface|memballoon)[^/]*@model$`), "domain.devices.useVirtioTransitional", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/boot@order$|^devices/disk\[([^]]*)\]/boot$`), "domain.devices.disks[$1$2].bootOrder", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/(serial|readonly)$`), "domain.devices.disks[$1].$2", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/(?:source.*|driver@type)$|^devices/disk\[([^]]*)\]@type$`), "volumes[$1$2]", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]$`), "domain.devices.disks[$1]", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/model@type$`), "domain.devices.interfaces[$1].model", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/mac@address$`), "domain.devices.interfaces[$1].macAddress", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/link(@state)?$`), "domain.devices.interfaces[$1].state", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/acpi(@index)?$`), "domain.devices.interfaces[$1].acpiIndex", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/address.*$`), "domain.devices.interfaces[$1].pciAddress", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/driver(@queues)?$`), "domain.devices.networkInterfaceMultiqueue", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/vlan.*$`), "networks[$1].vlan", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/boot(@order)?$`), "domain.devices.interfaces[$1].bootOrder", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/source.*$|^devices/interface\[([^]]*)\]@type$`), "networks[$1$2]", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]$`), "domain.devices.interfaces[$1]", false},
	{regexp.MustCompile(`^devices/rng.*$`), "domain.devices.rng", false},
	{regexp.MustCompile(`^devices/filesystem\[([^]]*)\]/source.*$`), "volumes[$1]", false},
	{regexp.MustCompile(`^devices/filesystem\[([^]]*)\].*$`), "domain.devices.filesystems[$1]", false},
	{regexp.MustCompile(`^devices/hostdev\[([^]]*)\].*$`), "domain.devices.hostDevices[$1]", false},
	{regexp.MustCompile(`^devices/input\[([^]]*)\].*$`), "domain.devices.inputs[$1]", false},
	{regexp.MustCompile(`^devices/(watchdog|sound|tpm)(?:\[[^]]*\])?.*$`), "domain.devices.$1", false},
	{regexp.MustCompile(`^devices/panic.*$`), "domain.devices.panicDevices", false},
	{regexp.MustCompile(`^devices/vsock.*$`), "domain.devices.autoattachVSOCK", false},
	{regexp.MustCompile(`^devices/memballoon.*$`), "domain.devices.autoattachMemBalloon", false},
	{regexp.MustCompile(`^devices/graphics.*$`), "domain.devices.autoattachGraphicsDevice", false},
	{regexp.MustCompile(`^devices/video.*$`), "domain.devices.video", false},
}

// fields says changes of XML in the words of the documents. Several that come from one field become one.
func fields(changes []domxml.Change) []Change {
	if len(changes) == 0 {
		return nil
	}
	topology := slices.ContainsFunc(changes, func(c domxml.Change) bool { return strings.HasPrefix(c.Path, "cpu/topology") })
	var list []Change
	for _, c := range changes {
		if c.Path == "vcpu" && topology {
			continue // the product of the topology
		}
		change := Change{Path: "domainXML:" + c.Path, From: c.From, To: c.To}
		for _, f := range fieldTable {
			if !f.xml.MatchString(c.Path) {
				continue
			}
			change.Path = f.xml.ReplaceAllString(c.Path, f.spec)
			if f.amount {
				change.From, change.To = kib(strings.TrimSuffix(c.From, " KiB")), kib(strings.TrimSuffix(c.To, " KiB"))
			}
			break
		}
		if !slices.ContainsFunc(list, func(o Change) bool { return o.Path == change.Path }) {
			list = append(list, change)
		}
	}
	return list
}
