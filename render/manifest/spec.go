package manifest

import (
	kubevirt "kubevirt.io/api/core/v1"
)

// KubeVirt's types without their methods: embedding VirtualMachineInstanceSpec itself would promote its UnmarshalJSON,
// which accepts unknown fields and leaves ours empty without an error.
type (
	kubevirtSpec      kubevirt.VirtualMachineInstanceSpec
	kubevirtDomain    kubevirt.DomainSpec
	kubevirtDevices   kubevirt.Devices
	kubevirtInterface kubevirt.Interface
)

// InstanceSpec is a template's spec: KubeVirt's, with the host's networks and volumes beside the cluster's, and
// libvirt's own language.
type InstanceSpec struct {
	kubevirtSpec `json:",inline"`

	Domain   DomainSpec `json:"domain"`
	Networks []Network  `json:"networks,omitempty"`
	Volumes  []Volume   `json:"volumes,omitempty"`
	// Secrets are those that the domainXML refers to.
	Secrets []Secret `json:"secrets,omitempty"`
	// DomainXML is libvirt's own language, merged over the rendered domain.
	DomainXML string `json:"domainXML,omitempty"`
	// DomainXMLFrom names a file that holds the domainXML, relative to the document's folder.
	//
	// Read makes it relative to the repository, and Set.Text has the file's content.
	DomainXMLFrom string `json:"domainXMLFrom,omitempty"`
}

// DomainSpec is KubeVirt's.
type DomainSpec struct {
	kubevirtDomain `json:",inline"`
	Devices        Devices `json:"devices"`
}

// Devices are KubeVirt's.
type Devices struct {
	kubevirtDevices `json:",inline"`
	Interfaces      []Interface `json:"interfaces,omitempty"`
	// AutoattachGuestAgent says whether there is a channel for QEMU's guest agent. There is when it is left out.
	AutoattachGuestAgent *bool `json:"autoattachGuestAgent,omitempty"`
}

// Interface is KubeVirt's, with addresses beside it.
type Interface struct {
	kubevirtInterface `json:",inline"`
	// Addresses are the guest's own, with their prefix lengths (192.0.2.10/24). A cloud-init seed that says nothing of
	// the network gives them to the guest.
	Addresses []string `json:"addresses,omitempty"`
}

// Network is what an interface of the same name is connected to; exactly one of its sources is set.
type Network struct {
	// Name is that of the interface: a DNS label.
	Name          string `json:"name"`
	NetworkSource `json:",inline"`
	// VLAN is the tag of the interface's frames, 1 to 4094. The bridge below has to know VLANs (Open vSwitch, an SR-IOV
	// function, or a Linux bridge with libvirt 11 and later).
	VLAN *uint16 `json:"vlan,omitempty"`
}

// NetworkSource is where a network is found. Pod and Multus are KubeVirt's names, which a Host says the meaning of.
type NetworkSource struct {
	// Libvirt is a libvirt network.
	Libvirt *LibvirtNetwork `json:"libvirt,omitempty"`
	// Bridge is a bridge of the host.
	Bridge string `json:"bridge,omitempty"`
	// Direct is a device of the host that is shared by macvtap.
	Direct *DirectNetwork `json:"direct,omitempty"`
	// PCI is the host's PCI address of a network function that the guest gets to itself (0000:65:00.1).
	PCI string `json:"pci,omitempty"`
	// User is QEMU's user-mode network (SLIRP).
	User *UserNetwork `json:"user,omitempty"`
	// Pod is a cluster's own network. Where the Host does not say what it is, it is libvirt's network "default".
	Pod *PodNetwork `json:"pod,omitempty"`
	// Multus is one of a cluster's further networks.
	Multus *MultusNetwork `json:"multus,omitempty"`
}

// LibvirtNetwork names a libvirt network.
type LibvirtNetwork struct {
	// Network is its name on the host.
	Network string `json:"network"`
	// PortGroup is one that the network defines.
	PortGroup string `json:"portGroup,omitempty"`
}

// DirectNetwork is a macvtap device on one of the host's.
type DirectNetwork struct {
	// Dev is the name of the host's device, such as eth0.
	Dev string `json:"dev"`
	// Mode is bridge (the default), vepa, private or passthrough.
	Mode string `json:"mode,omitempty"`
}

// UserNetwork has no settings.
type UserNetwork struct{}

// PodNetwork is KubeVirt's; its ranges of addresses are the cluster's business.
type PodNetwork struct{}

// MultusNetwork names a NetworkAttachmentDefinition, as NAME or NAMESPACE/NAME.
type MultusNetwork struct {
	// NetworkName is its name, or its namespace and name.
	NetworkName string `json:"networkName"`
}

// Volume is what a disk of the same name holds; exactly one of its sources is set.
type Volume struct {
	// Name is that of the disk: a DNS label.
	Name         string `json:"name"`
	VolumeSource `json:",inline"`
}

// VolumeSource is where a volume's content is.
type VolumeSource struct {
	// Volume is a libvirt storage volume, made when it is not there, and kept.
	Volume *StorageVolume `json:"volume,omitempty"`
	// ContainerDisk is a disk in an OCI image.
	ContainerDisk *ContainerDisk `json:"containerDisk,omitempty"`
	// EmptyDisk is fresh at every run.
	EmptyDisk *EmptyDisk `json:"emptyDisk,omitempty"`
	// HostDisk is a file of the host.
	HostDisk *HostDisk `json:"hostDisk,omitempty"`
	// Block is a block device of the host.
	Block *Block `json:"block,omitempty"`
	// HostPath is a folder of the host, for a filesystem.
	HostPath *HostPath `json:"hostPath,omitempty"`
	// CloudInitNoCloud and CloudInitConfigDrive are cloud-init seeds in either of its forms.
	CloudInitNoCloud     *CloudInit `json:"cloudInitNoCloud,omitempty"`
	CloudInitConfigDrive *CloudInit `json:"cloudInitConfigDrive,omitempty"`
	// Ignition is a configuration for Ignition. It has no disk.
	Ignition *Ignition `json:"ignition,omitempty"`
	// ISO is the image of a CD or DVD, for a cdrom.
	ISO *ISO `json:"iso,omitempty"`
	// Network is a disk on a server.
	Network *NetworkDisk `json:"network,omitempty"`
	// PersistentVolumeClaim, DataVolume and Ephemeral name what a cluster would have; a Host says what is meant.
	PersistentVolumeClaim *PersistentVolumeClaim `json:"persistentVolumeClaim,omitempty"`
	DataVolume            *DataVolume            `json:"dataVolume,omitempty"`
	// Ephemeral is a claim that is not written to: what the guest writes is gone after the run.
	Ephemeral *Ephemeral `json:"ephemeral,omitempty"`
}

// StorageVolume is a volume in a libvirt storage pool.
type StorageVolume struct {
	// Pool is "default" when it is left out.
	Pool string `json:"pool,omitempty"`
	// Size is the guest's view of it, in bytes. It may be left out where there is an image.
	Size *Quantity `json:"size,omitempty"`
	// Format is qcow2 (the default) or raw.
	Format string `json:"format,omitempty"`
	// Image is what a new volume starts as.
	Image *Image `json:"image,omitempty"`
	// Encryption is of a qcow2 volume: what the guest writes is encrypted on the host.
	Encryption *Encryption `json:"encryption,omitempty"`
}

// EmptyDisk is a disk that begins anew at every run: blank, or as an image.
type EmptyDisk struct {
	// Capacity is the guest's view of it, in bytes. It may be left out where there is an image.
	Capacity Quantity `json:"capacity"`
	// Image is what it starts as at every run.
	Image *Image `json:"image,omitempty"`
}

// HostDisk is a file of the host, in KubeVirt's terms.
type HostDisk struct {
	// Path is that of the file, absolute and in its shortest form.
	Path string `json:"path"`
	// Type is Disk (the file is there) or DiskOrCreate.
	Type string `json:"type"`
	// Capacity is the size in bytes of a file that is made.
	Capacity *Quantity `json:"capacity,omitempty"`
}

// Block is a block device of the host.
type Block struct {
	// Path is that of the device, absolute and in its shortest form.
	Path string `json:"path"`
}

// HostPath is a folder of the host.
type HostPath struct {
	// Path is that of the folder, absolute and in its shortest form.
	Path string `json:"path"`
}

// PersistentVolumeClaim names a claim of a cluster.
type PersistentVolumeClaim struct {
	// ClaimName is the claim's name, for which a Host says what is meant.
	ClaimName string `json:"claimName"`
	// ReadOnly keeps the guest from writing to it.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Hotpluggable is a cluster's business.
}

// DataVolume names a data volume of a cluster.
type DataVolume struct {
	// Name is the data volume's, for which a Host says what is meant.
	Name string `json:"name"`
	// Hotpluggable is a cluster's business.
}

// Ephemeral is a claim below a layer of its own.
type Ephemeral struct {
	// PersistentVolumeClaim is the claim.
	PersistentVolumeClaim *PersistentVolumeClaim `json:"persistentVolumeClaim,omitempty"`
}
