package domxml

import (
	"strings"
	"testing"
)

// TestRules has, for each rule, what is declared, what libvirt keeps of it, and what it must be told from: the first two are the
// same, and what is declared differs from each of the others in one thing.
func TestRules(t *testing.T) {
	tests := []struct {
		name       string
		want, have string
		differs    []string
	}{
		{"memory units", `<memory unit='GiB'>2</memory>`, `<memory unit='KiB'>2097152</memory>`, []string{`<memory unit='KiB'>2097153</memory>`}},
		{"memory in decimal units, rounded up", `<memory unit='MB'>1</memory>`, `<memory unit='KiB'>977</memory>`, []string{`<memory unit='KiB'>976</memory>`}},
		{"memory without a unit", `<memory>1024</memory>`, `<memory unit='KiB'>1024</memory>`, []string{`<memory unit='MiB'>1024</memory>`}},
		{"current memory above all of it", `<memory>100</memory><currentMemory>200</currentMemory>`, `<memory unit='KiB'>100</memory><currentMemory unit='KiB'>100</currentMemory>`,
			[]string{`<memory unit='KiB'>100</memory><currentMemory unit='KiB'>90</currentMemory>`}},
		{"memory is the sum of cells and modules", `<memory>5</memory><cpu><numa><cell cpus='0' memory='1024'/></numa></cpu><devices><memory model='dimm'><target><size unit='MiB'>1</size></target></memory></devices>`,
			`<memory unit='KiB'>2048</memory><cpu><numa><cell id='0' cpus='0' memory='1024' unit='KiB'/></numa></cpu><devices><memory model='dimm'><target><size unit='KiB'>1024</size></target></memory></devices>`,
			[]string{`<memory unit='KiB'>2049</memory><cpu><numa><cell id='0' cpus='0' memory='1025' unit='KiB'/></numa></cpu><devices><memory model='dimm'><target><size unit='KiB'>1024</size></target></memory></devices>`}},
		{"a page's size", `<memoryBacking><hugepages><page size='2' unit='M' nodeset='0,1'/></hugepages></memoryBacking>`,
			`<memoryBacking><hugepages><page size='2048' unit='KiB' nodeset='0-1'/></hugepages></memoryBacking>`,
			[]string{`<memoryBacking><hugepages><page size='2' unit='KiB' nodeset='0-1'/></hugepages></memoryBacking>`}},
		{"units of their own", `<features><smm state='on'><tseg>48</tseg></smm></features>`, `<features><smm state='on'><tseg unit='MiB'>48</tseg></smm></features>`,
			[]string{`<features><smm state='on'><tseg unit='KiB'>48</tseg></smm></features>`}},
		{"no limit of memory", `<memtune><hard_limit>9007199254740991</hard_limit></memtune>`, ``, []string{`<memtune><hard_limit unit='KiB'>1000</hard_limit></memtune>`}},
		{"lists of CPUs", `<vcpu cpuset='1-4,^3,7'>2</vcpu>`, `<vcpu placement='static' cpuset='1-2,4,7'>2</vcpu>`, []string{`<vcpu placement='static' cpuset='1-4,7'>2</vcpu>`}},
		{"a list of CPUs in several elements", `<cputune><vcpusched vcpus='0-1' scheduler='fifo' priority='2'/></cputune>`,
			`<cputune><vcpusched vcpus='0' scheduler='fifo' priority='2'/><vcpusched vcpus='1' scheduler='fifo' priority='2'/></cputune>`,
			[]string{`<cputune><vcpusched vcpus='0' scheduler='fifo' priority='2'/></cputune>`, `<cputune><vcpusched vcpus='0-1' scheduler='rr' priority='2'/></cputune>`}},
		{"cell 0 gets the vCPUs that no cell has", `<vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0' memory='1'/><cell id='1' cpus='1' memory='1'/></numa></cpu>`,
			`<vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0,2-3' memory='1' unit='KiB'/><cell id='1' cpus='1' memory='1' unit='KiB'/></numa></cpu>`,
			[]string{`<vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0,2' memory='1' unit='KiB'/><cell id='1' cpus='1' memory='1' unit='KiB'/></numa></cpu>`}},
		{"a pin of a vCPU that there is not", `<vcpu>1</vcpu><cputune><vcpupin vcpu='3' cpuset='1'/></cputune>`, `<vcpu>1</vcpu>`, nil},
		{"all vCPUs are there", `<vcpu current='2'>2</vcpu>`, `<vcpu placement='static'>2</vcpu>`, []string{`<vcpu placement='static' current='1'>2</vcpu>`}},
		{"numbers with leading zeros, and in hexadecimal", `<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><address type='pci' bus='01' slot='10'/></interface></devices>`,
			`<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><address type='pci' domain='0x0000' bus='0x01' slot='0x0a' function='0x0'/></interface></devices>`,
			[]string{`<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><address type='pci' domain='0x0000' bus='0x01' slot='0x10' function='0x0'/></interface></devices>`}},
		{"text that looks like a number", `<title>010</title>`, `<title>010</title>`, []string{`<title>10</title>`}},
		{"case of MAC and model", `<devices><interface><mac address='52:54:00:AA:BB:CC'/><model type='VirtIO'/></interface></devices>`,
			`<devices><interface><mac address='52:54:00:aa:bb:cc'/><model type='virtio'/></interface></devices>`,
			[]string{`<devices><interface><mac address='52:54:00:aa:bb:cc'/><model type='e1000'/></interface></devices>`}},
		{"a file's mode", `<devices><filesystem fmode='0640'><target dir='a'/></filesystem></devices>`, `<devices><filesystem fmode='640'><target dir='a'/></filesystem></devices>`,
			[]string{`<devices><filesystem fmode='600'><target dir='a'/></filesystem></devices>`}},
		{"machine types", `<os><type machine='q35'>hvm</type></os>`, `<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>`, []string{`<os><type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>`}},
		{"machine types of other architectures", `<os><type machine='s390-ccw-virtio'>hvm</type></os>`, `<os><type arch='s390x' machine='s390-ccw-virtio-7.2'>hvm</type></os>`, []string{`<os><type machine='virt-7.2'>hvm</type></os>`}},
		{"the ID of a run", ` id='3'`, ``, nil},
		{"aliases that libvirt makes", `<devices><hub type='usb'><alias name='hub0'/></hub></devices>`, `<devices><hub type='usb'/></devices>`, nil},
		{"a target without a LUN", `<devices><disk type='network'><source protocol='iscsi' name='iqn.a:b'/><target dev='sda'/></disk></devices>`,
			`<devices><disk type='network'><source protocol='iscsi' name='iqn.a:b/0'/><target dev='sda'/></disk></devices>`,
			[]string{`<devices><disk type='network'><source protocol='iscsi' name='iqn.a:b/1'/><target dev='sda'/></disk></devices>`}},
		{"an empty drive", `<devices><disk type='block' device='cdrom' snapshot='no'><target dev='hda' tray='closed'/></disk></devices>`, `<devices><disk type='file' device='cdrom'><target dev='hda'/></disk></devices>`, nil},
		{"a block job", `<devices><disk><source file='/a' index='2'/><mirror job='copy'/><target dev='vda'/></disk></devices>`, `<devices><disk><source file='/a'/><target dev='vda'/></disk></devices>`,
			[]string{`<devices><disk><source file='/b'/><target dev='vda'/></disk></devices>`}},
		{"a generated tap", `<devices><interface><mac address='52:54:00:00:00:01'/><target dev='vnet7'/></interface></devices>`, `<devices><interface><mac address='52:54:00:00:00:01'/></interface></devices>`, nil},
		{"a named tap", `<devices><interface><mac address='52:54:00:00:00:01'/><target dev='tap7'/></interface></devices>`, `<devices><interface><mac address='52:54:00:00:00:01'/><target dev='tap7'/></interface></devices>`,
			[]string{`<devices><interface><mac address='52:54:00:00:00:01'/></interface></devices>`}},
		{"settings of virtio on another model", `<devices><interface><mac address='52:54:00:00:00:01'/><model type='e1000'/><driver queues='4'/></interface></devices>`,
			`<devices><interface><mac address='52:54:00:00:00:01'/><model type='e1000'/></interface></devices>`, nil},
		{"settings of virtio on a model that libvirt chose", `<devices><interface><mac address='52:54:00:00:00:01'/><driver queues='4'/></interface></devices>`,
			`<devices><interface><mac address='52:54:00:00:00:01'/><model type='rtl8139'/></interface></devices>`,
			[]string{`<devices><interface><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface></devices>`}},
		{"the socket that libvirt makes up", `<devices><channel type='unix'><source mode='bind' path='/run/x/domain-4-a/org.a'/><target type='virtio' name='org.a'/></channel></devices>`,
			`<devices><channel type='unix'><target type='virtio' name='org.a'/></channel></devices>`,
			[]string{`<devices><channel type='unix'><source mode='bind' path='/srv/a'/><target type='virtio' name='org.a'/></channel></devices>`}},
		{"the first console doubles the first serial port", `<devices><serial type='file'><source path='/a'/></serial><console type='pty'/></devices>`,
			`<devices><serial type='file'><source path='/a'/></serial><console type='file'><source path='/a'/><target type='serial' port='0'/></console></devices>`,
			[]string{`<devices><serial type='file'><source path='/b'/></serial><console type='file'><source path='/b'/><target type='serial' port='0'/></console></devices>`}},
		{"two ends on UDP", `<devices><serial type='udp'><source mode='bind' service='1'/><source mode='connect' service='2'/></serial></devices>`,
			`<devices><serial type='udp'><source mode='connect' service='2'/><source mode='bind' service='1'/></serial></devices>`,
			[]string{`<devices><serial type='udp'><source mode='connect' service='3'/><source mode='bind' service='1'/></serial></devices>`}},
		{"a port that libvirt chooses", `<devices><graphics type='vnc' port='5903' autoport='yes'/></devices>`, `<devices><graphics type='vnc' port='-1' autoport='yes'/></devices>`,
			[]string{`<devices><graphics type='vnc' port='5903' autoport='no'/></devices>`}},
		{"SPICE without a port", `<devices><graphics type='spice' autoport='no'/></devices>`, `<devices><graphics type='spice'><listen type='none'/></graphics></devices>`,
			[]string{`<devices><graphics type='spice' autoport='yes'/></devices>`}},
		{"the primary video device", `<devices><video><model type='vga'/></video><video><model type='qxl' primary='no'/></video></devices>`,
			`<devices><video><model type='vga' primary='yes'/></video><video><model type='qxl'/></video></devices>`, nil},
		{"video memory", `<devices><video><model type='qxl' vram='40000'/></video></devices>`, `<devices><video><model type='qxl' vram='65536'/></video></devices>`, []string{`<devices><video><model type='qxl' vram='32768'/></video></devices>`}},
		{"no video", `<devices><video><model type='none' heads='1'/></video></devices>`, `<devices><video><model type='none'/></video></devices>`, []string{`<devices><video><model type='vga'/></video></devices>`}},
		{"USB versions and wildcards", `<devices><redirfilter><usbdev class='-1' version='1.1' allow='yes'/></redirfilter></devices>`, `<devices><redirfilter><usbdev version='1.10' allow='yes'/></redirfilter></devices>`,
			[]string{`<devices><redirfilter><usbdev version='1.01' allow='yes'/></redirfilter></devices>`}},
		{"the host's CPU", `<cpu mode='host-model' match='exact'><model fallback='allow'/></cpu>`, `<cpu mode='host-model' check='partial'/>`, []string{`<cpu mode='host-passthrough' check='none'/>`}},
		{"an adjusted clock", `<clock offset='localtime' adjustment='60'/>`, `<clock offset='variable' adjustment='60' basis='localtime'/>`, []string{`<clock offset='variable' adjustment='60' basis='utc'/>`, `<clock offset='variable' adjustment='61' basis='localtime'/>`}},
		{"boot order by kind beside that of devices", `<os><boot dev='hd'/></os><devices><disk><target dev='vda'/><boot order='1'/></disk></devices>`, `<os/><devices><disk><target dev='vda'/><boot order='1'/></disk></devices>`, nil},
		{"labels of a run", `<seclabel type='dynamic' model='selinux'><label>a</label><imagelabel>b</imagelabel></seclabel>`, `<seclabel type='dynamic' model='selinux' relabel='yes'/>`, []string{`<seclabel type='static' model='selinux'/>`}},
		{"empty containers", `<features/><cputune/>`, ``, nil},
		{"flags", `<features><acpi/></features>`, `<features><acpi/></features>`, []string{`<features/>`}},
		{"metadata without a namespace, and twice the same", `<metadata><a/><b xmlns='u'>1</b><b xmlns='u'>2</b></metadata>`, `<metadata><b xmlns='u'>1</b></metadata>`, []string{`<metadata><b xmlns='u'>2</b></metadata>`}},
		{"prefixes", ` xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:commandline><q:arg value='a'/></q:commandline`, ` xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:commandline><qemu:arg value='a'/></qemu:commandline`,
			[]string{` xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:commandline><qemu:arg value='b'/></qemu:commandline`}},
	}
	domain := func(inner string) *Element {
		if strings.HasPrefix(inner, " ") {
			return parse(t, "<domain"+inner+"></domain>")
		}
		return parse(t, "<domain>"+inner+"</domain>")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := domain(tt.want)
			if changes := Compare(want, domain(tt.have), want); len(changes) != 0 {
				t.Errorf("what libvirt keeps differs: %v", changes)
			}
			for _, other := range tt.differs {
				have := domain(other)
				if changes := Compare(want, have, want); len(changes) != 1 {
					t.Errorf("differs from %s in %v, want one thing", other, changes)
				}
				next, _ := Converge(have, want, want)
				if changes := Compare(want, next, want); len(changes) != 0 {
					t.Errorf("converged from %s, it still differs in %v", other, changes)
				}
			}
		})
	}
}

// TestMatching changes one thing of devices that nothing names, or what names them.
func TestMatching(t *testing.T) {
	tests := []struct {
		name            string
		was, want, have string
		changes         string // paths, joined by spaces
	}{
		{"a MAC", `<interface type='user'><mac address='52:54:00:00:00:01'/></interface>`, `<interface type='user'><mac address='52:54:00:00:00:02'/></interface>`,
			`<interface type='user'><mac address='52:54:00:00:00:01'/><address type='pci' slot='0x03'/></interface>`, "devices/interface[52:54:00:00:00:02]/mac@address"},
		{"a MAC, by hand", `<interface type='user'><mac address='52:54:00:00:00:01'/></interface>`, `<interface type='user'><mac address='52:54:00:00:00:01'/></interface>`,
			`<interface type='user'><mac address='52:54:00:00:00:09'/></interface>`, "devices/interface[52:54:00:00:00:01]/mac@address"},
		{"a target's name, of the same image", `<disk><source file='/a'/><target dev='vda'/></disk>`, `<disk><source file='/a'/><target dev='vdb'/></disk>`, `<disk><source file='/a'/><target dev='vda'/></disk>`,
			"devices/disk[vdb]/target@dev"},
		{"another disk under another name", `<disk><source file='/a'/><target dev='vda'/></disk>`, `<disk><source file='/b'/><target dev='vdb'/></disk>`, `<disk><source file='/a'/><target dev='vda'/></disk>`,
			"devices/disk[vdb] devices/disk[vda]"},
		{"a name", `<disk><source file='/a'/><target dev='vda'/><alias name='ua-a'/></disk>`, `<disk><source file='/a'/><target dev='vda'/><alias name='ua-b'/></disk>`, `<disk><source file='/a'/><target dev='vda'/><alias name='ua-a'/></disk>`,
			"devices/disk[b]/alias@name"},
		{"one of three that are alike", `<redirdev type='tcp'><source service='1'/></redirdev><redirdev type='tcp'><source service='2'/></redirdev><redirdev type='tcp'><source service='3'/></redirdev>`,
			`<redirdev type='tcp'><source service='3'/></redirdev><redirdev type='tcp'><source service='1'/></redirdev><redirdev type='tcp'><source service='4'/></redirdev>`,
			`<redirdev type='tcp'><source service='1'/></redirdev><redirdev type='tcp'><source service='2'/></redirdev><redirdev type='tcp'><source service='3'/></redirdev>`,
			"devices/redirdev/source@service"},
		{"one of two that are the same", `<redirdev type='spicevmc'/><redirdev type='spicevmc'/>`, `<redirdev type='spicevmc'/>`, `<redirdev type='spicevmc'/><redirdev type='spicevmc'/>`, "devices/redirdev"},
		{"what libvirt would add by itself", `<input type='mouse' bus='usb'/>`, `<input type='mouse' bus='ps2'/>`, `<input type='mouse' bus='usb'/><input type='mouse' bus='ps2'/>`, "devices/input[mouse,usb]"},
		{"companions share an index", `<controller type='usb' index='0' model='ich9-ehci1'/><controller type='usb' index='0' model='ich9-uhci1'/>`,
			`<controller type='usb' index='0' model='ich9-uhci1'/><controller type='usb' index='0' model='ich9-ehci1'/>`, `<controller type='usb' index='0' model='ich9-ehci1'/><controller type='usb' index='0' model='ich9-uhci1'/>`, ""},
		{"what a type has no use for goes with it", `<serial type='file'><source path='/a'/></serial>`, `<serial type='null'><source path='/a'/></serial>`, `<serial type='file'><source path='/a'/><target port='0'/></serial>`, "devices/serial@type"},
		{"what overrules something is one change", `<memballoon model='virtio'><stats period='5'/></memballoon>`, `<memballoon model='virtio'><stats period='5'/></memballoon>`, `<memballoon model='none'/>`, "devices/memballoon@model"},
		{"an element of several parts is one", `<disk><target dev='vda'/><iotune><a>1</a><b>2</b></iotune></disk>`, `<disk><target dev='vda'/></disk>`, `<disk><target dev='vda'/><iotune><a>1</a><b>2</b><c>3</c></iotune></disk>`, "devices/disk[vda]/iotune"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			domain := func(devices string) *Element { return parse(t, "<domain><devices>"+devices+"</devices></domain>") }
			next, changes := Converge(domain(tt.have), domain(tt.want), domain(tt.was))
			var paths []string
			for _, c := range changes {
				paths = append(paths, c.Path)
			}
			if got := strings.Join(paths, " "); got != tt.changes {
				t.Errorf("changes = %v\nwant %s", changes, tt.changes)
			}
			if again := Compare(domain(tt.want), next, domain(tt.want)); len(again) != 0 {
				t.Errorf("a second comparison finds %v in\n%s", again, next)
			}
		})
	}
}
