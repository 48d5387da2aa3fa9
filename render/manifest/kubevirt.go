package manifest

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirt "kubevirt.io/api/core/v1"
)

// foreignHeader is what KubeVirt's documents start with. What only a cluster knows of them is read and left aside.
type foreignHeader struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   foreignMeta `json:"metadata"`
	// At is where the document was read from.
	At Origin `json:"-"`
}

// Name is the document's.
func (h *foreignHeader) Name() string { return h.Metadata.Name }

// foreignMeta is Kubernetes' metadata.
type foreignMeta struct {
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (m foreignMeta) meta() Meta { return Meta(m) }

// foreignTree is a template's spec in a manifest of KubeVirt's.
type foreignTree Tree

type foreignTemplate struct {
	Metadata foreignMeta `json:"metadata,omitempty"`
	Spec     foreignTree `json:"spec"`
}

// virtualMachine is a VirtualMachine.
type virtualMachine struct {
	foreignHeader
	Spec virtualMachineSpec `json:"spec"`
}

type virtualMachineSpec struct {
	Running      *bool                         `json:"running,omitempty"`
	RunStrategy  string                        `json:"runStrategy,omitempty"`
	Instancetype *kubevirt.InstancetypeMatcher `json:"instancetype,omitempty"`
	Preference   *kubevirt.PreferenceMatcher   `json:"preference,omitempty"`
	Template     foreignTemplate               `json:"template"`
	DataVolumes  []dataVolumeTemplate          `json:"dataVolumeTemplates,omitempty"`
}

type dataVolumeTemplate struct {
	APIVersion string         `json:"apiVersion,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Metadata   foreignMeta    `json:"metadata"`
	Spec       DataVolumeSpec `json:"spec"`
}

// virtualMachineInstance is a VirtualMachineInstance of KubeVirt's: a machine that is run once.
type virtualMachineInstance struct {
	foreignHeader
	Spec foreignTree `json:"spec"`
}

type replicaSet struct {
	foreignHeader
	Spec replicaSetSpec `json:"spec"`
}

type replicaSetSpec struct {
	Replicas *int32          `json:"replicas,omitempty"`
	Template foreignTemplate `json:"template"`
}

type pool struct {
	foreignHeader
	Spec poolSpec `json:"spec"`
}

type poolSpec struct {
	Replicas       *int32              `json:"replicas,omitempty"`
	Template       poolTemplate        `json:"virtualMachineTemplate"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

type poolTemplate struct {
	Metadata foreignMeta        `json:"metadata,omitempty"`
	Spec     virtualMachineSpec `json:"spec"`
}

// kubevirtPreset is a VirtualMachineInstancePreset.
type kubevirtPreset struct {
	foreignHeader
	Spec PresetSpec `json:"spec"`
}

type persistentVolumeClaim struct {
	foreignHeader
	Spec ClaimSpec `json:"spec"`
}

type dataVolume struct {
	foreignHeader
	Spec DataVolumeSpec `json:"spec"`
}
