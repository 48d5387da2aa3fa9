package manifest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirt "kubevirt.io/api/core/v1"
)

// APIVersion is the only one that gitvirt's own kinds have.
const APIVersion = "gitvirt.io/v1alpha1"

// The kinds.
const (
	KindConfig   = "VirtualMachineInstanceConfig"
	KindRunState = "RunState"
	KindFlavour  = "VirtualMachineFlavour"
	KindPreset   = "VirtualMachinePreset"
	KindGroup    = "VirtualMachineGroup"
	KindHost     = "Host"
	KindNetwork  = "Network"
	KindStorage  = "StoragePool"
	KindInstance = "VirtualMachineInstance" // made by agents; an error in a repository
)

// Meta is a document's metadata. ownerReferences are refused when they are read.
type Meta struct {
	// Name is a DNS label (RFC 1123), for a Host a DNS subdomain; unique per kind in the repository.
	Name string `json:"name,omitempty"`
	// Labels are what a document can be chosen by; keys and values are as in Kubernetes.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are notes of any kind, with keys as in Kubernetes.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Header is what every document starts with.
type Header struct {
	// APIVersion is that of the kind's definition.
	APIVersion string `json:"apiVersion"`
	// Kind is the document's.
	Kind string `json:"kind"`
	// Metadata says what the document is called.
	Metadata Meta `json:"metadata"`
	// At is where the document was read from.
	At Origin `json:"-"`
	// Written is what it was read as.
	Written Written `json:"-"`
}

// Written is how a document stands in its file. KubeVirt's manifests are read into kinds of ours.
type Written struct {
	// Kind is the kind in the file.
	Kind string
	// Spec is the path of the template's spec in the file.
	Spec string
	// KubeVirt says that KubeVirt's own defaults hold.
	KubeVirt bool
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
	Flavour string `json:"flavour,omitempty"`
	// Presets are named ones, in order. Those whose selector matches the labels apply too, before these.
	Presets []string `json:"presets,omitempty"`
	// RestartPolicy says what to do when the guest goes down by itself.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Rollout says what a change does to a running instance: wait for its next start (Stage), be applied to the running
	// machine as far as libvirt can (Live), or that, and a restart for the rest (Restart).
	Rollout Rollout `json:"rollout,omitempty"`
	// Rollback says what becomes of a machine that is not ready in time after a restart on a new revision: OnFailure takes
	// it back to the revision that it last ran well on, until a revision comes that changes it again.
	Rollback Rollback `json:"rollback,omitempty"`
	// DeletionPolicy says what becomes of the volumes once the config is gone.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// Template is what instances are made from.
	Template Template `json:"template,omitempty"`

	// Cluster is what KubeVirt's manifests say beside the template.
	Cluster Cluster `json:"-"`
}

// Cluster is what a KubeVirt manifest refers to. A name is as Set has it.
type Cluster struct {
	Instancetype *Reference
	Preference   *Reference
	// Claims are made for the machine itself (dataVolumeTemplates).
	Claims []Claim
}

// Reference names another document.
type Reference struct{ Kind, Name string }

// Template is what instances of a config are made from.
type Template struct {
	// Metadata has the labels and the annotations of the instances.
	Metadata Meta `json:"metadata,omitempty"`
	// Spec is that of the instances.
	//
	// It has been checked against InstanceSpec.
	Spec Partial `json:"spec,omitzero"`
}

// Tree is a JSON object as it was written: maps, slices, strings, bools, nil, int64 and float64.
type Tree map[string]any

// Flavour is a VirtualMachineFlavour: a partial template spec.
type Flavour struct {
	Header
	// Spec is what configs of this flavour say where they say nothing themselves.
	//
	// It has been checked against InstanceSpec.
	Spec Tree `json:"spec"`
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
	// Host is the name that the host's agent goes by. It or Placement is said, not both.
	Host string `json:"host,omitempty"`
	// Placement finds a host by its labels.
	Placement *Placement `json:"placement,omitempty"`
	// State is Running when empty.
	State PowerState `json:"state,omitempty"`
	// Run is raised for a restart: each number is one run, so one instance. 1 when it is left out.
	Run int64 `json:"run,omitempty"`
	// Adopt lets the agent take over a domain of this name that it did not define.
	Adopt bool `json:"adopt,omitempty"`
	// Revision pins the config to a commit of the branch, by its hash or the first seven digits of it or more: the config,
	// its flavour, presets, instancetype and preference are those of that commit. The newest are taken when it is empty.
	Revision string `json:"revision,omitempty"`
	// MoveVolumes is "Recreate" to let a changed host begin with empty volumes.
	MoveVolumes string `json:"moveVolumes,omitempty"`
	// Attach is temporary devices: plugged into the run that goes on, unplugged when they are taken out here, gone at the
	// run's end, and never part of the definition.
	Attach *Attach `json:"attach,omitempty"`
}

// Attach is temporary devices, in the terms of a template's spec.
type Attach struct {
	// Disks each have a volume of the same name.
	Disks []kubevirt.Disk `json:"disks,omitempty"`
	// Volumes are those of the disks. One that persists stays when its disk goes.
	Volumes []Volume `json:"volumes,omitempty"`
	// Interfaces each have a network of the same name.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Networks are those of the interfaces.
	Networks []Network `json:"networks,omitempty"`
}

// Placement says which hosts a machine may be on.
type Placement struct {
	// HostSelector is matched with the labels of Host documents.
	HostSelector *metav1.LabelSelector `json:"hostSelector"`
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

// The rollouts.
const (
	RolloutStage   Rollout = "Stage"   // the default
	RolloutLive    Rollout = "Live"    // what can be is applied to the running machine, the rest waits
	RolloutRestart Rollout = "Restart" // what can be is applied to the running machine; for the rest it is restarted
)

// Rollback says what becomes of a machine that is not ready in time after a restart on a new revision.
type Rollback string

// The rollbacks.
const (
	RollbackNever     Rollback = "Never"     // the default: it stays as it is
	RollbackOnFailure Rollback = "OnFailure" // it goes back to the revision that it last ran well on
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
