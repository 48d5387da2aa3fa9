package domxml

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// typical is a domain as libvirt has it, and what is declared of it: three disks, two interfaces, the usual rest.
func typical(n int) (have string, want *Element) {
	disk := func(name, dev string, bus int, more string) string {
		return fmt.Sprintf(`<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='none'/><source file='/var/lib/libvirt/images/m%d-%s.qcow2'/>%s<target dev='%s' bus='virtio'/><alias name='ua-%s'/>%s</disk>`,
			n, name, more, dev, name, address(bus, more == ""))
	}
	nic := func(name string, bus int, full bool) string {
		return fmt.Sprintf(`<interface type='network'><mac address='52:54:00:00:%02x:%02x'/><source network='default'/><model type='virtio'/><alias name='ua-%s'/>%s</interface>`,
			n%256, bus, name, address(bus, full))
	}
	var ports strings.Builder
	for i := 1; i <= 14; i++ {
		fmt.Fprintf(&ports, `<controller type='pci' index='%d' model='pcie-root-port'><model name='pcie-root-port'/><target chassis='%d' port='0x%x'/><address type='pci' domain='0x0000' bus='0x00' slot='0x%02x' function='0x%x'/></controller>`,
			i, i, 8+i, 1+i/8, i%8)
	}
	common := `<vcpu>4</vcpu><features><acpi/><apic/><hyperv mode='custom'><relaxed state='on'/><vapic state='on'/></hyperv></features>
		<cpu mode='host-model'><topology sockets='1' dies='1' cores='4' threads='1'/><feature policy='require' name='vmx'/></cpu>
		<clock offset='utc'><timer name='rtc' tickpolicy='catchup'/><timer name='pit' tickpolicy='delay'/><timer name='hpet' present='no'/></clock>
		<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>`
	serial := `<serial type='pty'><target port='0'/></serial><console type='pty'><target type='serial' port='0'/></console>
		<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel><rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>`
	head := fmt.Sprintf(`<domain type='kvm'><name>m%d</name><uuid>c7a5fdbd-edaf-9455-926a-%012x</uuid>`, n, n)
	have = head + `<memory unit='KiB'>2097152</memory><currentMemory unit='KiB'>2097152</currentMemory><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>` + common +
		`<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>` + disk("root", "vda", 4, "") + disk("data", "vdb", 5, "") + disk("log", "vdc", 6, "") + ports.String() +
		nic("lan", 1, true) + nic("san", 2, true) + serial + `<input type='mouse' bus='ps2'/><input type='keyboard' bus='ps2'/><memballoon model='virtio'>` + address(7, true) + `</memballoon></devices></domain>`
	text := head + `<memory unit='GiB'>2</memory><currentMemory unit='GiB'>2</currentMemory><os><type arch='x86_64' machine='q35'>hvm</type></os>` + common +
		`<devices>` + disk("root", "vda", 0, " ") + disk("data", "vdb", 0, " ") + disk("log", "vdc", 0, " ") + nic("lan", 1, false) + nic("san", 2, false) + serial + `<memballoon model='virtio'/></devices></domain>`
	want, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return have, want
}

func address(bus int, full bool) string {
	if !full {
		return ""
	}
	return fmt.Sprintf(`<address type='pci' domain='0x0000' bus='0x%02x' slot='0x00' function='0x0'/>`, bus)
}

// BenchmarkCompare compares 1,000 domains with what is declared of them, of which nothing changed, beside reading their XML
// alone: the floor of whoever compares. It reports both times for the whole fleet, and how many times reading it all takes.
func BenchmarkCompare(b *testing.B) {
	const fleet = 1000
	texts, wants := make([]string, fleet), make([]*Element, fleet)
	for n := range fleet {
		texts[n], wants[n] = typical(n)
	}
	haves := make([]*Element, fleet)
	var reading, comparing time.Duration
	for b.Loop() {
		start := time.Now()
		for n, text := range texts {
			e, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			haves[n] = e
		}
		read := time.Now()
		for n, have := range haves {
			if changes := Compare(wants[n], have, wants[n]); len(changes) > 0 {
				b.Fatal(changes)
			}
		}
		reading += read.Sub(start)
		comparing += time.Since(read)
	}
	b.ReportMetric(reading.Seconds()*1e3/float64(b.N), "ms-reading")
	b.ReportMetric(comparing.Seconds()*1e3/float64(b.N), "ms-comparing")
	b.ReportMetric((reading+comparing).Seconds()/reading.Seconds(), "x-reading")
}
