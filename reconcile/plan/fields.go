package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// A field is where a part of the domain's XML comes from in a template's spec, in KubeVirt's words.
type field struct {
	xml    *regexp.Regexp
	spec   string
	amount bool // a number of KiB
}

// fieldTable is in order: the first that matches counts. What matches none was said in domainXML, or is shown as if it
// was.
var fieldTable = []field{
	{regexp.MustCompile(`^memory$`), "domain.memory.guest", true},
	{regexp.MustCompile(`^currentMemory$`), "domain.memory.guest", true},
	{regexp.MustCompile(`^cpu/topology@(cores|sockets|threads)$`), "domain.cpu.$1", false},
	{regexp.MustCompile(`^cpu(@mode|/model)$`), "domain.cpu.model", false},
	{regexp.MustCompile(`^os/type@machine$`), "domain.machine.type", false},
	{regexp.MustCompile(`^os@firmware$|^os/firmware.*`), "domain.firmware.bootloader.efi", false},
	{regexp.MustCompile(`^os/bios@useserial$`), "domain.firmware.bootloader.bios.useSerial", false},
	{regexp.MustCompile(`^features/([a-z_]+)(@state)?$`), "domain.features.$1", false},
	{regexp.MustCompile(`^features/hyperv/([a-z_]+)(@state)?$`), "domain.features.hyperv.$1", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/target@bus$`), "domain.devices.disks[$1].bus", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/driver@cache$`), "domain.devices.disks[$1].cache", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/boot@order$|^devices/disk\[([^]]*)\]/boot$`), "domain.devices.disks[$1$2].bootOrder", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/(serial|readonly)$`), "domain.devices.disks[$1].$2", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]/(?:source.*|driver@type)$|^devices/disk\[([^]]*)\]@type$`), "volumes[$1$2]", false},
	{regexp.MustCompile(`^devices/disk\[([^]]*)\]$`), "domain.devices.disks[$1]", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/model@type$`), "domain.devices.interfaces[$1].model", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/mac@address$`), "domain.devices.interfaces[$1].macAddress", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/boot(@order)?$`), "domain.devices.interfaces[$1].bootOrder", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]/source.*$|^devices/interface\[([^]]*)\]@type$`), "networks[$1$2]", false},
	{regexp.MustCompile(`^devices/interface\[([^]]*)\]$`), "domain.devices.interfaces[$1]", false},
	{regexp.MustCompile(`^devices/rng.*$`), "domain.devices.rng", false},
}

// fields says changes of XML in the words of the documents. Several that come from one field become one.
func fields(changes []domxml.Change) []Change {
	if len(changes) == 0 {
		return nil
	}
	topology := slices.ContainsFunc(changes, func(c domxml.Change) bool { return strings.HasPrefix(c.Path, "cpu/topology") })
	var list []Change
	for _, c := range changes {
		if c.Path == "vcpu" && topology {
			continue // the product of the topology
		}
		change := Change{Path: "domainXML:" + c.Path, From: c.From, To: c.To}
		for _, f := range fieldTable {
			if !f.xml.MatchString(c.Path) {
				continue
			}
			change.Path = f.xml.ReplaceAllString(c.Path, f.spec)
			if f.amount {
				change.From, change.To = kib(strings.TrimSuffix(c.From, " KiB")), kib(strings.TrimSuffix(c.To, " KiB"))
			}
			break
		}
		if !slices.ContainsFunc(list, func(o Change) bool { return o.Path == change.Path }) {
			list = append(list, change)
		}
	}
	return list
}
