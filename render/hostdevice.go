package render

import (
	"errors"
	"fmt"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// hostDevice is <hostdev>. What a name means is the host's word.
func (b *builder) hostDevice(name, deviceName string) (*domxml.Element, error) {
	d, ok := b.input.Devices[name]
	if why := b.input.Short[name]; why != "" {
		return nil, errors.New(why)
	}
	if !ok {
		return nil, fmt.Errorf("no Host says what the device %s is: add it to spec.devices of the Host", deviceName)
	}
	e := domxml.New("hostdev", "mode", "subsystem")
	source := e.Append(domxml.New("source"))
	e.Append(alias(name))
	switch {
	case d.PCI != "":
		e.SetAttr("type", "pci")
		e.SetAttr("managed", "yes") // libvirt takes it from the host's driver, and gives it back
		source.Append(pciAddress(d.PCI))
	case d.USB != "":
		vendor, product, _ := strings.Cut(strings.ToLower(d.USB), ":")
		e.SetAttr("type", "usb")
		source.Append(domxml.New("vendor", "id", "0x"+vendor))
		source.Append(domxml.New("product", "id", "0x"+product))
	default:
		e.SetAttr("type", "mdev")
		e.SetAttr("model", "vfio-pci")
		source.Append(domxml.New("address", "uuid", strings.ToLower(d.MDev)))
	}
	return e, nil
}

// gpu is the <hostdev> of a GPU. A virtual one can show its picture.
func (b *builder) gpu(g *kubevirt.GPU) (*domxml.Element, error) {
	e, err := b.hostDevice(g.Name, g.DeviceName)
	if err != nil || g.VirtualGPUOptions == nil || g.VirtualGPUOptions.Display == nil {
		return e, err
	}
	if e.Attr("type") != "mdev" {
		return nil, errors.New("only a mediated device has virtualGPUOptions: take them out")
	}
	display := g.VirtualGPUOptions.Display
	on := manifest.On(display.Enabled)
	if on && !isOn(b.spec.Devices.AutoattachGraphicsDevice) {
		return nil, errors.New("the display of a virtual GPU is shown by a graphics device: say autoattachGraphicsDevice: true")
	}
	e.SetAttr("display", onOff(on))
	if display.RamFB != nil {
		e.SetAttr("ramfb", onOff(manifest.On(display.RamFB.Enabled)))
	}
	return e, nil
}
