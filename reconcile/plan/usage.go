package plan

// Usage is what a domain has used since it was started, and what it may use.
type Usage struct {
	Name, UUID string
	// Values are of the domain as a whole: state.state, cpu.time, balloon.current, vcpu.current and the like.
	Values []UsageValue
	// Disks, Interfaces and VCPUs have values by the names that follow block.N, net.N and vcpu.N: rd.bytes, rx.pkts, time.
	Disks, Interfaces, VCPUs []DeviceUsage
}

// DeviceUsage is of one device.
type DeviceUsage struct {
	// Name is the guest's target name of a disk (vda), the host's device of an interface (vnet0), and the number of a vCPU.
	Name string
	// Path is the file or block device of a disk; empty where there is none.
	Path   string
	Values []UsageValue
}

// UsageValue is a number by libvirt's name of it (virConnectGetAllDomainStats), in libvirt's unit.
type UsageValue struct {
	Stat  string
	Value uint64
}
