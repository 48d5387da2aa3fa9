package imported

import (
	"fmt"
	"strconv"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// address is a device's PCI address in the guest; empty when it has none that can be said.
func address(d *domxml.Element) string {
	a := d.Child("address")
	if a == nil || a.Attr("type") != "pci" {
		return ""
	}
	var n [4]uint64
	for i, name := range []string{"domain", "bus", "slot", "function"} {
		v, err := strconv.ParseUint(a.Attr(name), 0, 16)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])
}

// bootOrder says a device's place in the order of booting.
func bootOrder(to map[string]any, d *domxml.Element) {
	if n, ok := number(d.Child("boot").Attr("order")); ok && n > 0 {
		to["bootOrder"] = n
	}
}

func (s *sketch) addInputs(all *domxml.Element) {
	var list []any
	for _, d := range all.All("input") {
		kind, bus := d.Attr("type"), d.Attr("bus")
		if kind != "tablet" && kind != "keyboard" || bus != "usb" && bus != "virtio" {
			continue
		}
		name, ok := s.name(d, kind)
		if part := "input/" + name; ok && s.says(part) {
			list = append(list, map[string]any{"name": name, "type": kind, "bus": bus})
			call(d, name)
			s.inputs = append(s.inputs, part)
		}
	}
	if len(list) > 0 {
		s.devices["inputs"] = list
	}
}

// consoles says whether a machine has what one has that says nothing.
func (s *sketch) consoles() {
	serial, console := s.have.Child("devices/serial"), s.have.Child("devices/console")
	if !s.says("autoattachSerialConsole") || serial.Attr("type") != "pty" || console.Attr("type") != "pty" ||
		serial.Child("target").Attr("port") != "0" || console.Child("target").Attr("type") != "serial" {
		s.devices["autoattachSerialConsole"] = false
	}
	agent := false
	for _, c := range s.have.Child("devices").All("channel") {
		target := c.Child("target")
		agent = agent || c.Attr("type") == "unix" && target.Attr("type") == "virtio" && target.Attr("name") == "org.qemu.guest_agent.0"
	}
	if !agent || !s.says("autoattachGuestAgent") {
		s.devices["autoattachGuestAgent"] = false
	}
}

// single says the devices that a machine has one of.
func (s *sketch) single() {
	one := func(kind, part string) *domxml.Element {
		if list := s.have.Child("devices").All(kind); len(list) == 1 && s.says(part) {
			return list[0]
		}
		return nil
	}
	if d := one("memballoon", "autoattachMemBalloon"); d != nil && d.Attr("model") == "none" {
		s.devices["autoattachMemBalloon"] = false
	}
	if d := one("watchdog", "watchdog"); d != nil && d.Attr("model") == "i6300esb" {
		if name, ok := s.name(d, "watchdog"); ok {
			call(d, name)
			s.devices["watchdog"] = map[string]any{"name": name, "i6300esb": map[string]any{"action": d.Attr("action")}}
		}
	}
	if d := one("sound", "sound"); d != nil {
		if name, ok := s.name(d, "sound"); ok {
			call(d, name)
			s.devices["sound"] = map[string]any{"name": name, "model": d.Attr("model")}
		}
	}
	if d := one("rng", "rng"); d != nil && d.Attr("model") == "virtio" && d.Child("backend").Attr("model") == "random" && textOf(d, "backend") == "/dev/urandom" {
		s.devices["rng"] = map[string]any{}
	}
	if d := one("tpm", "tpm"); d != nil && d.Attr("model") == "tpm-crb" {
		if b := d.Child("backend"); b.Attr("type") == "emulator" && b.Attr("version") == "2.0" {
			tpm := map[string]any{}
			if b.Attr("persistent_state") == "yes" {
				tpm["persistent"] = true
			}
			s.devices["tpm"] = tpm
		}
	}
	if d := one("graphics", "autoattachGraphicsDevice"); d != nil && d.Attr("type") == "vnc" && d.Attr("socket") == "" && d.Child("listen").Attr("type") == "socket" {
		if v := one("video", "video"); v != nil {
			s.devices["autoattachGraphicsDevice"] = true
			s.devices["video"] = map[string]any{"type": v.Child("model").Attr("type")}
		}
	}
	if d := one("panic", "panicDevices"); d != nil && d.Attr("model") != "" {
		s.devices["panicDevices"] = []any{map[string]any{"model": d.Attr("model")}}
	}
}
