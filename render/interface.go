package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// maxQueues is how many queues a tap device has (MAX_TAP_QUEUES of Linux).
const maxQueues = 256

// nic is <interface>; nil when the spec says that it is absent.
func (b *builder) nic(d *manifest.Interface) (*domxml.Element, error) {
	networks := b.instance.Spec.Networks
	n := slices.IndexFunc(networks, func(n manifest.Network) bool { return n.Name == d.Name })
	if n < 0 {
		return nil, fmt.Errorf("there is no network named %s", d.Name)
	}
	if d.State == kubevirt.InterfaceStateAbsent {
		return nil, nil
	}
	network := networks[n]
	e := domxml.New("interface")
	e.Append(domxml.New("mac", "address", d.MacAddress))
	if err := nicSource(e, d, &network); err != nil {
		return nil, err
	}
	if network.VLAN != nil {
		if network.User != nil {
			return nil, fmt.Errorf("QEMU's user network %s has no VLANs: take vlan out, or connect it to a bridge that has", d.Name)
		}
		e.Append(domxml.New("vlan")).Append(domxml.New("tag", "id", strconv.Itoa(int(*network.VLAN))))
	}
	if network.PCI != "" {
		if d.Model != "" {
			return nil, fmt.Errorf("the model is that of the host's device, which the guest gets to itself: take out model: %s", d.Model)
		}
		if d.State != "" {
			return nil, errors.New("libvirt cannot set the link of a device of the host: take state out")
		}
	} else {
		b.nicModel(e, d, network.User != nil)
	}
	if d.ACPIIndex != 0 {
		e.Append(domxml.New("acpi", "index", strconv.Itoa(d.ACPIIndex)))
	}
	if d.State != "" {
		e.Append(domxml.New("link", "state", string(d.State)))
	}
	boot(e, d.BootOrder)
	e.Append(alias(d.Name))
	guestAddress(e, d.PciAddress)
	return e, nil
}

func (b *builder) nicModel(e *domxml.Element, d *manifest.Interface, user bool) {
	model := d.Model
	if model == "virtio" {
		model = b.virtio(model)
	}
	e.Append(domxml.New("model", "type", model))
	queues := min(mostCPUs(b.spec.CPU), maxQueues)
	if d.Model == "virtio" && isOn(b.spec.Devices.NetworkInterfaceMultiQueue) && !user && queues > 1 {
		e.Append(domxml.New("driver", "queues", count(queues)))
	}
}

// nicSource connects an interface to its network. The binding, where one is said, has to be what the network can do.
func nicSource(e *domxml.Element, d *manifest.Interface, network *manifest.Network) error {
	// means are the bindings that fit; instead is what to say in place of another.
	means := func(what, instead string, fitting ...string) error {
		said := binding(d)
		if said == "" || slices.Contains(fitting, said) {
			return nil
		}
		return fmt.Errorf("%s cannot be on network %s, which is %s: say %s: {}, or %s", said, d.Name, what, strings.Join(fitting, ": {} or "), instead)
	}
	switch n := network; {
	case n.Libvirt != nil:
		e.SetAttr("type", "network")
		source := e.Append(domxml.New("source", "network", n.Libvirt.Network))
		if n.Libvirt.PortGroup != "" {
			source.SetAttr("portgroup", n.Libvirt.PortGroup)
		}
		return means("a libvirt network", "say pci or direct in the network", "bridge", "masquerade")
	case n.Bridge != "":
		if d.Masquerade != nil {
			return fmt.Errorf("masquerade needs a network that translates addresses, and network %s is the host's bridge %s: say bridge: {}, or connect it to a libvirt network", d.Name, n.Bridge)
		}
		e.SetAttr("type", "bridge")
		e.Append(domxml.New("source", "bridge", n.Bridge))
		return means("the host's bridge "+n.Bridge, "say pci or direct in the network", "bridge")
	case n.Direct != nil:
		e.SetAttr("type", "direct")
		mode := n.Direct.Mode
		if mode == "" {
			mode = "bridge"
		}
		e.Append(domxml.New("source", "dev", n.Direct.Dev, "mode", mode))
		return means("shared by macvtap", "connect it to a libvirt network or a bridge", "macvtap", "bridge")
	case n.PCI != "":
		e.SetAttr("type", "hostdev")
		e.SetAttr("managed", "yes")
		address := pciAddress(n.PCI)
		address.Attrs = append([]domxml.Attr{{Name: "type", Value: "pci"}}, address.Attrs...)
		e.Append(domxml.New("source")).Append(address)
		return means("a device of the host", "connect it to a libvirt network or a bridge", "sriov")
	case n.User != nil:
		if d.Bridge != nil {
			return fmt.Errorf("bridge cannot join QEMU's user network %s: say masquerade: {}, or connect it to a libvirt network or a bridge", d.Name)
		}
		e.SetAttr("type", "user")
		return means("QEMU's user network", "connect it to a libvirt network or a bridge", "masquerade")
	}
	return fmt.Errorf("no Host says what network %s is: add it to the Host, or say libvirt, bridge, direct, pci or user in the network", d.Name)
}

func binding(d *manifest.Interface) string {
	switch {
	case d.Bridge != nil:
		return "bridge"
	case d.Masquerade != nil:
		return "masquerade"
	case d.SRIOV != nil:
		return "sriov"
	case d.DeprecatedMacvtap != nil:
		return "macvtap"
	}
	return ""
}
