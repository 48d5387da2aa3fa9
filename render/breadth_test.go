package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// base is what the examples change.
const base = `
domain:
  cpu: {cores: 2}
  memory: {guest: 1Gi}
  firmware: {bootloader: {efi: {}}, kernelBoot: {container: {image: registry.example/a, kernelPath: /k}}}
  features: {hyperv: {}}
  devices:
    disks: [{name: root}, {name: cd, cdrom: {}}, {name: lun, lun: {}}]
    interfaces: [{name: lan}, {name: net}, {name: tap}, {name: vf}]
    filesystems: [{name: folder, virtiofs: {}}]
    gpus: [{name: gpu, deviceName: example.com/gpu}]
    hostDevices: [{name: usb, deviceName: example.com/usb}]
    sound: {name: audio}
    watchdog: {name: dog, i6300esb: {}}
    autoattachGraphicsDevice: true
networks: [{name: lan, bridge: br0}, {name: net, libvirt: {network: default}}, {name: tap, direct: {dev: eth0}}, {name: vf, pci: "0000:65:00.1"}]
volumes:
- {name: root, volume: {size: 1Gi, format: raw}}
- {name: cd, hostDisk: {path: /srv/cd.iso, type: Disk}}
- {name: lun, block: {path: /dev/sda}}
- {name: folder, hostPath: {path: /srv/folder}}
`

// examples say each supported field in a way that changes the machine of base. Of two examples the second is compared
// with the first.
var examples = map[string][]string{
	"terminationGracePeriodSeconds":                                 {`terminationGracePeriodSeconds: 1`},
	"domain.chassis.asset":                                          {`domain: {chassis: {asset: a}}`},
	"domain.chassis.manufacturer":                                   {`domain: {chassis: {manufacturer: a}}`},
	"domain.chassis.serial":                                         {`domain: {chassis: {serial: a}}`},
	"domain.chassis.sku":                                            {`domain: {chassis: {sku: a}}`},
	"domain.chassis.version":                                        {`domain: {chassis: {version: a}}`},
	"domain.clock.timer.hpet.present":                               {`domain: {clock: {timer: {hpet: {}}}}`, `domain: {clock: {timer: {hpet: {present: false}}}}`},
	"domain.clock.timer.hpet.tickPolicy":                            {`domain: {clock: {timer: {hpet: {}}}}`, `domain: {clock: {timer: {hpet: {tickPolicy: delay}}}}`},
	"domain.clock.timer.hyperv.present":                             {`domain: {clock: {timer: {hyperv: {}}}}`, `domain: {clock: {timer: {hyperv: {present: false}}}}`},
	"domain.clock.timer.kvm.present":                                {`domain: {clock: {timer: {kvm: {}}}}`, `domain: {clock: {timer: {kvm: {present: false}}}}`},
	"domain.clock.timer.pit.present":                                {`domain: {clock: {timer: {pit: {}}}}`, `domain: {clock: {timer: {pit: {present: false}}}}`},
	"domain.clock.timer.pit.tickPolicy":                             {`domain: {clock: {timer: {pit: {}}}}`, `domain: {clock: {timer: {pit: {tickPolicy: delay}}}}`},
	"domain.clock.timer.rtc.present":                                {`domain: {clock: {timer: {rtc: {}}}}`, `domain: {clock: {timer: {rtc: {present: false}}}}`},
	"domain.clock.timer.rtc.tickPolicy":                             {`domain: {clock: {timer: {rtc: {}}}}`, `domain: {clock: {timer: {rtc: {tickPolicy: catchup}}}}`},
	"domain.clock.timer.rtc.track":                                  {`domain: {clock: {timer: {rtc: {}}}}`, `domain: {clock: {timer: {rtc: {track: wall}}}}`},
	"domain.clock.timezone":                                         {`domain: {clock: {timezone: Europe/Berlin}}`},
	"domain.clock.utc.offsetSeconds":                                {`domain: {clock: {utc: {}}}`, `domain: {clock: {utc: {offsetSeconds: 60}}}`},
	"domain.cpu.cores":                                              {`domain: {cpu: {cores: 4}}`},
	"domain.cpu.dedicatedCpuPlacement":                              {`domain: {cpu: {dedicatedCpuPlacement: true}}`},
	"domain.cpu.isolateEmulatorThread":                              {`domain: {cpu: {dedicatedCpuPlacement: true}}`, `domain: {cpu: {dedicatedCpuPlacement: true, isolateEmulatorThread: true}}`},
	"domain.cpu.features[].name":                                    {`domain: {cpu: {features: [{name: vmx}]}}`},
	"domain.cpu.features[].policy":                                  {`domain: {cpu: {features: [{name: vmx}]}}`, `domain: {cpu: {features: [{name: vmx, policy: forbid}]}}`},
	"domain.cpu.maxSockets":                                         {`domain: {cpu: {maxSockets: 4}}`},
	"domain.cpu.model":                                              {`domain: {cpu: {model: Nehalem}}`},
	"domain.cpu.sockets":                                            {`domain: {cpu: {sockets: 2}}`},
	"domain.cpu.threads":                                            {`domain: {cpu: {threads: 2}}`},
	"domain.features.acpi.enabled":                                  {`domain: {features: {acpi: {enabled: false}}}`},
	"domain.features.apic.enabled":                                  {`domain: {features: {apic: {enabled: false}}}`},
	"domain.features.apic.endOfInterrupt":                           {`domain: {features: {apic: {endOfInterrupt: true}}}`},
	"domain.features.hyperv.evmcs.enabled":                          hyperv("evmcs", "enabled: false"),
	"domain.features.hyperv.frequencies.enabled":                    hyperv("frequencies", "enabled: false"),
	"domain.features.hyperv.ipi.enabled":                            hyperv("ipi", "enabled: false"),
	"domain.features.hyperv.reenlightenment.enabled":                hyperv("reenlightenment", "enabled: false"),
	"domain.features.hyperv.relaxed.enabled":                        hyperv("relaxed", "enabled: false"),
	"domain.features.hyperv.reset.enabled":                          hyperv("reset", "enabled: false"),
	"domain.features.hyperv.runtime.enabled":                        hyperv("runtime", "enabled: false"),
	"domain.features.hyperv.spinlocks.enabled":                      hyperv("spinlocks", "enabled: false"),
	"domain.features.hyperv.spinlocks.spinlocks":                    hyperv("spinlocks", "spinlocks: 8191"),
	"domain.features.hyperv.synic.enabled":                          hyperv("synic", "enabled: false"),
	"domain.features.hyperv.synictimer.direct.enabled":              hyperv("synictimer", "direct: {enabled: false}"),
	"domain.features.hyperv.synictimer.enabled":                     hyperv("synictimer", "enabled: false"),
	"domain.features.hyperv.tlbflush.enabled":                       hyperv("tlbflush", "enabled: false"),
	"domain.features.hyperv.vapic.enabled":                          hyperv("vapic", "enabled: false"),
	"domain.features.hyperv.vendorid.enabled":                       hyperv("vendorid", "enabled: false"),
	"domain.features.hyperv.vendorid.vendorid":                      hyperv("vendorid", "vendorid: me"),
	"domain.features.hyperv.vpindex.enabled":                        hyperv("vpindex", "enabled: false"),
	"domain.features.hypervPassthrough.enabled":                     {`domain: {features: {hypervPassthrough: {enabled: false}, hyperv: null}}`, `domain: {features: {hypervPassthrough: {enabled: true}, hyperv: null}}`},
	"domain.features.kvm.hidden":                                    {`domain: {features: {kvm: {hidden: true}}}`},
	"domain.features.pvspinlock.enabled":                            {`domain: {features: {pvspinlock: {enabled: false}}}`},
	"domain.features.smm.enabled":                                   {`domain: {firmware: {bootloader: {bios: {}}}, features: {smm: {}}}`, `domain: {firmware: {bootloader: {bios: {}}}, features: {smm: {enabled: false}}}`},
	"domain.firmware.bootloader.bios.useSerial":                     {`domain: {firmware: {bootloader: {bios: {}}}}`, `domain: {firmware: {bootloader: {bios: {useSerial: true}}}}`},
	"domain.firmware.bootloader.efi.secureBoot":                     {`domain: {firmware: {bootloader: {efi: {secureBoot: false}}}}`},
	"domain.firmware.kernelBoot.container.image":                    {`domain: {firmware: {kernelBoot: {container: {image: registry.example/b}}}}`},
	"domain.firmware.kernelBoot.container.initrdPath":               {`domain: {firmware: {kernelBoot: {container: {initrdPath: /i}}}}`},
	"domain.firmware.kernelBoot.container.kernelPath":               {`domain: {firmware: {kernelBoot: {container: {kernelPath: /other/k}}}}`},
	"domain.firmware.kernelBoot.kernelArgs":                         {`domain: {firmware: {kernelBoot: {kernelArgs: quiet}}}`},
	"domain.firmware.serial":                                        {`domain: {firmware: {serial: S}}`},
	"domain.firmware.uuid":                                          {`domain: {firmware: {uuid: 6a1a24a1-4061-4607-8bf4-a3963d0c5895}}`},
	"domain.ioThreads.supplementalPoolThreadCount":                  {`domain: {ioThreadsPolicy: supplementalPool, ioThreads: {supplementalPoolThreadCount: 1}}`, `domain: {ioThreadsPolicy: supplementalPool, ioThreads: {supplementalPoolThreadCount: 2}}`},
	"domain.ioThreadsPolicy":                                        {`domain: {ioThreadsPolicy: shared}`},
	"domain.machine.type":                                           {`domain: {machine: {type: pc-q35-7.2}}`},
	"domain.memory.guest":                                           {`domain: {memory: {guest: 2Gi}}`},
	"domain.memory.hugepages.pageSize":                              {`domain: {memory: {hugepages: {pageSize: 2Mi}}}`},
	"domain.memory.maxGuest":                                        {`domain: {memory: {maxGuest: 2Gi}}`},
	"domain.resources.limits":                                       {`domain: {cpu: {cores: null}}`, `domain: {cpu: {cores: null}, resources: {limits: {cpu: 3}}}`},
	"domain.resources.requests":                                     {`domain: {memory: {guest: null}, resources: {requests: {memory: 1Gi}}}`, `domain: {memory: {guest: null}, resources: {requests: {memory: 3Gi}}}`},
	"domain.devices.autoattachGraphicsDevice":                       {`domain: {devices: {autoattachGraphicsDevice: false}}`},
	"domain.devices.autoattachGuestAgent":                           {`domain: {devices: {autoattachGuestAgent: false}}`},
	"domain.devices.autoattachInputDevice":                          {`domain: {devices: {autoattachInputDevice: true}}`},
	"domain.devices.autoattachMemBalloon":                           {`domain: {devices: {autoattachMemBalloon: false}}`},
	"domain.devices.autoattachSerialConsole":                        {`domain: {devices: {autoattachSerialConsole: false}}`},
	"domain.devices.autoattachVSOCK":                                {`domain: {devices: {autoattachVSOCK: true}}`},
	"domain.devices.blockMultiQueue":                                {`domain: {devices: {blockMultiQueue: true}}`},
	"domain.devices.disableHotplug":                                 {`domain: {devices: {disableHotplug: true}}`},
	"domain.devices.disks[].blockSize.custom.logical":               disk("root", "blockSize: {custom: {logical: 512, physical: 4096}}", "blockSize: {custom: {logical: 4096, physical: 4096}}"),
	"domain.devices.disks[].blockSize.custom.physical":              disk("root", "blockSize: {custom: {logical: 512, physical: 512}}", "blockSize: {custom: {logical: 512, physical: 4096}}"),
	"domain.devices.disks[].bootOrder":                              disk("root", "bootOrder: 1"),
	"domain.devices.disks[].cache":                                  disk("root", "cache: none"),
	"domain.devices.disks[].cdrom.bus":                              disk("cd", "cdrom: {bus: usb}"),
	"domain.devices.disks[].cdrom.tray":                             disk("cd", "cdrom: {tray: open}"),
	"domain.devices.disks[].dedicatedIOThread":                      disk("root", "dedicatedIOThread: true"),
	"domain.devices.disks[].disk.bus":                               disk("root", "disk: {bus: sata}"),
	"domain.devices.disks[].disk.pciAddress":                        disk("root", `disk: {pciAddress: "0000:04:00.0"}`),
	"domain.devices.disks[].disk.readonly":                          disk("root", "disk: {readonly: true}"),
	"domain.devices.disks[].errorPolicy":                            disk("root", "errorPolicy: stop"),
	"domain.devices.disks[].io":                                     disk("root", "cache: none", "cache: none, io: threads"),
	"domain.devices.disks[].lun.readonly":                           disk("lun", "lun: {readonly: true}"),
	"domain.devices.disks[].lun.reservation":                        disk("lun", "lun: {reservation: true}"),
	"domain.devices.disks[].name":                                   {`{domain: {devices: {disks: [{name: more}]}}, volumes: [{name: more, emptyDisk: {capacity: 1Gi}}]}`},
	"domain.devices.disks[].serial":                                 disk("root", "serial: S"),
	"domain.devices.disks[].shareable":                              disk("root", "shareable: true"),
	"domain.devices.filesystems[].name":                             {`{domain: {devices: {filesystems: [{name: more, virtiofs: {}}]}}, volumes: [{name: more, hostPath: {path: /srv/more}}]}`},
	"domain.devices.filesystems[].virtiofs":                         {`{domain: {devices: {filesystems: [{name: more, virtiofs: {}}]}}, volumes: [{name: more, hostPath: {path: /srv/more}}]}`},
	"domain.devices.gpus[].name":                                    {`domain: {devices: {gpus: [{name: vgpu, deviceName: d}]}}`},
	"domain.devices.gpus[].virtualGPUOptions.display.enabled":       vgpu("{}", "{enabled: false}"),
	"domain.devices.gpus[].virtualGPUOptions.display.ramFB.enabled": vgpu("{ramFB: {enabled: false}}", "{ramFB: {enabled: true}}"),
	"domain.devices.hostDevices[].name":                             {`domain: {devices: {hostDevices: [{name: vgpu, deviceName: d}]}}`},
	"domain.devices.inputs[].bus":                                   {`domain: {devices: {inputs: [{name: t, type: tablet}]}}`, `domain: {devices: {inputs: [{name: t, type: tablet, bus: virtio}]}}`},
	"domain.devices.inputs[].name":                                  {`domain: {devices: {inputs: [{name: more, type: tablet}]}}`},
	"domain.devices.inputs[].type":                                  {`domain: {devices: {inputs: [{name: t, type: tablet}]}}`, `domain: {devices: {inputs: [{name: t, type: keyboard}]}}`},
	"domain.devices.interfaces[].addresses":                         {seeded(""), seeded(", addresses: [192.0.2.1/24]")},
	"domain.devices.interfaces[].acpiIndex":                         nic("lan", "acpiIndex: 1"),
	"domain.devices.interfaces[].bootOrder":                         nic("lan", "bootOrder: 1"),
	"domain.devices.interfaces[].macAddress":                        nic("lan", `macAddress: "52:54:00:00:00:01"`),
	"domain.devices.interfaces[].model":                             nic("lan", "model: e1000e"),
	"domain.devices.interfaces[].name":                              {`{domain: {devices: {interfaces: [{name: more}]}}, networks: [{name: more, user: {}}]}`},
	"domain.devices.interfaces[].pciAddress":                        nic("lan", `pciAddress: "0000:04:00.0"`),
	"domain.devices.interfaces[].state":                             nic("lan", "state: absent"),
	"domain.devices.networkInterfaceMultiqueue":                     {`domain: {devices: {networkInterfaceMultiqueue: true}}`},
	"domain.devices.panicDevices[].model":                           {`domain: {devices: {panicDevices: [{}]}}`, `domain: {devices: {panicDevices: [{model: hyperv}]}}`},
	"domain.devices.rng":                                            {`domain: {devices: {rng: {}}}`},
	"domain.devices.sound.model":                                    {`domain: {devices: {sound: {model: ac97}}}`},
	"domain.devices.sound.name":                                     {`domain: {devices: {sound: {name: other}}}`},
	"domain.devices.tpm.enabled":                                    {`domain: {devices: {tpm: {}}}`, `domain: {devices: {tpm: {enabled: false}}}`},
	"domain.devices.tpm.persistent":                                 {`domain: {devices: {tpm: {}}}`, `domain: {devices: {tpm: {persistent: true}}}`},
	"domain.devices.useVirtioTransitional":                          {`domain: {devices: {useVirtioTransitional: true}}`},
	"domain.devices.video.type":                                     {`domain: {devices: {video: {type: virtio}}}`},
	"domain.devices.watchdog.i6300esb.action":                       {`domain: {devices: {watchdog: {i6300esb: {action: shutdown}}}}`},
	"domain.devices.watchdog.name":                                  {`domain: {devices: {watchdog: {name: other}}}`},
	"networks":                                                      {`networks: [{name: lan, bridge: br1, vlan: 3}]`},
	"secrets":                                                       {"secrets: [{name: s, secretRef: {hostFile: a}}]\n      domainXML: \"<domain><devices><graphics type='vnc' passwd='secret:s'/></devices></domain>\""},
	"volumes":                                                       {`volumes: [{name: lun, block: {path: /dev/sdb}}]`},
	"domainXML":                                                     {`domainXML: "<domain><title>t</title></domain>"`},
	"domainXMLFrom":                                                 {`domainXMLFrom: own.xml`},
}

// asked is why a probe changes nothing of the machine.
const asked = "it is what the agent asks of the guest: TestReadiness has it"

// same are the supported fields that change nothing of the machine, with the reason.
var same = map[string]struct{ example, why string }{
	"architecture": {`architecture: amd64`, "it has one value"},
	"domain.firmware.bootloader.efi.persistent":  {`domain: {firmware: {bootloader: {efi: {persistent: true}}}}`, "a machine keeps its NVRAM; false is refused"},
	"domain.devices.autoattachPodInterface":      {`domain: {devices: {autoattachPodInterface: false}}`, "no interface is added that the template does not have; true is refused where there is none"},
	"domain.devices.disks[].cdrom.readonly":      {disk("cd", "cdrom: {readonly: true}")[0], "a cdrom is never written to; false is a warning"},
	"domain.devices.disks[].lun.bus":             {disk("lun", "lun: {bus: scsi}")[0], "a LUN is on no other bus"},
	"domain.devices.gpus[].deviceName":           {`domain: {devices: {gpus: [{name: gpu, deviceName: other}]}}`, "a Host says what it is"},
	"domain.devices.hostDevices[].deviceName":    {`domain: {devices: {hostDevices: [{name: usb, deviceName: other}]}}`, "a Host says what it is"},
	"domain.devices.interfaces[].bridge":         {nic("lan", "bridge: {}")[0], "the network says what it is; a binding that does not fit is refused"},
	"domain.devices.interfaces[].macvtap":        {nic("tap", "macvtap: {}")[0], "as bridge"},
	"domain.devices.interfaces[].masquerade":     {nic("net", "masquerade: {}")[0], "as bridge"},
	"domain.devices.interfaces[].sriov":          {nic("vf", "sriov: {}")[0], "as bridge"},
	"readinessProbe.exec.command":                {`readinessProbe: {exec: {command: [a]}}`, asked},
	"readinessProbe.failureThreshold":            {`readinessProbe: {guestAgentPing: {}, failureThreshold: 4}`, asked},
	"readinessProbe.guestAgentPing":              {`readinessProbe: {guestAgentPing: {}}`, asked},
	"readinessProbe.httpGet.host":                {`readinessProbe: {httpGet: {port: 1, host: a}}`, asked},
	"readinessProbe.httpGet.httpHeaders[].name":  {`readinessProbe: {httpGet: {port: 1, httpHeaders: [{name: a, value: b}]}}`, asked},
	"readinessProbe.httpGet.httpHeaders[].value": {`readinessProbe: {httpGet: {port: 1, httpHeaders: [{name: a, value: b}]}}`, asked},
	"readinessProbe.httpGet.path":                {`readinessProbe: {httpGet: {port: 1, path: /a}}`, asked},
	"readinessProbe.httpGet.port":                {`readinessProbe: {httpGet: {port: 1}}`, asked},
	"readinessProbe.httpGet.scheme":              {`readinessProbe: {httpGet: {port: 1, scheme: HTTPS}}`, asked},
	"readinessProbe.initialDelaySeconds":         {`readinessProbe: {guestAgentPing: {}, initialDelaySeconds: 4}`, asked},
	"readinessProbe.periodSeconds":               {`readinessProbe: {guestAgentPing: {}, periodSeconds: 4}`, asked},
	"readinessProbe.successThreshold":            {`readinessProbe: {guestAgentPing: {}, successThreshold: 4}`, asked},
	"readinessProbe.tcpSocket.host":              {`readinessProbe: {tcpSocket: {port: 1, host: a}}`, asked},
	"readinessProbe.tcpSocket.port":              {`readinessProbe: {tcpSocket: {port: 1}}`, asked},
	"readinessProbe.timeoutSeconds":              {`readinessProbe: {guestAgentPing: {}, timeoutSeconds: 4}`, asked},
}

func hyperv(feature, off string) []string {
	return []string{`domain: {features: {hyperv: {` + feature + `: {}}}}`, `domain: {features: {hyperv: {` + feature + `: {` + off + `}}}}`}
}

func disk(name string, says ...string) []string { return listed("disks", name, says) }

func nic(name string, says ...string) []string { return listed("interfaces", name, says) }

func vgpu(displays ...string) []string {
	for i, d := range displays {
		displays[i] = "deviceName: d, virtualGPUOptions: {display: " + d + "}"
	}
	return listed("gpus", "vgpu", displays)
}

func listed(list, name string, says []string) []string {
	var out []string
	for _, s := range says {
		out = append(out, `domain: {devices: {`+list+`: [{name: `+name+`, `+s+`}]}}`)
	}
	return out
}

// TestEveryFieldIsRendered holds that no field is accepted and not heeded: each changes the machine, or is in the list of
// those that need not.
func TestEveryFieldIsRendered(t *testing.T) {
	for _, row := range manifest.Supported() {
		t.Run(row, func(t *testing.T) {
			example, changes := examples[row]
			if exception, ok := same[row]; ok == changes {
				t.Fatalf("it has an example: %v, it is an exception: %v; want one of them", changes, ok)
			} else if ok {
				example = []string{exception.example}
			}
			before, after := "{}", example[len(example)-1]
			if len(example) == 2 {
				before = example[0]
			}
			says := strings.Split(strings.ReplaceAll(row, "[]", ""), ".")
			if name := says[len(says)-1]; !strings.Contains(after, name+":") {
				t.Fatalf("the example %s does not say %s", after, name)
			}
			if a, b := machine(t, before), machine(t, after); (a.Digest != b.Digest) != changes {
				t.Errorf("%s instead of %s: the machine changes: %v\n%s", after, before, !changes, b.Domain)
			}
		})
	}
	for row := range examples {
		if !slices.Contains(manifest.Supported(), row) {
			t.Errorf("%s has an example, and is not supported", row)
		}
	}
}

// seeded is a machine with a seed, which has the addresses.
func seeded(addresses string) string {
	return "domain: {devices: {disks: [{name: init, cdrom: {}}], interfaces: [{name: lan" + addresses + "}]}}\n" +
		"      volumes: [{name: init, cloudInitNoCloud: {userData: \"#cloud-config\"}}]"
}

// machine is base with a config's words over it.
func machine(t *testing.T, says string) *render.Instance {
	t.Helper()
	indent := func(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }
	text := "apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineFlavour\nmetadata: {name: base}\nspec:" + indent(base) +
		"\n---\napiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: m}\nspec:\n  flavour: base\n  template:\n    spec:\n      " + says + "\n"
	own := func(string) ([]byte, bool) { return []byte("<domain><title>t</title></domain>"), true }
	set := manifest.Collect([]manifest.File{manifest.Read("m.yaml", []byte(text))}, own)
	in := render.Input{Config: set.Configs["m"], Flavour: set.Flavours["base"], RunState: &manifest.RunState{}, CPUs: []int{2, 3, 4, 5, 6, 7, 8, 9, 10}, Text: own,
		Devices: map[string]manifest.HostDevice{"gpu": {PCI: "0000:01:00.0"}, "usb": {USB: "1a86:7523"},
			"vgpu": {MDev: "6a1a24a1-4061-4607-8bf4-a3963d0c5895"}}}
	if len(set.Problems) > 0 {
		t.Fatalf("%s: %v", says, set.Problems)
	}
	i, problems := render.Complete(in, render.Options{})
	if len(problems) > 0 {
		t.Fatalf("%s: %v", says, problems)
	}
	return i
}
