package manifest

import (
	"encoding/xml"
	"fmt"
)

// libvirtMachine is a VirtualMachine of 2017, when its domain was libvirt's own structure (formatdomain) written in YAML:
// attributes and elements are fields, and what there can be several of is a list in the plural.
type libvirtMachine struct {
	foreignHeader
	Spec libvirtSpec `json:"spec"`
}

type libvirtSpec struct {
	Domain       *libvirtDomain    `json:"domain"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

type libvirtDomain struct {
	XMLName xml.Name `xml:"domain" json:"-"`
	Type    string   `xml:"type,attr,omitempty" json:"type,omitempty"`
	Name    string   `xml:"-" json:"name,omitempty"`
	UUID    string   `xml:"uuid,omitempty" json:"uuid,omitempty"`
	Memory  struct {
		Unit  string `xml:"unit,attr,omitempty" json:"unit,omitempty"`
		Value uint64 `xml:",chardata" json:"value"`
	} `xml:"memory" json:"memory"`
	VCPU *struct {
		Value uint32 `xml:",chardata" json:"value"`
	} `xml:"vcpu" json:"vcpu,omitempty"`
	OS      libvirtOS       `xml:"os" json:"os"`
	SysInfo *libvirtSysInfo `xml:"sysinfo" json:"sysInfo,omitempty"`
	Clock   *libvirtClock   `xml:"clock" json:"clock,omitempty"`
	Devices libvirtDevices  `xml:"devices" json:"devices"`
}

type libvirtOS struct {
	Type struct {
		Arch    string `xml:"arch,attr,omitempty" json:"arch,omitempty"`
		Machine string `xml:"machine,attr,omitempty" json:"machine,omitempty"`
		OS      string `xml:",chardata" json:"os"`
	} `xml:"type" json:"type"`
	SMBIOS *struct {
		Mode string `xml:"mode,attr" json:"mode"`
	} `xml:"smbios" json:"smBIOS,omitempty"`
	Boot []struct {
		Dev string `xml:"dev,attr" json:"dev"`
	} `xml:"boot" json:"bootOrder,omitempty"`
	BootMenu *struct {
		Enabled string `xml:"enable,attr,omitempty" json:"enabled,omitempty"`
		Timeout *uint  `xml:"timeout,attr,omitempty" json:"timeout,omitempty"`
	} `xml:"bootmenu" json:"bootMenu,omitempty"`
}

type libvirtEntry struct {
	Name  string `xml:"name,attr" json:"name"`
	Value string `xml:",chardata" json:"value"`
}

type libvirtSysInfo struct {
	Type   string         `xml:"type,attr" json:"type"`
	BIOS   []libvirtEntry `xml:"bios>entry" json:"bios,omitempty"`
	System []libvirtEntry `xml:"system>entry" json:"system,omitempty"`
	Board  []libvirtEntry `xml:"baseBoard>entry" json:"baseBoard,omitempty"`
}

type libvirtClock struct {
	Offset string `xml:"offset,attr,omitempty" json:"offset,omitempty"`
	Timer  []struct {
		Name       string `xml:"name,attr" json:"name"`
		TickPolicy string `xml:"tickpolicy,attr,omitempty" json:"tickPolicy,omitempty"`
		Present    string `xml:"present,attr,omitempty" json:"present,omitempty"`
	} `xml:"timer" json:"timer,omitempty"`
}

type libvirtDevices struct {
	Disks      []libvirtDisk      `xml:"disk" json:"disks,omitempty"`
	Interfaces []libvirtInterface `xml:"interface" json:"interfaces,omitempty"`
	Channels   []libvirtCharacter `xml:"channel" json:"channels,omitempty"`
	Serials    []libvirtCharacter `xml:"serial" json:"serials,omitempty"`
	Consoles   []libvirtCharacter `xml:"console" json:"consoles,omitempty"`
	Graphics   []libvirtGraphics  `xml:"graphics" json:"graphics,omitempty"`
	Video      []libvirtVideo     `xml:"video" json:"video,omitempty"`
	Ballooning *struct {
		Model string `xml:"model,attr" json:"model"`
	} `xml:"memballoon" json:"memballoon,omitempty"`
	Watchdog *struct {
		Model  string `xml:"model,attr" json:"model"`
		Action string `xml:"action,attr,omitempty" json:"action,omitempty"`
	} `xml:"watchdog" json:"watchdog,omitempty"`
}

type libvirtAlias struct {
	Name string `xml:"name,attr" json:"name"`
}

type libvirtBoot struct {
	Order uint `xml:"order,attr" json:"order"`
}

type libvirtDisk struct {
	Type     string `xml:"type,attr,omitempty" json:"type,omitempty"`
	Device   string `xml:"device,attr,omitempty" json:"device,omitempty"`
	Snapshot string `xml:"snapshot,attr,omitempty" json:"snapshot,omitempty"`
	Driver   *struct {
		Name        string `xml:"name,attr,omitempty" json:"name,omitempty"`
		Type        string `xml:"type,attr,omitempty" json:"type,omitempty"`
		Cache       string `xml:"cache,attr,omitempty" json:"cache,omitempty"`
		ErrorPolicy string `xml:"error_policy,attr,omitempty" json:"errorPolicy,omitempty"`
		IO          string `xml:"io,attr,omitempty" json:"io,omitempty"`
	} `xml:"driver" json:"driver,omitempty"`
	Auth *struct {
		Username string `xml:"username,attr,omitempty" json:"username,omitempty"`
		Secret   *struct {
			Type  string `xml:"type,attr" json:"type"`
			Usage string `xml:"usage,attr,omitempty" json:"usage,omitempty"`
			UUID  string `xml:"uuid,attr,omitempty" json:"uuid,omitempty"`
		} `xml:"secret" json:"secret,omitempty"`
	} `xml:"auth" json:"auth,omitempty"`
	Source *struct {
		File          string `xml:"file,attr,omitempty" json:"file,omitempty"`
		Dev           string `xml:"dev,attr,omitempty" json:"dev,omitempty"`
		StartupPolicy string `xml:"startupPolicy,attr,omitempty" json:"startupPolicy,omitempty"`
		Protocol      string `xml:"protocol,attr,omitempty" json:"protocol,omitempty"`
		Name          string `xml:"name,attr,omitempty" json:"name,omitempty"`
		Host          *struct {
			Name string `xml:"name,attr" json:"name"`
			Port string `xml:"port,attr,omitempty" json:"port,omitempty"`
		} `xml:"host" json:"host,omitempty"`
	} `xml:"source" json:"source,omitempty"`
	Target *struct {
		Bus string `xml:"bus,attr,omitempty" json:"bus,omitempty"`
		Dev string `xml:"dev,attr,omitempty" json:"dev,omitempty"`
	} `xml:"target" json:"target,omitempty"`
	ReadOnly *struct{}     `xml:"readonly" json:"readOnly,omitempty"`
	Serial   string        `xml:"serial,omitempty" json:"serial,omitempty"`
	Boot     *libvirtBoot  `xml:"boot" json:"boot,omitempty"`
	Alias    *libvirtAlias `xml:"alias" json:"alias,omitempty"`
}

type libvirtInterface struct {
	Type string `xml:"type,attr" json:"type"`
	MAC  *struct {
		Address string `xml:"address,attr" json:"address"`
	} `xml:"mac" json:"mac,omitempty"`
	Source *struct {
		Network string `xml:"network,attr,omitempty" json:"network,omitempty"`
		Bridge  string `xml:"bridge,attr,omitempty" json:"bridge,omitempty"`
		Device  string `xml:"dev,attr,omitempty" json:"device,omitempty"`
		Mode    string `xml:"mode,attr,omitempty" json:"mode,omitempty"`
	} `xml:"source" json:"source,omitempty"`
	Target *struct {
		Device string `xml:"dev,attr" json:"dev"`
	} `xml:"target" json:"target,omitempty"`
	Model *struct {
		Type string `xml:"type,attr" json:"type"`
	} `xml:"model" json:"model,omitempty"`
	LinkState *struct {
		State string `xml:"state,attr" json:"state"`
	} `xml:"link" json:"link,omitempty"`
	FilterRef *struct {
		Filter string `xml:"filter,attr" json:"filter"`
	} `xml:"filterref" json:"filterRef,omitempty"`
	Boot  *libvirtBoot  `xml:"boot" json:"boot,omitempty"`
	Alias *libvirtAlias `xml:"alias" json:"alias,omitempty"`
}

type libvirtCharacter struct {
	Type   string `xml:"type,attr" json:"type"`
	Source *struct {
		Mode string `xml:"mode,attr,omitempty" json:"mode,omitempty"`
		Path string `xml:"path,attr,omitempty" json:"path,omitempty"`
	} `xml:"source" json:"source,omitempty"`
	Target *struct {
		Type string `xml:"type,attr,omitempty" json:"type,omitempty"`
		Name string `xml:"name,attr,omitempty" json:"name,omitempty"`
		Port *uint  `xml:"port,attr,omitempty" json:"port,omitempty"`
	} `xml:"target" json:"target,omitempty"`
	Alias *libvirtAlias `xml:"alias" json:"alias,omitempty"`
}

type libvirtGraphics struct {
	Type          string `xml:"type,attr" json:"type"`
	Port          *int   `xml:"port,attr,omitempty" json:"port,omitempty"`
	TLSPort       *int   `xml:"tlsPort,attr,omitempty" json:"tlsPort,omitempty"`
	AutoPort      string `xml:"autoport,attr,omitempty" json:"autoPort,omitempty"`
	DefaultMode   string `xml:"defaultMode,attr,omitempty" json:"defaultMode,omitempty"`
	ListenAddress string `xml:"listen,attr,omitempty" json:"listenAddress,omitempty"`
	Listen        *struct {
		Type    string `xml:"type,attr" json:"type"`
		Address string `xml:"address,attr,omitempty" json:"address,omitempty"`
		Network string `xml:"network,attr,omitempty" json:"network,omitempty"`
	} `xml:"listen" json:"listen,omitempty"`
}

type libvirtVideo struct {
	Type   string `xml:"-" json:"type"`
	Heads  *uint  `xml:"-" json:"heads,omitempty"`
	RAM    *uint  `xml:"-" json:"ram,omitempty"`
	VRAM   *uint  `xml:"-" json:"vram,omitempty"`
	VGAMem *uint  `xml:"-" json:"vgamem,omitempty"`
}

// MarshalXML puts the attributes where libvirt has them: in <model>.
func (v libvirtVideo) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(struct {
		Model any `xml:"model"`
	}{struct {
		Type   string `xml:"type,attr"`
		Heads  *uint  `xml:"heads,attr,omitempty"`
		RAM    *uint  `xml:"ram,attr,omitempty"`
		VRAM   *uint  `xml:"vram,attr,omitempty"`
		VGAMem *uint  `xml:"vgamem,attr,omitempty"`
	}{v.Type, v.Heads, v.RAM, v.VRAM, v.VGAMem}}, start)
}

func (m *libvirtMachine) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	if m.Spec.Domain == nil {
		c.add("spec.domain", "is missing; say the domain, or apiVersion: kubevirt.io/v1 for a machine that has a template")
	} else if m.Spec.Domain.Memory.Value == 0 {
		c.add("spec.domain.memory.value", "is missing; say how much memory the guest has")
	}
}

func (m *libvirtMachine) documents() []any {
	c := &Config{Header: m.header(KindConfig, "spec")}
	r := &RunState{Header: m.header(KindRunState, "spec")}
	c.Spec.RestartPolicy = RestartNever
	text, err := xml.Marshal(m.Spec.Domain)
	if err != nil { // the types above are all that encoding/xml takes
		panic(fmt.Sprintf("manifest: cannot write a domain: %v", err))
	}
	c.Spec.Template.Metadata = Meta{Labels: m.Metadata.Labels}
	c.Spec.Template.Spec = PartialOf(Tree{"domainXML": string(text)})
	selector := map[string]any{}
	for label, value := range m.Spec.NodeSelector {
		selector[label] = value
	}
	_, r.Spec.Placement, r.Spec.Host, _ = foreignTree{"nodeSelector": selector}.split()
	r.Spec.State = StateRunning
	return []any{c, r}
}
