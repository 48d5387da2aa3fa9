package manifest

import (
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Preset is a VirtualMachinePreset: what several configs have in common, such as a disk and a device to inject.
type Preset struct {
	Header
	Spec PresetSpec `json:"spec"`
}

// PresetSpec is a selector, and the fields of a template's spec beside it.
type PresetSpec struct {
	// Selector is matched with the labels of a config and of its template. Without one, the preset is for the configs
	// that name it.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Template has been checked against InstanceSpec.
	Template Tree `json:"-"`
}

// MarshalJSON puts the selector among the template's fields, as it is read.
func (p PresetSpec) MarshalJSON() ([]byte, error) {
	fields := maps.Clone(p.Template)
	if fields == nil {
		fields = Tree{}
	}
	if p.Selector != nil {
		fields["selector"] = p.Selector
	}
	return json.Marshal(fields)
}

// Group is a VirtualMachineGroup: several machines of one config, NAME-0 to NAME-(replicas-1).
type Group struct {
	Header
	Spec GroupSpec `json:"spec"`
}

// GroupSpec is what a group says.
type GroupSpec struct {
	// Config is the name of the config; metadata.name when empty.
	Config string `json:"config,omitempty"`
	// Replicas is how many there are; 1 when it is left out.
	Replicas *int32 `json:"replicas,omitempty"`
	// Hosts are the names of hosts, in the order in which the group came to them: one that is added at the end takes
	// over its share and nothing else moves. It or HostSelector is said, not both.
	Hosts []string `json:"hosts,omitempty"`
	// HostSelector is matched with the labels of Host documents, which are taken in the order of their names.
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// State is Running when empty.
	State PowerState `json:"state,omitempty"`
	// Run is raised to restart all members.
	Run int64 `json:"run,omitempty"`
	// Revision pins the members' config to a commit, as that of a RunState does.
	Revision string `json:"revision,omitempty"`
	// MaxUnavailable is how many members of a host are restarted at once; 1 when it is left out.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// MoveVolumes is "Recreate" to let members that move begin with empty volumes.
	MoveVolumes string `json:"moveVolumes,omitempty"`
}

// ConfigName is the config that the group's members are of.
func (g *Group) ConfigName() string {
	if g.Spec.Config != "" {
		return g.Spec.Config
	}
	return g.Metadata.Name
}

// Size is the number of members.
func (g *Group) Size() int {
	if g.Spec.Replicas == nil {
		return 1
	}
	return int(*g.Spec.Replicas)
}

// Host is what a revision says of a host. A host needs no document to run machines.
type Host struct {
	Header
	Spec HostSpec `json:"spec,omitempty"`
}

// HostSpec is what a host has.
type HostSpec struct {
	// Suspend holds all that the host's agent would do.
	Suspend *Suspend `json:"suspend,omitempty"`
	// PodNetwork is what a cluster's own network is here; libvirt's network "default" when it is left out.
	PodNetwork *NetworkSource `json:"podNetwork,omitempty"`
	// Networks are a cluster's further networks, by the networkName of multus.
	Networks map[string]NetworkSource `json:"networks,omitempty"`
	// StorageClasses are what claims that a manifest makes are kept in, by the class's name; "" is for claims that name
	// none.
	StorageClasses map[string]StorageClass `json:"storageClasses,omitempty"`
	// Claims are the volumes that claims (and data volumes) of these names stand for.
	Claims map[string]VolumeSource `json:"claims,omitempty"`
	// DedicatedCPUs are the CPUs of the host that machines with dedicatedCpuPlacement get to themselves, as a list such as
	// 2-7,10. Machines take them in the order of their own names.
	DedicatedCPUs string `json:"dedicatedCPUs,omitempty"`
	// Devices are the host's devices, by the deviceName of hostDevices and gpus. Machines take them in the order of their
	// own names.
	Devices map[string][]HostDevice `json:"devices,omitempty"`
}

// Suspend says why a host is left alone, and how long.
type Suspend struct {
	// Reason is told to those who look at the host.
	Reason string `json:"reason"`
	// Until is when it ends by itself; never, when it is left out.
	Until *metav1.Time `json:"until,omitempty"`
}

// StorageClass is where volumes of a class are kept.
type StorageClass struct {
	// Pool is "default" when it is left out.
	Pool string `json:"pool,omitempty"`
	// Format is qcow2 (the default) or raw.
	Format string `json:"format,omitempty"`
}

// HostDevice is a device of a host; exactly one of PCI, USB and MDev is set.
type HostDevice struct {
	// PCI is an address, as lspci -D prints it.
	PCI string `json:"pci,omitempty"`
	// USB is VENDOR:PRODUCT, as lsusb prints it.
	USB string `json:"usb,omitempty"`
	// MDev is the UUID of a mediated device.
	MDev string `json:"mdev,omitempty"`
	// Instance gives the device to the machine of this name alone.
	Instance string `json:"instance,omitempty"`
}
