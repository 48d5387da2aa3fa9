package test

import (
	"fmt"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// edits are what people change in a machine that is there, each a list of versions in a template's words.
var edits = map[string][]string{
	"an input's bus": {
		`devices: {inputs: [{name: t, type: tablet, bus: usb}]}`, `devices: {inputs: [{name: t, type: tablet, bus: virtio}]}`,
		`devices: {inputs: [{name: t, type: tablet, bus: usb}]}`},
	"sound": {`devices: {sound: {name: s}}`, `devices: {sound: {name: s, model: ac97}}`, `devices: {}`, `devices: {sound: {name: s}}`},
	"virtio of old": {
		`devices: {disks: [{name: a}, {name: b, disk: {bus: scsi}}], interfaces: [{name: lan}], rng: {}, autoattachVSOCK: true}`,
		`devices: {disks: [{name: a}, {name: b, disk: {bus: scsi}}], interfaces: [{name: lan}], rng: {}, autoattachVSOCK: true, useVirtioTransitional: true}`,
		`devices: {disks: [{name: a}, {name: b, disk: {bus: scsi}}], interfaces: [{name: lan}], rng: {}, autoattachVSOCK: true}`},
	"the balloon": {`devices: {}`, `devices: {autoattachMemBalloon: false}`, `devices: {}`, `devices: {useVirtioTransitional: true}`,
		`devices: {autoattachMemBalloon: false}`},
	"a disk's bus": {
		`devices: {disks: [{name: a}]}`, `devices: {disks: [{name: a, disk: {bus: sata}}]}`, `devices: {disks: [{name: a, disk: {bus: scsi}}]}`,
		`devices: {disks: [{name: a, disk: {bus: usb}}]}`, `devices: {disks: [{name: a, cdrom: {}}]}`,
		`devices: {disks: [{name: a, disk: {pciAddress: "0000:06:00.0"}}]}`, `devices: {disks: [{name: a, disk: {pciAddress: "0000:07:00.0"}}]}`},
	"a disk's driver": {
		`devices: {disks: [{name: a}]}`, `devices: {disks: [{name: a, io: native, errorPolicy: stop, dedicatedIOThread: true, blockSize: {custom: {logical: 4096, physical: 4096}}}]}`,
		`{ioThreadsPolicy: auto, devices: {disks: [{name: a, cache: writeback}, {name: b}]}}`, `devices: {disks: [{name: a}]}`},
	"a NIC's model": {
		`devices: {interfaces: [{name: lan}]}`, `devices: {interfaces: [{name: lan, model: e1000e, acpiIndex: 1}]}`,
		`devices: {interfaces: [{name: lan, model: rtl8139, state: down}]}`, `devices: {interfaces: [{name: lan, state: absent}]}`,
		`devices: {interfaces: [{name: lan}]}`},
	"queues":    {`{cpu: {cores: 4}, devices: {networkInterfaceMultiqueue: true, interfaces: [{name: dmz}]}}`, `{cpu: {cores: 2}, devices: {interfaces: [{name: dmz}]}}`},
	"a picture": {`devices: {autoattachGraphicsDevice: true}`, `devices: {video: {type: virtio}}`, `devices: {autoattachSerialConsole: false}`, `devices: {}`},
	"small devices": {`devices: {tpm: {persistent: true}, watchdog: {name: w, i6300esb: {}}, panicDevices: [{}]}`,
		`devices: {tpm: {}, watchdog: {name: w, i6300esb: {action: poweroff}}, panicDevices: [{model: hyperv}]}`, `devices: {}`},
	"memory": {`memory: {hugepages: {pageSize: 2Mi}}`, `memory: {hugepages: {pageSize: 1Gi}}`, `memory: {maxGuest: 4Gi}`, `devices: {}`,
		`devices: {filesystems: [{name: folder, virtiofs: {}}]}`, `devices: {}`},
	"CPUs": {`cpu: {model: Nehalem, features: [{name: vmx}]}`, `cpu: {features: [{name: ssse3}]}`, `cpu: {maxSockets: 4}`, `cpu: {sockets: 2}`,
		`cpu: {model: host-model}`, `devices: {}`},
	"the clock": {`clock: {utc: {offsetSeconds: 60}, timer: {hpet: {present: false}}}`, `clock: {timezone: Europe/Berlin}`,
		`clock: {utc: {}, timer: {pit: {tickPolicy: delay}}}`, `devices: {}`},
	"firmware": {`firmware: {bootloader: {efi: {}}, serial: a}`, `{firmware: {bootloader: {bios: {useSerial: true}}}, chassis: {sku: b}}`,
		`firmware: {kernelBoot: {kernelArgs: x, container: {image: registry.example/k, kernelPath: /vmlinuz, initrdPath: /initrd}}}`, `devices: {}`},
	"a LUN": {`devices: {disks: [{name: block, lun: {reservation: true}}]}`, `devices: {disks: [{name: block, lun: {}}]}`,
		`devices: {disks: [{name: block, disk: {readonly: true}}]}`},
}

// machineOf is a machine that a template's domain describes. It has every volume and network that the domain has a device
// of.
func machineOf(t *testing.T, domain string) *domxml.Element {
	t.Helper()
	text := func(networks, volumes string) string {
		return fmt.Sprintf(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineFlavour
metadata: {name: f}
spec: {domain: {memory: {guest: 1Gi}}}
---
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: m}
spec:
  flavour: f
  template:
    spec:
      domain:
        %s
      networks: [%s]
      volumes: [%s]
`, domain, networks, volumes)
	}
	read := func(text string) (*render.Instance, []manifest.Problem) {
		set := manifest.Collect([]manifest.File{manifest.Read("m.yaml", []byte(text))}, nil)
		if len(set.Problems) > 0 {
			t.Fatal(set.Problems)
		}
		return render.Place(set, "").Unplaced("m", render.Options{DomainType: "qemu"})
	}
	probe := manifest.Collect([]manifest.File{manifest.Read("m.yaml", []byte(text("", "")))}, nil)
	if len(probe.Problems) > 0 {
		t.Fatal(probe.Problems)
	}
	spec, _ := manifest.Decode(probe.Configs["m"].Spec.Template.Spec.Tree())
	networks, volumes := "", ""
	for _, n := range spec.Domain.Devices.Interfaces {
		networks += fmt.Sprintf("{name: %s, %s},", n.Name, map[bool]string{true: "libvirt: {network: default}", false: "user: {}"}[n.Name == "dmz"])
	}
	for _, d := range spec.Domain.Devices.Disks {
		volumes += fmt.Sprintf("{name: %s, %s},", d.Name, map[bool]string{true: "block: {path: /dev/vg/block}", false: "volume: {size: 1Gi}"}[d.Name == "block"])
	}
	for _, f := range spec.Domain.Devices.Filesystems {
		volumes += fmt.Sprintf("{name: %s, hostPath: {path: /srv/%s}},", f.Name, f.Name)
	}
	i, problems := read(text(networks, volumes))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return emulated(i.Domain)
}

// TestEditedDomainsAreDefined takes machines from version to version: libvirt accepts each, and keeps what it declares.
func TestEditedDomainsAreDefined(t *testing.T) {
	s := sandboxtest.Start(t)
	for name, versions := range edits {
		t.Run(name, func(t *testing.T) {
			var have, was *domxml.Element
			var slots domxml.Slots
			for n, version := range versions {
				want := machineOf(t, version)
				var next *domxml.Element
				if n == 0 {
					next, slots = domxml.Create(want)
				} else {
					next, _, slots = domxml.Redefine(have, want, was, slots, nil)
				}
				have = define(t, s, next)
				for _, c := range domxml.Compare(want, have, want) {
					t.Errorf("version %d: %s: %q instead of %q", n, c.Path, c.From, c.To)
				}
				was = want
			}
			if out, err := s.Virsh(t.Context(), "undefine", "--nvram", "m"); err != nil {
				t.Fatal(err, out)
			}
		})
	}
}
