package plan

import "regexp"

// A row says where a part of the domain's XML comes from in a template's spec, in KubeVirt's words, and how a change of it
// reaches a machine that runs.
type row struct {
	xml *regexp.Regexp
	// spec is empty for what only domainXML can say.
	spec string
	// effect is the best that there is: EffectLive where libvirt can change the running machine, EffectNextStart where
	// the guest meets it only when it starts, EffectRestart where a running machine stays behind until it is restarted,
	// EffectRebuild where the guest meets it once its disks are
	// made anew, EffectBlocked where a machine that is there can never have it.
	effect Effect
	// about is what a person has to know: under what conditions, or what to do instead.
	about string
	kib   bool // a number of KiB
}

func of(xml, spec string, effect Effect, about string) row {
	return row{xml: regexp.MustCompile(xml), spec: spec, effect: effect, about: about}
}

func amount(xml, spec string, effect Effect, about string) row {
	r := of(xml, spec, effect, about)
	r.kib = true
	return r
}

const (
	anyDisk   = `^devices/disk\[([^]]*)\]`
	anyNIC    = `^devices/interface\[([^]]*)\]`
	diskIs    = "domain.devices.disks[$1]"
	nicIs     = "domain.devices.interfaces[$1]"
	plugged   = "with a place for it: a machine has four spare PCIe ports when it is made"
	refusable = "a guest may refuse to give it up: then it goes at the next start"
)

// rows are in order: the first that matches counts. What matches none needs a restart, and is shown as domainXML's.
// Sources: the "live" operations of libvirt's domain API (virDomainSetMemoryFlags, virDomainSetVcpusFlags,
// virDomainUpdateDeviceFlags, virDomainAttachDeviceFlags, virDomainSetBlockIoTune, virDomainSetMetadata), and what QEMU
// was seen to do.
var rows = []row{
	of(`^(title|description)$`, "", EffectLive, ""),
	of(`^metadata.*$`, "", EffectNextStart, "other programs' words; the guest does not see them"),
	of(`^secrets\[([^]]*)\].*$`, "secrets[$1]", EffectRestart, "libvirt has the new value at once, and QEMU is given it when it starts; a password of a screen is changed while the machine runs"),
	of(`^uuid$`, "domain.firmware.uuid", EffectBlocked, "a machine keeps the UUID that it was made with; make a machine of another name for another UUID"),
	amount(`^memory$`, "domain.memory.maxGuest", EffectRestart, ""),
	amount(`^currentMemory$`, "domain.memory.guest", EffectLive, "up to maxGuest, by the guest's balloon driver"),
	of(`^memoryBacking/hugepages.*$`, "domain.memory.hugepages", EffectRestart, ""),
	of(`^vcpu@current$`, "domain.cpu.sockets", EffectLive, "up to maxSockets; down only as far as the guest gives up CPUs that it was given while it ran, and without KVM only when it starts"),
	of(`^vcpu$`, "domain.cpu", EffectRestart, ""),
	of(`^cpu/topology@(sockets|cores|threads)$`, "domain.cpu.$1", EffectRestart, ""),
	of(`^cpu(@mode|/model)$`, "domain.cpu.model", EffectRestart, ""),
	of(`^cpu/feature\[([^]]*)\].*$`, "domain.cpu.features[$1]", EffectRestart, ""),
	of(`^cputune/(vcpupin|emulatorpin).*$`, "domain.cpu.dedicatedCpuPlacement", EffectRestart, ""),
	of(`^iothreads$`, "domain.ioThreadsPolicy", EffectRestart, ""),
	of(`^os/type@arch$`, "architecture", EffectBlocked, "make a machine of another name"),
	of(`^os/type@machine$`, "domain.machine.type", EffectRestart, "to another version; from q35 to pc or back not at all, as every device would move: make a machine of another name"),
	of(`^os@firmware$|^os/(firmware|loader|nvram).*`, "domain.firmware.bootloader.efi", EffectRestart, ""),
	of(`^os/bios@useserial$`, "domain.firmware.bootloader.bios.useSerial", EffectRestart, ""),
	of(`^os/(kernel|initrd)$`, "domain.firmware.kernelBoot.container", EffectNextStart, ""),
	of(`^os/cmdline$`, "domain.firmware.kernelBoot.kernelArgs", EffectNextStart, ""),
	of(`^os/(boot|bootmenu).*$`, "", EffectNextStart, ""),
	of(`^sysinfo\[fwcfg\].*$`, "volumes", EffectRebuild, "Ignition looks at its configuration when a machine boots for the first time"),
	of(`^sysinfo(?:\[smbios\])?/system/entry\[serial\]$`, "domain.firmware.serial", EffectRestart, ""),
	of(`^sysinfo(?:\[smbios\])?/chassis/entry\[([a-z]+)\]$`, "domain.chassis.$1", EffectRestart, ""),
	of(`^clock/timer\[kvmclock\].*$`, "domain.clock.timer.kvm", EffectRestart, ""),
	of(`^clock/timer\[hypervclock\].*$`, "domain.clock.timer.hyperv", EffectRestart, ""),
	of(`^clock/timer\[([a-z]+)\].*$`, "domain.clock.timer.$1", EffectRestart, ""),
	of(`^clock@(offset|adjustment|basis|timezone)$`, "domain.clock", EffectRestart, ""),
	of(`^features/([a-z_]+)(@state)?$`, "domain.features.$1", EffectRestart, ""),
	of(`^features/hyperv/([a-z_]+)(@state)?$`, "domain.features.hyperv.$1", EffectRestart, ""),

	of(anyDisk+`/target@bus$`, diskIs+".bus", EffectRestart, ""),
	of(anyDisk+`/driver@cache$`, diskIs+".cache", EffectRestart, ""),
	of(anyDisk+`/driver@io$`, diskIs+".io", EffectRestart, ""),
	of(anyDisk+`/driver@error_policy$`, diskIs+".errorPolicy", EffectRestart, ""),
	of(anyDisk+`/driver@iothread$`, diskIs+".dedicatedIOThread", EffectRestart, ""),
	of(anyDisk+`/driver@queues$`, "domain.devices.blockMultiQueue", EffectRestart, ""),
	of(anyDisk+`/blockio.*$`, diskIs+".blockSize", EffectRestart, ""),
	of(anyDisk+`/address.*$`, diskIs+".disk.pciAddress", EffectRestart, ""),
	of(anyDisk+`/target@tray$`, diskIs+".cdrom.tray", EffectRestart, "the guest opens and closes it"),
	of(anyDisk+`/shareable$`, diskIs+".shareable", EffectRestart, ""),
	of(anyDisk+`/source/reservations.*$`, diskIs+".lun.reservation", EffectRestart, ""),
	of(`^devices/(?:disk|interface|memballoon)[^/]*@model$`, "domain.devices.useVirtioTransitional", EffectRestart, ""),
	of(anyDisk+`/boot(?:@order)?$`, diskIs+".bootOrder", EffectNextStart, ""),
	of(anyDisk+`/(serial|readonly)$`, diskIs+".$2", EffectRestart, ""),
	of(anyDisk+`/iotune(/.*)?$`, "", EffectLive, "the limits of one disk"),
	of(anyDisk+`/(?:source.*|driver@type)$|`+anyDisk+`@type$`, "volumes[$1$2]", EffectLive, "the medium of a cdrom; another volume for a disk needs a restart; a cloud-init seed waits for a rebuild, or under cloudInitPolicy: EveryRun for the next start"),
	of(`^volumes\[([^]]*)\]\.size$`, "volumes[$1].size", EffectLive, "a disk grows; it never shrinks"),
	of(anyDisk+`$`, diskIs, EffectLive, "on virtio, scsi and usb, "+plugged+"; "+refusable),

	of(anyNIC+`/model@type$`, nicIs+".model", EffectRestart, ""),
	of(anyNIC+`/mac@address$`, nicIs+".macAddress", EffectRestart, ""),
	of(anyNIC+`/link(@state)?$`, nicIs+".state", EffectLive, ""),
	of(anyNIC+`/acpi(@index)?$`, nicIs+".acpiIndex", EffectRestart, ""),
	of(anyNIC+`/address.*$`, nicIs+".pciAddress", EffectRestart, ""),
	of(anyNIC+`/driver(@queues)?$`, "domain.devices.networkInterfaceMultiqueue", EffectRestart, ""),
	of(anyNIC+`/boot(?:@order)?$`, nicIs+".bootOrder", EffectNextStart, ""),
	of(anyNIC+`/(?:bandwidth|filterref)(/.*|@.*|\[.*)?$`, "", EffectLive, "not on QEMU's user network"),
	of(anyNIC+`/vlan.*$`, "networks[$1].vlan", EffectRestart, ""),
	of(anyNIC+`/source.*$|`+anyNIC+`@type$`, "networks[$1$2]", EffectLive, "between libvirt networks and bridges; to or from macvtap, a host's device or QEMU's user network it needs a restart"),
	of(anyNIC+`$`, nicIs, EffectLive, plugged+"; "+refusable),

	of(`^devices/rng$`, "domain.devices.rng", EffectLive, plugged+"; "+refusable),
	of(`^devices/rng.*$`, "domain.devices.rng", EffectRestart, ""),
	of(`^devices/filesystem\[([^]]*)\]/source.*$`, "volumes[$1]", EffectRestart, ""),
	of(`^devices/filesystem\[([^]]*)\].*$`, "domain.devices.filesystems[$1]", EffectRestart, ""),
	of(`^devices/hostdev\[([^]]*)\]$`, "domain.devices.hostDevices[$1]", EffectLive, plugged+"; "+refusable),
	of(`^devices/hostdev\[([^]]*)\].*$`, "domain.devices.hostDevices[$1]", EffectRestart, ""),
	of(`^devices/input\[([^]]*)\]$`, "domain.devices.inputs[$1]", EffectLive, "on usb and virtio; "+refusable),
	of(`^devices/input\[([^]]*)\].*$`, "domain.devices.inputs[$1]", EffectRestart, ""),
	of(`^devices/watchdog.*$`, "domain.devices.watchdog", EffectRestart, ""),
	of(`^devices/sound.*$`, "domain.devices.sound", EffectRestart, ""),
	of(`^devices/tpm.*$`, "domain.devices.tpm", EffectRestart, ""),
	of(`^devices/panic.*$`, "domain.devices.panicDevices", EffectRestart, ""),
	of(`^devices/vsock.*$`, "domain.devices.autoattachVSOCK", EffectRestart, ""),
	of(`^devices/memballoon.*$`, "domain.devices.autoattachMemBalloon", EffectRestart, ""),
	of(`^devices/graphics[^/]*@passwd(ValidTo)?$`, "", EffectLive, ""),
	of(`^devices/graphics.*$`, "domain.devices.autoattachGraphicsDevice", EffectRestart, ""),
	of(`^devices/video.*$`, "domain.devices.video", EffectRestart, ""),
	of(`^devices/channel\[org\.qemu\.guest_agent\.0\].*$`, "domain.devices.autoattachGuestAgent", EffectRestart, ""),
	of(`^devices/(?:serial|console).*$`, "domain.devices.autoattachSerialConsole", EffectRestart, ""),
	of(`^devices/controller\[(?:scsi|virtio-serial)[^]]*\]$`, "", EffectLive, "of SCSI, when a disk needs it"),
}
