package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValidate checks what only a completed spec can be asked; the goldens cover what a document can be asked by itself.
func TestValidate(t *testing.T) {
	f := Read("f.yaml", []byte(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineFlavour
metadata: {name: f}
spec:
  domain:
    devices:
      disks: [{name: a}, {name: b}]
      interfaces: [{name: lan}, {name: wan}]
  networks: [{name: lan, libvirt: {}}, {name: dmz, bridge: br0}, {name: wan}]
  volumes:
  - {name: a, emptyDisk: {}}
  - {name: c, hostDisk: {}}
  - {name: d, volume: {image: {}}}
  - {name: e, volume: {}}
  - {name: g, cloudInitNoCloud: {}}
  - {name: h}
`))
	if len(f.Problems) > 0 {
		t.Fatalf("a flavour may say half of everything: %v", f.Problems)
	}
	spec, problems := Decode(f.Documents[0].spec())
	var got []string
	for _, p := range append(problems, Validate(spec)...) {
		got = append(got, p.Error())
	}
	want := strings.Split(strings.TrimSpace(`
networks[0].libvirt.network: is missing; say a libvirt network's name
networks[2]: says nothing to take it from; say one of libvirt, bridge, direct, pci, user
volumes[0].emptyDisk.capacity: must be more than 0, such as 10Gi
volumes[1].hostDisk.path: is missing; say the file's path on the host
volumes[1].hostDisk.type: is missing; say Disk (the file is there) or DiskOrCreate
volumes[2].volume.image: says nothing to take it from; say one of path, url, container
volumes[3].volume: has neither a size nor an image; say one
volumes[4].cloudInitNoCloud: has no data; say userData
volumes[5]: says nothing to take it from; say one of volume, containerDisk, emptyDisk, hostDisk, block, hostPath, cloudInitNoCloud, cloudInitConfigDrive, ignition, iso, network
domain.devices.disks[1]: there is no volume of the name "b"; add one to volumes
volumes[1]: no disk has the name "c"; add one to domain.devices.disks
volumes[2]: no disk has the name "d"; add one to domain.devices.disks
volumes[3]: no disk has the name "e"; add one to domain.devices.disks
volumes[4]: no disk has the name "g"; add one to domain.devices.disks
volumes[5]: no disk has the name "h"; add one to domain.devices.disks
networks[1]: no interface has the name "dmz"; add one to domain.devices.interfaces`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeRefuses decodes trees that Read did not make.
func TestDecodeRefuses(t *testing.T) {
	for want, tree := range map[string]Tree{
		"domian: unknown field; did you mean \"domain\"?":                    {"domian": nil},
		"domain: expected a mapping, found 1":                                {"domain": 1},
		"domain.cpu.cores: expected a whole number, found 2":                 {"domain": Tree{"cpu": Tree{"cores": "2"}}},
		"domain.cpu.cores: must be at most 4294967295":                       {"domain": Tree{"cpu": Tree{"cores": int64(1) << 40}}},
		"startStrategy: is not supported; say state: Paused in the RunState": {"startStrategy": "Paused"},
		"volumes: expected a list, found map[string]interface {}":            {"volumes": map[string]any{}},
		"volumes[1].name: expected a string, found []interface {}":           {"volumes": []any{nil, Tree{"name": []any{}}}},
		"domainXML: expected a string, found struct {}":                      {"domainXML": struct{}{}},
	} {
		_, problems := Decode(tree)
		if got := strings.Trim(fmt.Sprint(problems), "[]"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if spec, problems := Decode(nil); spec == nil || len(problems) > 0 {
		t.Errorf("nothing decodes to %v, %v", spec, problems)
	}
}

func TestPublic(t *testing.T) {
	const secret = "hunter2"
	spec := InstanceSpec{
		Volumes: []Volume{{Name: "root", VolumeSource: VolumeSource{EmptyDisk: &EmptyDisk{}}}, {Name: "init", VolumeSource: VolumeSource{CloudInitNoCloud: &CloudInit{
			UserData: secret, UserDataBase64: secret + "b", NetworkData: secret, NetworkDataBase64: secret + "c", MetaData: secret, MetaDataBase64: secret + "d", UserDataFrom: "f"}}},
			{Name: "first", VolumeSource: VolumeSource{Ignition: &Ignition{Config: secret, ConfigBase64: secret + "b", ConfigFrom: "f"}}}},
		DomainXML: `<domain><graphics type='vnc' passwd='hunter2' passwdValidTo='2026-01-01'/><graphics passwd = "hunter2"/></domain>`,
	}
	before := fmt.Sprintf("%+v", *spec.Volumes[1].CloudInitNoCloud)
	got := Public(spec)
	init := *got.Volumes[1].CloudInitNoCloud
	if shown := fmt.Sprintf("%+v %+v %s", init, *got.Volumes[2].Ignition, got.DomainXML); strings.Contains(shown, secret) {
		t.Errorf("the secret shows: %s", shown)
	}
	if init.MetaData != init.UserData || init.UserDataFrom != "f" || got.Volumes[2].Ignition.Config != init.UserData || got.Volumes[2].Ignition.ConfigFrom != "f" {
		t.Errorf("digests: %+v %+v", init, *got.Volumes[2].Ignition)
	}
	if init.UserData != "sha256:f52fbd32b2b3" || init.NetworkData != init.UserData || init.UserDataBase64 == init.UserData {
		t.Errorf("digests: %+v", init)
	}
	if want := `<domain><graphics type='vnc' passwd='sha256:f52fbd32b2b3' passwdValidTo='2026-01-01'/><graphics passwd = "sha256:f52fbd32b2b3"/></domain>`; got.DomainXML != want {
		t.Errorf("domainXML: %s", got.DomainXML)
	}
	if after := fmt.Sprintf("%+v", *spec.Volumes[1].CloudInitNoCloud); before != after || !strings.Contains(spec.DomainXML, secret) {
		t.Error("the spec was changed")
	}
	if empty := Public(InstanceSpec{Volumes: []Volume{{VolumeSource: VolumeSource{CloudInitNoCloud: &CloudInit{}}}}}); *empty.Volumes[0].CloudInitNoCloud != (CloudInit{}) {
		t.Error("nothing has a digest")
	}
}

// TestContradictions are fields whose values are each good and do not go together, or that only a list of values allows.
func TestContradictions(t *testing.T) {
	for name, tt := range map[string]struct{ domain, want string }{
		"spare sockets":    {`{cpu: {sockets: 4, maxSockets: 2}}`, `cpu.maxSockets: is 2, and sockets is 4; say no less than that`},
		"too many CPUs":    {`{cpu: {maxSockets: 20000}}`, `cpu: sockets × cores × threads is more than 16384`},
		"a model":          {`{cpu: {model: "a b"}}`, `cpu.model: "a b" is not the name of a CPU model`},
		"a feature twice":  {`{cpu: {features: [{name: vmx}, {name: vmx}]}}`, `cpu.features[1].name: duplicate feature "vmx"; domain.cpu.features[0] has it too`},
		"a feature":        {`{cpu: {features: [{}]}}`, `cpu.features[0].name: "" is not the name of a CPU feature, such as vmx`},
		"memory":           {`{memory: {guest: 2Gi, maxGuest: 1Gi}}`, `memory.maxGuest: is 1Gi, and guest is 2Gi; say no less than that`},
		"no balloon":       {`{memory: {guest: 1Gi, maxGuest: 2Gi}, devices: {autoattachMemBalloon: false}}`, `memory.maxGuest: needs the balloon, by which a guest grows, and autoattachMemBalloon is false; take one out`},
		"no page size":     {`{memory: {hugepages: {}}}`, `memory.hugepages.pageSize: is missing; say a size that the host has, such as 2Mi or 1Gi`},
		"a page":           {`{memory: {guest: 1025Mi, hugepages: {pageSize: 2Mi}}}`, `memory.hugepages.pageSize: is 2Mi, and the guest's 1025Mi are no multiple of it`},
		"odd pages":        {`{memory: {hugepages: {pageSize: "1000"}}}`, `memory.hugepages.pageSize: must be whole KiB`},
		"no pages":         {`{memory: {hugepages: {pageSize: big}}}`, `memory.hugepages.pageSize: "big" is not a quantity; write a number, or one with a suffix such as Mi, Gi, Ti (of 1024) or M, G, T (of 1000)`},
		"resources":        {`{resources: {requests: {example.com/gpu: 1}}}`, `resources.requests.example.com/gpu: is something that only a Kubernetes cluster gives out; say memory and cpu only`},
		"huge resources":   {`{resources: {limits: {hugepages-2Mi: 1Gi}}}`, `resources.limits.hugepages-2Mi: is not supported; say domain.memory.hugepages`},
		"no CPUs":          {`{resources: {limits: {cpu: 0}}}`, `resources.limits.cpu: must be more than 0, and at most 16384`},
		"a machine":        {`{machine: {type: virt}}`, `machine.type: "virt" is not an x86-64 machine type; say q35, pc, or a versioned name such as pc-q35-7.2`},
		"a serial number":  {`{firmware: {serial: " a"}}`, `firmware.serial: " a" has control characters, or spaces around it; take them out`},
		"a chassis":        {`{chassis: {sku: "a\tb"}}`, `chassis.sku: "a\tb" has control characters, or spaces around it; take them out`},
		"two clocks":       {`{clock: {utc: {}, timezone: UTC}}`, `clock: says utc and timezone; take one out`},
		"a zone":           {`{clock: {timezone: ../etc}}`, `clock.timezone: "../etc" is not a time zone, such as Europe/Berlin`},
		"hyperv twice":     {`{features: {hyperv: {}, hypervPassthrough: {}}}`, `features.hypervPassthrough: cannot be said together with hyperv; take one out`},
		"hyperv's needs":   {`{features: {hyperv: {synic: {}, vpindex: {enabled: false}}}}`, `features.hyperv.synic: needs vpindex, which is off; take one out`},
		"a vendor":         {`{features: {hyperv: {vendorid: {vendorid: thirteenchars}}}}`, `features.hyperv.vendorid.vendorid: "thirteenchars" is not a vendor's ID: at most 12 letters, and no commas`},
		"secure boot":      {`{firmware: {bootloader: {efi: {}}}, features: {smm: {enabled: false}}}`, `firmware.bootloader.efi.secureBoot: needs features.smm, which is off; say secureBoot: false, or take features.smm out`},
		"NVRAM":            {`{firmware: {bootloader: {efi: {persistent: false}}}}`, `firmware.bootloader.efi.persistent: cannot be false: a machine keeps its NVRAM; take it out`},
		"no image":         {`{firmware: {kernelBoot: {kernelArgs: x}}}`, `firmware.kernelBoot.container: is missing; say the image that holds the kernel`},
		"no kernel":        {`{firmware: {kernelBoot: {container: {image: i, initrdPath: /i}}}}`, `firmware.kernelBoot.container.kernelPath: is missing; say the kernel's path in the image, such as /boot/vmlinuz`},
		"a kernel":         {`{firmware: {kernelBoot: {container: {image: i, kernelPath: /../k}}}}`, `firmware.kernelBoot.container.kernelPath: "/../k" is not a path in the image; write it from the root, such as /boot/vmlinuz`},
		"no pool":          {`{ioThreadsPolicy: supplementalPool}`, `ioThreads.supplementalPoolThreadCount: is missing; the policy supplementalPool needs the number of threads`},
		"a pool":           {`{ioThreadsPolicy: auto, ioThreads: {supplementalPoolThreadCount: 2}}`, `ioThreads.supplementalPoolThreadCount: needs ioThreadsPolicy: supplementalPool`},
		"native IO":        {`{devices: {disks: [{name: a, io: native, cache: writeback}]}}`, `devices.disks[0].io: native works only with cache: none; say that, or threads`},
		"a thread":         {`{devices: {disks: [{name: a, disk: {bus: sata}, dedicatedIOThread: true}]}}`, `devices.disks[0].dedicatedIOThread: works only on the virtio bus, and the disk is on sata; take one out`},
		"a LUN's bus":      {`{devices: {disks: [{name: a, lun: {bus: sata}}]}}`, `devices.disks[0].lun.bus: must be scsi: SCSI commands reach the device on no other`},
		"a LUN's blocks":   {`{devices: {disks: [{name: a, lun: {}, blockSize: {custom: {logical: 512, physical: 512}}}]}}`, `devices.disks[0].blockSize: a lun has the block size of its device; take it out`},
		"blocks":           {`{devices: {disks: [{name: a, blockSize: {custom: {logical: 512, physical: 513}}}]}}`, `devices.disks[0].blockSize.custom.physical: 513 is no block size; say a power of two from 512 to 2097152`},
		"large blocks":     {`{devices: {disks: [{name: a, blockSize: {custom: {logical: 4096, physical: 512}}}]}}`, `devices.disks[0].blockSize.custom: logical is more than physical; say it the other way round`},
		"three targets":    {`{devices: {disks: [{name: a, cdrom: {}, lun: {}, disk: {}}]}}`, `devices.disks[0]: says disk and lun and cdrom; take out all but one`},
		"an address":       {`{devices: {disks: [{name: a, disk: {pciAddress: "1"}}]}}`, `devices.disks[0].disk.pciAddress: "1" is not a PCI address; write it as lspci -D does, such as 0000:65:00.1`},
		"no PCI":           {`{devices: {disks: [{name: a, disk: {bus: usb, pciAddress: "0000:01:00.0"}}]}}`, `devices.disks[0].disk.pciAddress: only a disk on the virtio bus has one; this is on usb`},
		"an address twice": {`{devices: {disks: [{name: a, disk: {pciAddress: "0000:0A:00.0"}}], interfaces: [{name: b, pciAddress: "0000:0a:00.0"}]}}`, `devices.interfaces[0].pciAddress: domain.devices.disks[0].disk.pciAddress has 0000:0a:00.0 too; no two devices can`},
		"bindings":         {`{devices: {interfaces: [{name: a, sriov: {}, bridge: {}, masquerade: {}}]}}`, `devices.interfaces[0]: says bridge and masquerade and sriov; take out all but one`},
		"an index":         {`{devices: {interfaces: [{name: a, acpiIndex: 16384}]}}`, `devices.interfaces[0].acpiIndex: must be at most 16383`},
		"an index twice":   {`{devices: {interfaces: [{name: a, acpiIndex: 1}, {name: b, acpiIndex: 1}]}}`, `devices.interfaces[1].acpiIndex: domain.devices.interfaces[0] has 1 too; no two devices can`},
		"one name":         {`{devices: {disks: [{name: a}], interfaces: [{name: a}]}}`, `devices.interfaces[0].name: domain.devices.disks[0] has the name "a" too; libvirt tells devices apart by their names, of whatever kind they are`},
		"a long tag":       {`{devices: {filesystems: [{name: a123456789a123456789a123456789a123456789, virtiofs: {}}]}}`, `devices.filesystems[0].name: "a123456789a123456789a123456789a123456789" is longer than the 36 letters that virtiofs has for it`},
		"no virtiofs":      {`{devices: {filesystems: [{name: a}]}}`, `devices.filesystems[0].virtiofs: is missing; say virtiofs: {}`},
		"an input":         {`{devices: {inputs: [{name: a}]}}`, `devices.inputs[0].type: is missing; say tablet or keyboard`},
		"no watchdog":      {`{devices: {watchdog: {name: a}}}`, `devices.watchdog: says no model; say i6300esb: {}`},
		"a pod's NIC":      {`{devices: {autoattachPodInterface: true}}`, `devices.autoattachPodInterface: is not supported; say the interface, and its network in networks`},
		"no graphics":      {`{devices: {autoattachGraphicsDevice: false, video: {type: vga}}}`, `devices.video: needs a graphics device, and autoattachGraphicsDevice is false; take one out`},
		"panic twice":      {`{devices: {panicDevices: [{model: isa}, {model: isa}]}}`, `devices.panicDevices[1].model: domain.devices.panicDevices[0] is of the model isa too; take one out`},
		"ramfb alone":      {`{devices: {gpus: [{name: g, deviceName: d, virtualGPUOptions: {display: {enabled: false, ramFB: {}}}}]}}`, `devices.gpus[0].virtualGPUOptions.display.ramFB: needs the display, which is off; take one out`},
	} {
		t.Run(name, func(t *testing.T) {
			f := Read("f.yaml", []byte("apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: f}\nspec: {template: {spec: {domain: "+tt.domain+"}}}\n"))
			if len(f.Problems) != 1 || f.Problems[0].Field+": "+f.Problems[0].Message != "spec.template.spec.domain."+tt.want {
				t.Errorf("got  %v\nwant %s", f.Problems, tt.want)
			}
		})
	}
}

// TestWritableCD: KubeVirt takes it, and the guest cannot tell.
func TestWritableCD(t *testing.T) {
	f := Read("f.yaml", []byte("apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: f}\n"+
		"spec: {template: {spec: {domain: {devices: {disks: [{name: a, cdrom: {readonly: false}}]}}}}}\n"))
	want := "spec.template.spec.domain.devices.disks[0].cdrom.readonly"
	if len(f.Problems) > 0 || len(f.Warnings) != 1 || f.Warnings[0].Field != want || f.Warnings[0].Line != 4 {
		t.Errorf("problems %v, warnings %v; want one warning at %s, line 4", f.Problems, f.Warnings, want)
	}
}
