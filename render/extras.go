package render

import (
	"fmt"
	"slices"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// extras are the devices that a machine has one of, or few.
func (b *builder) extras(devices *domxml.Element) {
	d := &b.spec.Devices
	for _, in := range d.Inputs {
		devices.Append(domxml.New("input", "type", string(in.Type), "bus", string(in.Bus))).Append(alias(in.Name))
	}
	if d.Watchdog != nil && d.Watchdog.I6300ESB != nil {
		dog := devices.Append(domxml.New("watchdog", "model", "i6300esb", "action", string(d.Watchdog.I6300ESB.Action)))
		dog.Append(alias(d.Watchdog.Name))
	}
	if d.TPM != nil && manifest.On(d.TPM.Enabled) {
		tpm(devices, d.TPM)
	}
	if d.Sound != nil {
		devices.Append(domxml.New("sound", "model", d.Sound.Model)).Append(alias(d.Sound.Name))
	}
	if isOn(d.AutoattachGraphicsDevice) {
		// A socket of libvirt's own, which virsh and virt-viewer find: nothing listens on the network.
		devices.Append(domxml.New("graphics", "type", "vnc")).Append(domxml.New("listen", "type", "socket"))
		devices.Append(domxml.New("video")).Append(domxml.New("model", "type", d.Video.Type))
	}
	if d.AutoattachMemBalloon != nil && !*d.AutoattachMemBalloon {
		devices.Append(domxml.New("memballoon", "model", "none"))
	} else if isOn(d.UseVirtioTransitional) {
		devices.Append(domxml.New("memballoon", "model", transitional))
	}
	if isOn(d.AutoattachVSOCK) {
		devices.Append(domxml.New("vsock", "model", b.virtio("virtio"))).Append(domxml.New("cid", "auto", "yes"))
	}
	for _, p := range d.PanicDevices {
		devices.Append(domxml.New("panic", "model", string(*p.Model)))
	}
	if d.Rng != nil {
		rng := devices.Append(domxml.New("rng", "model", b.virtio("virtio")))
		text(rng, "backend", "/dev/urandom").SetAttr("model", "random")
	}
}

// tpm is an emulated TPM 2.0. libvirt keeps its state for as long as the domain is defined; persistent keeps it beyond.
func tpm(devices *domxml.Element, d *kubevirt.TPMDevice) {
	backend := devices.Append(domxml.New("tpm", "model", "tpm-crb")).Append(domxml.New("backend", "type", "emulator", "version", "2.0"))
	if isOn(d.Persistent) {
		backend.SetAttr("persistent_state", "yes")
	}
}

// filesystem is a folder of the host in the guest, which mounts it by the name.
func (b *builder) filesystem(f *kubevirt.Filesystem) (*domxml.Element, error) {
	n := slices.IndexFunc(b.instance.Volumes, func(v Volume) bool { return v.Name == f.Name })
	if n < 0 {
		return nil, fmt.Errorf("there is no volume named %s", f.Name)
	}
	v := b.instance.Volumes[n]
	if v.Kind != VolumeFolder {
		return nil, fmt.Errorf("a filesystem needs a folder of the host, and volume %s is none: say hostPath in it", f.Name)
	}
	e := domxml.New("filesystem", "type", "mount", "accessmode", "passthrough")
	if isOn(b.spec.Devices.UseVirtioTransitional) {
		e.SetAttr("model", transitional)
	}
	e.Append(domxml.New("driver", "type", "virtiofs"))
	e.Append(domxml.New("source", "dir", v.Path))
	e.Append(domxml.New("target", "dir", f.Name))
	e.Append(alias(f.Name))
	return e, nil
}
