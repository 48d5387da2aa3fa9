package imported

import (
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// TestLean: what libvirt says of each machine like it is left out, and nothing that is a choice.
func TestLean(t *testing.T) {
	const drive = "<address type='drive' controller='%c' bus='%b' target='0' unit='%u'/>"
	at := func(dev, bus, controller, channel, unit string) string {
		return "<disk><target dev='" + dev + "' bus='" + bus + "'/>" + strings.NewReplacer("%c", controller, "%b", channel, "%u", unit).Replace(drive) + "</disk>"
	}
	for name, tt := range map[string]struct {
		device string
		left   bool // whether it is left out, or what is in it
	}{
		"mouse":                      {"<input type='mouse' bus='ps2'/>", true},
		"another mouse":              {"<input type='mouse' bus='usb'/>", false},
		"a keyboard that is watched": {"<input type='keyboard' bus='ps2'><driver/></input>", false},
		"root":                       {"<controller type='pci' index='0' model='pcie-root'/>", false},
		"a port":                     {"<controller type='pci' index='1' model='pcie-root-port'/>", false},
		"the chipset's SATA":         {"<controller type='sata' index='0'><address type='pci' domain='0x0000' bus='0x00' slot='0x1f' function='0x2'/></controller>", true},
		"another SATA":               {"<controller type='sata' index='1'><address type='pci' domain='0x0000' bus='0x00' slot='0x1f' function='0x2'/></controller>", false},
		"sdb":                        {at("sdb", "sata", "0", "0", "1"), true},
		"sdg":                        {at("sdg", "sata", "1", "0", "0"), true},
		"sdb elsewhere":              {at("sdb", "sata", "0", "0", "2"), false},
		"hdd":                        {at("hdd", "ide", "0", "1", "1"), true},
		"a scsi disk":                {at("sda", "scsi", "0", "0", "0"), false},
		"sdaa":                       {at("sdaa", "sata", "4", "0", "2"), false},
		"graphics":                   {"<graphics type='vnc'><listen type='address'/></graphics>", true},
		"graphics on an address":     {"<graphics type='vnc'><listen type='address' address='127.0.0.1'/></graphics>", false},
		"a channel":                  {"<channel type='unix'><address type='virtio-serial' controller='0' bus='0' port='1'/></channel>", true},
		"a channel elsewhere":        {"<channel type='unix'><address type='virtio-serial' controller='0' bus='0' port='2'/></channel>", false},
		"two channels": {"<channel type='unix'><address type='virtio-serial' controller='0' bus='0' port='1'/></channel>" +
			"<channel type='pty'><address type='virtio-serial' controller='0' bus='0' port='2'/></channel>", false},
	} {
		for machine, is := range map[string]bool{"pc-q35-7.2": tt.left, "s390-ccw-virtio-7.2": false} {
			have, err := domxml.Parse("<domain><os><type arch='x86_64' machine='" + machine + "'>hvm</type></os><devices>" + tt.device + "</devices></domain>")
			if err != nil {
				t.Fatal(err)
			}
			before := have.String()
			if got := lean(have).String(); (got != before) != is || have.String() != before {
				t.Errorf("%s on %s becomes\n%s", name, machine, got)
			}
		}
	}
}
