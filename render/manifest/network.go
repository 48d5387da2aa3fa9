package manifest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostNetwork is a Network: a libvirt network that hosts have. (A template's networks are of type Network.)
type HostNetwork struct {
	Header
	Spec HostNetworkSpec `json:"spec"`
}

// HostScope says which hosts have something. One of its fields is said.
type HostScope struct {
	// Hosts are the names of the hosts that have it.
	Hosts []string `json:"hosts,omitempty"`
	// HostSelector is matched with the labels of Host documents; each that matches has it.
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
}

// Ownership says what a libvirt object is known by, and what may be done to it.
type Ownership struct {
	// Name is libvirt's on the host; metadata.name when it is left out.
	Name string `json:"name,omitempty"`
	// UUID is libvirt's. When it is left out, it follows from the fleet's name and the object's; one that is adopted
	// keeps its own.
	UUID string `json:"uuid,omitempty"`
	// Adopt lets the agent take over one of this name that it did not make.
	Adopt bool `json:"adopt,omitempty"`
	// Rollout says what becomes of a change that libvirt cannot make while the object is active: it is written into the
	// definition and waits for somebody to start it anew (Stage), or the agent does that (Restart).
	Rollout Rollout `json:"rollout,omitempty"`
	// Active is false for one that is defined only. One that is active is not stopped for this field.
	Active *bool `json:"active,omitempty"`
	// Autostart has libvirt start it with its daemon, and so with the host.
	Autostart *bool `json:"autostart,omitempty"`
}

// HostNetworkSpec is what a Network says. It says all of the network: what somebody adds on the host is taken out again.
type HostNetworkSpec struct {
	HostScope `json:",inline"`
	Ownership `json:",inline"`

	// Forward connects it to other networks. Without it, the guests reach each other and the host only.
	Forward *NetworkForward `json:"forward,omitempty"`
	// Bridge is the bridge that guests are connected to: one that libvirt makes, or with forward.mode: bridge one that
	// the host has.
	Bridge *NetworkBridge `json:"bridge,omitempty"`
	// MACAddress is that of the bridge. When it is left out, it follows from the fleet's name and the network's; libvirt's
	// own choice is kept where a network is adopted.
	MACAddress string `json:"macAddress,omitempty"`
	// MTU is of the bridge and of the guests' devices on it, in bytes.
	MTU *int `json:"mtu,omitempty"`
	// Domain is the DNS domain of the guests.
	Domain *NetworkDomain `json:"domain,omitempty"`
	// Addresses are the host's own on the bridge, each with what it serves there.
	Addresses []NetworkAddress `json:"addresses,omitempty"`
	// IPv6 lets guests speak IPv6 to each other where the network has no address of it.
	IPv6 bool `json:"ipv6,omitempty"`
	// DNS is what the network's name server does.
	DNS *NetworkDNS `json:"dns,omitempty"`
	// Routes are networks that are reached by way of a guest.
	Routes []NetworkRoute `json:"routes,omitempty"`
	// VLAN has the tags of all guests' frames. The bridge has to know VLANs: Open vSwitch, an SR-IOV function, or a Linux
	// bridge with libvirt 11 and later.
	VLAN *VLANTags `json:"vlan,omitempty"`
	// VirtualPort is how guests are connected to a switch that wants to know more.
	VirtualPort *VirtualPort `json:"virtualPort,omitempty"`
	// PortGroups are named ways to be connected to it; an interface says which with portGroup.
	PortGroups []PortGroup `json:"portGroups,omitempty"`
	// Bandwidth bounds what all guests together send and receive.
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	// IsolatePorts keeps guests from reaching each other.
	IsolatePorts bool `json:"isolatePorts,omitempty"`
	// TrustGuestRxFilters lets guests change their MAC addresses and multicast filters (macvtap only).
	TrustGuestRxFilters bool `json:"trustGuestRxFilters,omitempty"`
	// NetworkXML is libvirt's own language, merged over the rendered network.
	NetworkXML string `json:"networkXML,omitempty"`
}

// NetworkForward is how a network is connected to others.
type NetworkForward struct {
	// Mode is nat (the default), route, open (routed, and libvirt writes no firewall rules), bridge (the host's bridge that
	// bridge.name says, or macvtap on devices), private, vepa or passthrough (macvtap), or isolated.
	Mode string `json:"mode,omitempty"`
	// Devices are those of the host that it is connected by, such as eth0. With nat, route and open there is one at most, and
	// traffic by other devices is not let through; with macvtap each guest gets the one with the fewest on it.
	Devices []string `json:"devices,omitempty"`
	// NAT says what the guests' addresses are translated to.
	NAT *NetworkNAT `json:"nat,omitempty"`
}

// NetworkNAT is what guests' addresses are translated to.
type NetworkNAT struct {
	// Addresses are what is translated to, instead of the host's own.
	Addresses *AddressRange `json:"addresses,omitempty"`
	// Ports are what is translated to; 1024 to 65535 when it is left out.
	Ports *PortRange `json:"ports,omitempty"`
	// IPv6 has IPv6 translated too.
	IPv6 bool `json:"ipv6,omitempty"`
}

// AddressRange is from one address to another, both of it.
type AddressRange struct {
	// Start is the first.
	Start string `json:"start"`
	// End is the last.
	End string `json:"end"`
}

// PortRange is from one port to another, both of it.
type PortRange struct {
	// Start is the first.
	Start uint16 `json:"start"`
	// End is the last.
	End uint16 `json:"end"`
}

// NetworkBridge is the bridge of a network.
type NetworkBridge struct {
	// Name is that of the device. When it is left out, libvirt takes the first virbrN that is free.
	Name string `json:"name,omitempty"`
	// STP is the spanning tree protocol.
	STP *bool `json:"stp,omitempty"`
	// DelaySeconds is how long a new port listens before it forwards.
	DelaySeconds int `json:"delaySeconds,omitempty"`
	// Zone is firewalld's; libvirt's own when it is left out.
	Zone string `json:"zone,omitempty"`
	// MACTableManager is who keeps the table of the guests' addresses: kernel (the default), or libvirt, which then turns off
	// learning and flooding.
	MACTableManager string `json:"macTableManager,omitempty"`
}

// NetworkDomain is a DNS domain.
type NetworkDomain struct {
	// Name is the domain's.
	Name string `json:"name"`
	// LocalOnly keeps questions about it from being asked elsewhere.
	LocalOnly bool `json:"localOnly,omitempty"`
}

// NetworkAddress is an address of the host on a network.
type NetworkAddress struct {
	// Address has the length of its prefix: 192.0.2.1/24 or 2001:db8::1/64.
	Address string `json:"address"`
	// LocalPTR has reverse DNS questions about this subnet answered by the network only.
	LocalPTR bool `json:"localPTR,omitempty"`
	// TFTPRoot is a folder of the host that is served by TFTP.
	TFTPRoot string `json:"tftpRoot,omitempty"`
	// DHCP gives out addresses of the subnet.
	DHCP *NetworkDHCP `json:"dhcp,omitempty"`
}

// NetworkDHCP gives out addresses.
type NetworkDHCP struct {
	// Ranges are given to whoever asks. A host's own address may be in one.
	Ranges []DHCPRange `json:"ranges,omitempty"`
	// Hosts get addresses of their own. Those that the addresses of an interface say need not be here.
	Hosts []DHCPHost `json:"hosts,omitempty"`
	// BootP is what guests that boot from the network are told.
	BootP *BootP `json:"bootp,omitempty"`
}

// DHCPRange is a range of addresses that are given out.
type DHCPRange struct {
	AddressRange `json:",inline"`
	// LeaseTime is how long they are given for; an hour when it is left out, and 0s is for ever. libvirt counts seconds, and 2
	// minutes at least.
	LeaseTime *metav1.Duration `json:"leaseTime,omitempty"`
}

// DHCPHost is a host with an address of its own.
type DHCPHost struct {
	// MACAddress is how it is known. One of it and ID is said, or for IPv4 a name.
	MACAddress string `json:"macAddress,omitempty"`
	// ID is a DHCPv6 client's identifier (DUID).
	ID string `json:"id,omitempty"`
	// Name is what it is told it is called, and what DNS knows it by.
	Name string `json:"name,omitempty"`
	// IP is its address, of this subnet.
	IP string `json:"ip,omitempty"`
	// LeaseTime is how long it is given for.
	LeaseTime *metav1.Duration `json:"leaseTime,omitempty"`
}

// BootP is what guests that boot from the network are told.
type BootP struct {
	// File is the boot loader's, on the server.
	File string `json:"file"`
	// Server is its address; the host's when it is left out.
	Server string `json:"server,omitempty"`
}

// NetworkDNS is a network's name server.
type NetworkDNS struct {
	// Enabled is false for none.
	Enabled *bool `json:"enabled,omitempty"`
	// ForwardPlainNames is false to keep names without a dot from being asked elsewhere.
	ForwardPlainNames *bool `json:"forwardPlainNames,omitempty"`
	// Forwarders are the name servers that are asked; the host's own when there are none.
	Forwarders []DNSForwarder `json:"forwarders,omitempty"`
	// Hosts are names of addresses.
	Hosts []DNSHost `json:"hosts,omitempty"`
	// Services are SRV records.
	Services []DNSService `json:"services,omitempty"`
	// Texts are TXT records.
	Texts []DNSText `json:"texts,omitempty"`
}

// DNSForwarder is a name server that is asked. It has an address, a domain, or both.
type DNSForwarder struct {
	// Domain is what it is asked about; everything when it is left out.
	Domain string `json:"domain,omitempty"`
	// Address is its; the domain is asked of the host's own name servers when it is left out.
	Address string `json:"address,omitempty"`
}

// DNSHost is an address with its names.
type DNSHost struct {
	// IP is the address.
	IP string `json:"ip"`
	// Names are what it is called.
	Names []string `json:"names"`
}

// DNSService is an SRV record (RFC 2782).
type DNSService struct {
	// Service is its name, such as ldap.
	Service string `json:"service"`
	// Protocol is tcp or udp, or any other name.
	Protocol string `json:"protocol"`
	// Domain is the one that it is of; the network's when it is left out.
	Domain string `json:"domain,omitempty"`
	// Target is the host that has it; without one, the service is said to be nowhere.
	Target string `json:"target,omitempty"`
	// Port is the target's.
	Port uint16 `json:"port,omitempty"`
	// Priority is the target's; lower ones are tried first.
	Priority uint16 `json:"priority,omitempty"`
	// Weight is the target's share among those of the same priority.
	Weight uint16 `json:"weight,omitempty"`
}

// DNSText is a TXT record.
type DNSText struct {
	// Name is what it is of.
	Name string `json:"name"`
	// Value is the text.
	Value string `json:"value"`
}

// NetworkRoute is a network that is reached by way of a guest.
type NetworkRoute struct {
	// Address is the network's, with the length of its prefix.
	Address string `json:"address"`
	// Gateway is the guest's address.
	Gateway string `json:"gateway"`
	// Metric is lower for a route that is preferred.
	Metric uint32 `json:"metric,omitempty"`
}

// VLANTags are the VLANs of guests' frames.
type VLANTags struct {
	// Trunk lets guests send and receive frames of all tags; it is so with several tags in any case.
	Trunk bool `json:"trunk,omitempty"`
	// Tags are the VLANs'.
	Tags []VLANTag `json:"tags"`
}

// VLANTag is one VLAN.
type VLANTag struct {
	// ID is 1 to 4094.
	ID uint16 `json:"id"`
	// NativeMode is tagged or untagged, for the VLAN of a trunk that frames without a tag belong to (Open vSwitch only).
	NativeMode string `json:"nativeMode,omitempty"`
}

// VirtualPort says more of a guest's port to a switch that wants to know.
type VirtualPort struct {
	// Type is openvswitch, midonet, 802.1Qbg or 802.1Qbh.
	Type string `json:"type"`
	// Parameters are those of the type: interfaceid, profileid, managerid, typeid, typeidversion, instanceid.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// PortGroup is a way to be connected to a network.
type PortGroup struct {
	// Name is what interfaces say.
	Name string `json:"name"`
	// Default is for the one that interfaces get which say none.
	Default bool `json:"default,omitempty"`
	// VLAN has the tags of the guests' frames.
	VLAN *VLANTags `json:"vlan,omitempty"`
	// VirtualPort is how they are connected.
	VirtualPort *VirtualPort `json:"virtualPort,omitempty"`
	// Bandwidth bounds what each guest sends and receives.
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	// TrustGuestRxFilters lets guests change their MAC addresses and multicast filters (macvtap only).
	TrustGuestRxFilters bool `json:"trustGuestRxFilters,omitempty"`
}

// Bandwidth bounds what is sent and received.
type Bandwidth struct {
	// Inbound is what guests receive.
	Inbound *Rate `json:"inbound,omitempty"`
	// Outbound is what guests send.
	Outbound *Rate `json:"outbound,omitempty"`
}

// Rate is a bound of traffic.
type Rate struct {
	// AverageKBps is in KiB a second.
	AverageKBps uint32 `json:"averageKBps,omitempty"`
	// PeakKBps is in KiB a second.
	PeakKBps uint32 `json:"peakKBps,omitempty"`
	// BurstKB is how many KiB may go at the peak.
	BurstKB uint32 `json:"burstKB,omitempty"`
	// FloorKBps is what a guest gets in any case, in KiB a second; of inbound only.
	FloorKBps uint32 `json:"floorKBps,omitempty"`
}

// LibvirtName is what libvirt knows the network by.
func (n *HostNetwork) LibvirtName() string { return n.Spec.named(n.Metadata.Name) }

func (o *Ownership) named(document string) string {
	if o.Name != "" {
		return o.Name
	}
	return document
}

// IsActive says whether the object is to be started.
func (o *Ownership) IsActive() bool { return o.Active == nil || *o.Active }

// StartsItself says whether libvirt is to start it with its daemon.
func (o *Ownership) StartsItself() bool { return o.Autostart == nil || *o.Autostart }
