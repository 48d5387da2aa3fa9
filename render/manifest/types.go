package manifest

import (
	kubevirt "kubevirt.io/api/core/v1"
)

// APIVersion is the only one that gitvirt's own kinds have.
const APIVersion = "gitvirt.io/v1alpha1"

// The kinds.
const (
	KindConfig   = "VirtualMachineInstanceConfig"
	KindRunState = "RunState"
	KindFlavour  = "VirtualMachineFlavour"
	KindInstance = "VirtualMachineInstance" // made by agents; an error in a repository
)

// Meta is a document's metadata. ownerReferences are refused when they are read.
type Meta struct {
	// Name is a DNS label (RFC 1123), unique per kind in the repository.
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Header is what every document starts with.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   Meta   `json:"metadata"`
	// At is where the document was read from.
	At Origin `json:"-"`
}

// Origin is the place of a document in the repository.
type Origin struct {
	File string
	// Index counts the documents of the file that are not empty, from 0.
	Index int
	// Line is the line that the document begins at, from 1.
	Line int
}

// Config is a VirtualMachineInstanceConfig: a static definition, which does not say whether it runs.
type Config struct {
	Header
	Spec ConfigSpec `json:"spec"`
}

// ConfigSpec is what a config says.
type ConfigSpec struct {
	// Flavour names a VirtualMachineFlavour; what the config says itself wins over it.
	Flavour        string         `json:"flavour,omitempty"`
	RestartPolicy  RestartPolicy  `json:"restartPolicy,omitempty"`
	Rollout        Rollout        `json:"rollout,omitempty"`
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	Template       Template       `json:"template,omitempty"`
}

// Template is what instances of a config are made from.
type Template struct {
	Metadata Meta `json:"metadata,omitempty"` // labels and annotations only
	// Spec has been checked against InstanceSpec.
	Spec Tree `json:"spec,omitempty"`
}

// Tree is a JSON object as it was written: maps, slices, strings, bools, nil, int64 and float64.
type Tree map[string]any

// Flavour is a VirtualMachineFlavour: a partial template spec.
type Flavour struct {
	Header
	Spec Tree `json:"spec"` // checked against InstanceSpec
}

// RunState says that a config runs, where, and since which commit.
type RunState struct {
	Header
	Spec RunStateSpec `json:"spec"`
}

// RunStateSpec is what a RunState says.
type RunStateSpec struct {
	// Config is the name of the config; metadata.name when empty.
	Config string `json:"config,omitempty"`
	// Host is the name that the host's agent goes by.
	Host string `json:"host"`
	// State is Running when empty.
	State PowerState `json:"state,omitempty"`
	// Run is raised for a restart: each number is one run, so one instance. 1 when it is left out.
	Run int64 `json:"run,omitempty"`
	// Adopt lets the agent take over a domain of this name that it did not define.
	Adopt bool `json:"adopt,omitempty"`
	// MoveVolumes is "Recreate" to let a changed host begin with empty volumes.
	MoveVolumes string `json:"moveVolumes,omitempty"`
}

// RestartPolicy says what to do when the guest goes down by itself.
type RestartPolicy string

// The restart policies.
const (
	RestartAlways    RestartPolicy = "Always" // the default
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
)

// Rollout says what a change does to a running instance.
type Rollout string

// The rollouts. Live is not supported yet, and an error that says so.
const (
	RolloutStage   Rollout = "Stage" // the default
	RolloutLive    Rollout = "Live"
	RolloutRestart Rollout = "Restart"
)

// DeletionPolicy says what becomes of the volumes once the config is gone.
type DeletionPolicy string

// The deletion policies.
const (
	DeletionRetain DeletionPolicy = "Retain" // the default
	DeletionDelete DeletionPolicy = "Delete"
)

// PowerState is the state that a RunState asks for.
type PowerState string

// The power states.
const (
	StateRunning PowerState = "Running"
	StateStopped PowerState = "Stopped"
	StatePaused  PowerState = "Paused"
	StateManual  PowerState = "Manual" // defined, and power left alone
)

// kubevirtSpec has none of VirtualMachineInstanceSpec's methods: embedding the type itself would promote its
// UnmarshalJSON, which accepts unknown fields and leaves ours empty without an error.
type kubevirtSpec kubevirt.VirtualMachineInstanceSpec

// InstanceSpec is a template's spec: KubeVirt's, with libvirt's networks and volumes in place of the cluster's, and
// libvirt's own language beside it.
type InstanceSpec struct {
	kubevirtSpec `json:",inline"`

	Networks []Network `json:"networks,omitempty"`
	Volumes  []Volume  `json:"volumes,omitempty"`
	// DomainXML is libvirt's own language, merged over the rendered domain.
	DomainXML string `json:"domainXML,omitempty"`
	// DomainXMLFrom names a file that holds the DomainXML. In a document it is relative to the document's folder; Read
	// makes it relative to the repository, and Set.Text has the file's content.
	DomainXMLFrom string `json:"domainXMLFrom,omitempty"`
}

// Network is what an interface of the same name is connected to; exactly one of its sources is set.
type Network struct {
	Name string `json:"name"`
	// Libvirt is a libvirt network.
	Libvirt *LibvirtNetwork `json:"libvirt,omitempty"`
	// Bridge is a bridge of the host.
	Bridge string `json:"bridge,omitempty"`
	// User is QEMU's user-mode network (SLIRP).
	User *UserNetwork `json:"user,omitempty"`
}

// LibvirtNetwork names a libvirt network.
type LibvirtNetwork struct {
	Network string `json:"network"`
}

// UserNetwork has no settings.
type UserNetwork struct{}

// Volume is what a disk of the same name holds; exactly one of its sources is set.
type Volume struct {
	Name string `json:"name"`
	// Volume is a libvirt storage volume, made when it is not there, and kept.
	Volume *StorageVolume `json:"volume,omitempty"`
	// EmptyDisk is fresh at every run.
	EmptyDisk *EmptyDisk `json:"emptyDisk,omitempty"`
	// HostDisk is a file of the host.
	HostDisk *HostDisk `json:"hostDisk,omitempty"`
	// CloudInitNoCloud is a cloud-init seed.
	CloudInitNoCloud *CloudInitNoCloud `json:"cloudInitNoCloud,omitempty"`
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
}

// Image is where a new volume's content comes from.
type Image struct {
	// Path is a file of the host. The new volume is a qcow2 overlay on it, so it must stay as it is.
	Path string `json:"path,omitempty"`
	// Format is qcow2 or raw; qcow2 when it is left out.
	Format string `json:"format,omitempty"`
}

// EmptyDisk is a blank disk.
type EmptyDisk struct {
	Capacity Quantity `json:"capacity"`
}

// HostDisk is a file of the host, in KubeVirt's terms.
type HostDisk struct {
	Path string `json:"path"`
	// Type is Disk (the file is there) or DiskOrCreate.
	Type     string    `json:"type"`
	Capacity *Quantity `json:"capacity,omitempty"`
}

// CloudInitNoCloud is a NoCloud seed. Its content is secret: it appears in no instance, plan, diff or log.
type CloudInitNoCloud struct {
	UserData          string `json:"userData,omitempty"`
	UserDataBase64    string `json:"userDataBase64,omitempty"`
	NetworkData       string `json:"networkData,omitempty"`
	NetworkDataBase64 string `json:"networkDataBase64,omitempty"`
}
